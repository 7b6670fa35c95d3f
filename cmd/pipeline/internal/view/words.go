package view

import (
	"strconv"
	"strings"
	"time"
)

// number writes n with a comma before every third digit.
func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// count is "1 entry", "2 entries".
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// size writes bytes as people read them.
func size(bytes int64) string {
	const kib = 1 << 10
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, u := float64(bytes), 0
	for f >= kib && u < len(units)-1 {
		f, u = f/kib, u+1
	}
	if u == 0 || f == float64(int64(f)) {
		return strconv.FormatInt(int64(f), 10) + " " + units[u]
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[u]
}

// Duration writes a duration as people read it, to three digits or so: "41µs",
// "1.2s", "29.8s", "3m20s", "2d4h".
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + Duration(-d)
	case d == 0:
		return "0s"
	case d < time.Microsecond:
		return strconv.FormatInt(int64(d), 10) + "ns"
	case d < time.Millisecond:
		return short(d, time.Microsecond, "µs")
	case d < time.Second:
		return short(d, time.Millisecond, "ms")
	case d < time.Minute:
		return short(d, time.Second, "s")
	case d < time.Hour:
		return pair(d.Round(time.Second), time.Minute, "m", time.Second, "s")
	case d < day:
		return pair(d.Round(time.Minute), time.Hour, "h", time.Minute, "m")
	}
	return pair(d.Round(time.Hour), day, "d", time.Hour, "h")
}

// short writes d in one unit with at most one decimal.
func short(d, unit time.Duration, name string) string {
	f := strconv.FormatFloat(float64(d)/float64(unit), 'f', 1, 64)
	return strings.TrimSuffix(f, ".0") + name
}

func pair(d, unit time.Duration, name string, part time.Duration, partName string) string {
	s := strconv.FormatInt(int64(d/unit), 10) + name
	if rest := d % unit / part; rest > 0 {
		s += strconv.FormatInt(int64(rest), 10) + partName
	}
	return s
}
