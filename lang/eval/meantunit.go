package eval

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"pipeline/lang/diag"
)

// What people write for durations and sizes in other formats. It is never
// accepted, only recognised, so that the message can show the right form.
var (
	isoDuration   = regexp.MustCompile(`(?i)^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)
	clockDuration = regexp.MustCompile(`^(\d{1,4}):(\d\d):(\d\d)$`)
	longDuration  = regexp.MustCompile(`(?i)^(\d{1,4})\s*(mo|mon|months?|y|yr|yrs|years?)$`)
	decimalComma  = regexp.MustCompile(`^(\d+),(\d{1,2})(\D)`)
)

// meantDuration is the duration that a text in another format stands for, or
// "".
func meantDuration(text string) string {
	if len(text) > 64 {
		return ""
	}
	if plain := strings.TrimSpace(diag.Latin(text)); plain != text {
		return valid(plain, isDuration)
	}
	if m := isoDuration.FindStringSubmatch(text); m != nil {
		return valid(terms(m[1:], "w", "d", "h", "m", "s"), isDuration)
	}
	if m := clockDuration.FindStringSubmatch(text); m != nil {
		return valid(terms(m[1:], "h", "m", "s"), isDuration)
	}
	if m := longDuration.FindStringSubmatch(text); m != nil {
		days := int64(30)
		if strings.EqualFold(m[2][:1], "y") {
			days = 365
		}
		n, _ := new(big.Int).SetString(m[1], 10)
		return fmt.Sprintf("%dd", n.Int64()*days)
	}
	if decimalComma.MatchString(text) {
		return valid(decimalComma.ReplaceAllString(text, "$1.$2$3"), isDuration)
	}
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		return valid(rest, isDuration)
	}
	return ""
}

// meantSize is the size that a text in another format stands for, or "".
func meantSize(text string) string {
	if plain := strings.TrimSpace(diag.Latin(text)); len(text) <= 64 && plain != text {
		return valid(plain, isSize)
	}
	if len(text) <= 64 && decimalComma.MatchString(text) {
		return valid(decimalComma.ReplaceAllString(text, "$1.$2$3"), isSize)
	}
	return ""
}

// terms joins numbers with their units, without those that are nothing.
func terms(numbers []string, units ...string) string {
	var b strings.Builder
	for i, n := range numbers {
		if n = strings.TrimLeft(n, "0"); n != "" && n[0] != '.' {
			b.WriteString(n + units[i])
		}
	}
	return b.String()
}

// valid is a text that check accepts, as it is or as it suggests; else "".
func valid(text string, check func(string) error) string {
	if text == "" {
		return ""
	}
	err := check(text)
	if err == nil {
		return text
	}
	if unit, ok := errors.AsType[*UnitError](err); ok {
		return unit.Suggestion
	}
	return ""
}

func isDuration(text string) error {
	return parseUnits(text, "30s", durationUnit, new(big.Rat))
}

func isSize(text string) error {
	return parseUnits(text, "16MiB", sizeUnit, new(big.Rat))
}
