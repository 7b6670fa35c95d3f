package eval_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/lang/eval"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "500ms": 500 * time.Millisecond, "14d": 14 * 24 * time.Hour, "1.5h": 90 * time.Minute,
		"2w": 14 * 24 * time.Hour, "0s": 0, "10us": 10 * time.Microsecond, "0.5s": 500 * time.Millisecond,
	} {
		if got, err := eval.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, meant := range map[string]string{
		"30": "30s", "30 s": "30s", "5min": "5m", "2 hours": "2h", "10 sec": "10s", "1H": "1h", "": "", "s": "", "-1s": "1s", "1.2.3s": "", "1y": "365d", "2 months": "60d", "PT1H30M": "1h30m", "P14D": "14d", "P": "", "00:01:30": "1m30s", "1,5s": "1.5s", "1\u00a0s": "1s", "1с": "1s", "never": "", "99999999999999d": "", "1s2": "1s2s", "∞": "",
	} {
		_, err := eval.ParseDuration(text)
		unit, ok := errors.AsType[*eval.UnitError](err)
		if !ok || unit.Suggestion != meant || unit.Reason == "" {
			t.Errorf("%q: %#v", text, err)
		}
		if ok && meant != "" {
			if _, err := eval.ParseDuration(meant); err != nil {
				t.Errorf("%q: the suggestion %q is wrong too: %v", text, meant, err)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1B": 1, "64KiB": 64 << 10, "16MiB": 16 << 20, "1.5GiB": 3 << 29} {
		if got, err := eval.ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, meant := range map[string]string{"16MB": "16MiB", "16 MiB": "16MiB", "16M": "16MiB", "64k": "64KiB", "16mib": "16MiB", "lots": "", "9999999TiB": ""} {
		_, err := eval.ParseSize(text)
		if unit, ok := errors.AsType[*eval.UnitError](err); !ok || unit.Suggestion != meant {
			t.Errorf("%q: %#v", text, err)
		}
	}
}

// TestDurationsAddUp: terms in any units give their sum.
func TestDurationsAddUp(t *testing.T) {
	units := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	rapid.Check(t, func(t *rapid.T) {
		text, want := "", time.Duration(0)
		for range rapid.IntRange(1, 4).Draw(t, "terms") {
			n := rapid.IntRange(0, 5000).Draw(t, "n")
			unit := rapid.SampledFrom([]string{"ms", "s", "m", "h", "d"}).Draw(t, "unit")
			text += fmt.Sprintf("%d%s", n, unit)
			want += time.Duration(n) * units[unit]
		}
		if got, err := eval.ParseDuration(text); err != nil || got != want {
			t.Fatalf("%q: %v, %v, want %v", text, got, err, want)
		}
	})
}

func FuzzUnits(f *testing.F) {
	f.Add("1h30m")
	f.Add("16 MiB")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := eval.ParseDuration(text); err == nil && d < 0 {
			t.Errorf("%q is %s", text, d)
		}
		if n, err := eval.ParseSize(text); err == nil && n < 0 {
			t.Errorf("%q is %d", text, n)
		}
	})
}
