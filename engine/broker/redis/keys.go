package redis

import (
	"strconv"
	"strings"
	"sync"
)

// groupKeys are the names of our keys beside one group of one stream.
type groupKeys struct{ records, floor, slot, alive, marks, replay string }

// slotKey is the lease of slot n of a base name.
func (k *groupKeys) slotKey(base string, n int) string {
	return k.slot + base + "-" + strconv.Itoa(n)
}

// markKeys are the two hashes of a set of marks.
func (k *groupKeys) markKeys(set string) [2]string {
	name := k.marks + separators.Replace(set)
	return [2]string{name + ":0", name + ":1"}
}

// keyNames remembers the names, which are asked for with every batch. It grows
// with the streams and groups of a pipeline.
type keyNames struct{ known sync.Map }

func (k *keyNames) of(stream, group string) *groupKeys {
	id := [2]string{stream, group}
	if v, ok := k.known.Load(id); ok {
		return v.(*groupKeys)
	}
	v, _ := k.known.LoadOrStore(id, newGroupKeys(stream, group))
	return v.(*groupKeys)
}

// separators keeps the parts of a key apart: a group named a:floor must not
// meet the group a.
var separators = strings.NewReplacer("%", "%25", ":", "%3A")

func newGroupKeys(stream, group string) *groupKeys {
	prefix := tagged(stream) + ":pipeline:" + separators.Replace(group) + ":"
	return &groupKeys{
		records: prefix + "records", floor: prefix + "floor", slot: prefix + "slot:", alive: prefix + "alive", marks: prefix + "marks:",
		replay: prefix + "replay",
	}
}
