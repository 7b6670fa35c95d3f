// Package promql writes expressions of Prometheus' query language over the metrics
// of a pipeline.
package promql

import (
	"strconv"
	"strings"
	"time"
)

// Match is a selector's equality matchers: label, value, label, value, …. A value is
// quoted, so that any name of a pipeline file may stand there.
func Match(pairs ...string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(pairs[i] + "=" + strconv.Quote(pairs[i+1]))
	}
	b.WriteByte('}')
	return b.String()
}

// Narrow adds a matcher, as the language writes it, to series that Match has chosen.
func Narrow(series, matcher string) string {
	return strings.TrimSuffix(series, "}") + "," + matcher + "}"
}

// Seconds is a duration as a number of seconds.
func Seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// Rise is how much counters have risen within a window, such as 5m. A counter that
// was not there before the window counts in full: the first thing that a process
// does may be just what has to be told, and a plain increase() misses all that
// happens before the first scrape.
func Rise(series, window string) string {
	return "((" + series + " unless " + series + " offset " + window + ") or increase(" + series + "[" + window + "]))"
}

// Sum adds up by labels.
func Sum(of string, by ...string) string { return aggregate("sum", of, by) }

// Max is the largest by labels: several processes say the same of a stream.
func Max(of string, by ...string) string { return aggregate("max", of, by) }

// Count is how many there are, by labels.
func Count(of string, by ...string) string { return aggregate("count", of, by) }

func aggregate(op, of string, by []string) string {
	return op + " by (" + strings.Join(by, ", ") + ") (" + of + ")"
}
