package codec

import (
	"slices"
	"strconv"
)

// RetryCopy is the fields of the copy that a retry appends for a group: the
// entry's own, with the count and the group in place of earlier ones.
func RetryCopy(fields []Field, count int, group string) []Field {
	const countField, groupField = HeaderPrefix + HeaderRetryCount, HeaderPrefix + HeaderRetryGroup
	out := make([]Field, 0, len(fields)+2)
	for _, f := range fields {
		if f.Name != countField && f.Name != groupField {
			out = append(out, f)
		}
	}
	return append(out,
		Field{Name: countField, Value: strconv.Itoa(count)},
		Field{Name: groupField, Value: group})
}

// Retries says whose copy an entry is, by its headers: for group, count copies
// of it have been made so far; foreign reports a copy made for another group.
// A count that is no number, or that stands beside no group, is 0: a producer
// may write anything there.
func Retries(headers []Field, group string) (count int, foreign bool) {
	owner, ok := Lookup(headers, HeaderRetryGroup)
	if !ok {
		return 0, false
	}
	if owner != group {
		return 0, true
	}
	text, _ := Lookup(headers, HeaderRetryCount)
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, false
	}
	return max(0, n), false
}

// Replay is the fields of a dead letter as they are put back into the stream:
// without the headers that dead letters and retries add.
func Replay(fields []Field) []Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool {
		header, ok := headerOf(f.Name)
		return ok && ours(header)
	})
}
