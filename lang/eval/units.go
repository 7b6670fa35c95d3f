package eval

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
	"unicode"
)

// UnitError says what is wrong with a duration or a size.
type UnitError struct {
	Text string
	// Reason is the problem, without the text.
	Reason string
	// Suggestion is what was probably meant, or "".
	Suggestion string
	// Guessed: the text does not say it all: it has no unit, is negative, or
	// counts months, which are not all of one length.
	Guessed bool
}

// Error gives the text and the reason.
func (e *UnitError) Error() string { return fmt.Sprintf("%q %s", e.Text, e.Reason) }

var durationUnits = map[string]time.Duration{
	"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute,
	"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
}

// durationAliases are what people write for the units.
var durationAliases = map[string]string{
	"µs": "us", "microseconds": "us", "millis": "ms", "msec": "ms", "msecs": "ms", "millisecond": "ms", "milliseconds": "ms",
	"sec": "s", "secs": "s", "second": "s", "seconds": "s", "min": "m", "mins": "m", "minute": "m", "minutes": "m",
	"hr": "h", "hrs": "h", "с": "s", "сек": "s", "мин": "m", "ч": "h", "д": "d", "hour": "h", "hours": "h", "day": "d", "days": "d", "week": "w", "weeks": "w",
}

var sizeUnits = map[string]int64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

var sizeAliases = map[string]string{
	"b": "B", "bytes": "B", "byte": "B", "ki": "KiB", "mi": "MiB", "gi": "GiB", "kilobytes": "KiB", "megabytes": "MiB", "gigabytes": "GiB", "kibibytes": "KiB", "mebibytes": "MiB", "gibibytes": "GiB", "megabyte": "MiB", "gigabyte": "GiB", "k": "KiB", "kb": "KiB", "kib": "KiB", "m": "MiB", "mb": "MiB", "mib": "MiB",
	"g": "GiB", "gb": "GiB", "gib": "GiB", "t": "TiB", "tb": "TiB", "tib": "TiB",
}

// ParseDuration reads "500ms", "30s", "1h30m", "1.5h" or "14d". The error is a
// *UnitError.
func ParseDuration(text string) (time.Duration, error) {
	total := new(big.Rat)
	if err := parseUnits(text, "30s", durationUnit, total); err != nil {
		return 0, recognised(err, meantDuration)
	}
	n, err := whole(total)
	if err != nil {
		return 0, &UnitError{Text: text, Reason: "is longer than this program can count"}
	}
	return time.Duration(n), nil
}

// ParseSize reads "512B", "64KiB", "16MiB" or "1.5GiB" as bytes. The error is
// a *UnitError.
func ParseSize(text string) (int64, error) {
	total := new(big.Rat)
	if err := parseUnits(text, "16MiB", sizeUnit, total); err != nil {
		return 0, recognised(err, meantSize)
	}
	n, err := whole(total)
	if err != nil {
		return 0, &UnitError{Text: text, Reason: "is larger than this program can count"}
	}
	return n, nil
}

func durationUnit(unit string) (*big.Rat, string) {
	if d, ok := durationUnits[unit]; ok {
		return big.NewRat(int64(d), 1), ""
	}
	if lower := strings.ToLower(unit); durationUnits[lower] > 0 {
		return nil, lower
	}
	return nil, durationAliases[strings.ToLower(unit)]
}

func sizeUnit(unit string) (*big.Rat, string) {
	if n, ok := sizeUnits[unit]; ok {
		return big.NewRat(n, 1), ""
	}
	return nil, sizeAliases[strings.ToLower(unit)]
}

// recognised adds what a text in another format stands for.
func recognised(err error, meant func(string) string) error {
	if unit, ok := errors.AsType[*UnitError](err); ok && unit.Suggestion == "" {
		unit.Suggestion = meant(unit.Text)
		unit.Guessed = strings.HasPrefix(unit.Text, "-") || longDuration.MatchString(unit.Text)
	}
	return err
}

// lookup resolves a unit to its factor, or to the unit that was meant.
type lookup func(unit string) (factor *big.Rat, meant string)

// parseUnits adds up the terms of text, "1h30m".
func parseUnits(text, example string, units lookup, total *big.Rat) error {
	rest, meant, unknown, guessed := text, "", "", false
	if strings.TrimSpace(text) == "" {
		return &UnitError{Text: text, Reason: "is empty: write a number and a unit, such as \"" + example + "\""}
	}
	for rest != "" {
		number, unit, after := term(rest)
		if number == "" || len(text) > 64 {
			return &UnitError{Text: text, Reason: "is not a number and a unit, such as \"" + example + "\""}
		}
		rest = after
		factor, alias := units(unit)
		switch {
		case factor != nil:
			n, ok := new(big.Rat).SetString(number)
			if !ok {
				return &UnitError{Text: text, Reason: "is not a number and a unit, such as \"" + example + "\""}
			}
			total.Add(total, n.Mul(n, factor))
			meant += number + unit
		case unit == "" && rest == "":
			meant += number + strings.TrimLeft(example, "0123456789")
			unknown, guessed = "needs a unit", true
		default:
			meant += number + alias
			unknown = fmt.Sprintf("has the unknown unit %q", unit)
			if alias == "" {
				return &UnitError{Text: text, Reason: unknown}
			}
		}
	}
	if unknown != "" || meant != text {
		if unknown == "" {
			unknown = "must be written without spaces"
		}
		return &UnitError{Text: text, Reason: unknown, Suggestion: meant, Guessed: guessed}
	}
	return nil
}

// term splits the first number and unit off a text, and spaces around them.
func term(text string) (number, unit, rest string) {
	text = strings.TrimLeft(text, " ")
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		return text, "", ""
	}
	number, text = text[:end], strings.TrimLeft(text[end:], " ")
	end = strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		return number, text, ""
	}
	if end == 0 {
		return "", "", ""
	}
	return number, text[:end], strings.TrimLeft(text[end:], " ")
}

// whole is r rounded to a whole number.
func whole(r *big.Rat) (int64, error) {
	f, _ := r.Float64()
	if f > math.MaxInt64/2 {
		return 0, errors.New("out of range")
	}
	n := new(big.Int).Quo(r.Num(), r.Denom())
	return n.Int64(), nil
}

// FormatDuration writes a duration as a file does, the largest units first:
// "30s", "1m30s", "2d4h", "1s500ms". Parts of a microsecond are left out; no
// time at all is "0s".
func FormatDuration(d time.Duration) string {
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
		d = -d
	}
	start := b.Len()
	for _, unit := range []string{"d", "h", "m", "s", "ms", "us"} {
		if n := int64(d / durationUnits[unit]); n > 0 {
			fmt.Fprintf(&b, "%d%s", n, unit)
			d %= durationUnits[unit]
		}
	}
	if b.Len() == start {
		return "0s"
	}
	return b.String()
}
