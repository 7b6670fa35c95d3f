package web

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/poll"
)

// series is a value over the last time, as long as span. NaN is one that was not
// known.
type series struct {
	at     []time.Time
	values []float64
	span   time.Duration
}

// spans are those that charts have: of a young process they show more.
var spans = []time.Duration{5 * time.Minute, 15 * time.Minute, 30 * time.Minute, poll.Kept}

func spanOf(history []*poll.Point) time.Duration {
	if len(history) == 0 {
		return spans[0]
	}
	had := history[len(history)-1].At.Sub(history[0].At)
	for _, s := range spans {
		if had <= s {
			return s
		}
	}
	return poll.Kept
}

// spanText is a span as a part of a sentence: "the last hour".
func spanText(span time.Duration) string {
	if span == time.Hour {
		return "hour"
	}
	return view.Number(int64(span/time.Minute)) + " minutes"
}

// over takes a value from every point of the history.
func (l *look) over(value func(p *poll.Point) float64) series {
	s := series{make([]time.Time, len(l.history)), make([]float64, len(l.history)), l.span}
	for i, p := range l.history {
		s.at[i], s.values[i] = p.At, math.NaN()
		if p.Up {
			s.values[i] = value(p)
		}
	}
	return s
}

// known is a count as a value of a series.
func known(n int64) float64 {
	if n < 0 {
		return math.NaN()
	}
	return float64(n)
}

// speed is a count's growth a second.
func (s series) speed() series {
	out := series{s.at, make([]float64, len(s.values)), s.span}
	for i := range s.values {
		out.values[i] = math.NaN()
		if i == 0 {
			continue
		}
		if d := s.at[i].Sub(s.at[i-1]).Seconds(); d > 0 && s.values[i] >= s.values[i-1] {
			out.values[i] = (s.values[i] - s.values[i-1]) / d
		}
	}
	return out
}

// squeezed is the largest value of each of n parts of the span.
func (s series) squeezed(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	if len(s.at) == 0 {
		return out
	}
	begin := s.at[len(s.at)-1].Add(-s.span)
	for i, v := range s.values {
		at := min(n-1, max(0, int(float64(n)*float64(s.at[i].Sub(begin))/float64(s.span))))
		if !math.IsNaN(v) && (math.IsNaN(out[at]) || v > out[at]) {
			out[at] = v
		}
	}
	return out
}

// most is the largest value, 0 where none is known.
func (s series) most() (most float64) {
	for _, v := range s.values {
		if v > most {
			most = v
		}
	}
	return most
}

// The measures of a drawing, in its own units.
const (
	sparkWide, sparkHigh = 120, 24
	chartWide, chartHigh = 360, 90
)

// spark draws a series small, for a cell of a table; what says it in words.
func (s series) spark(what string) template.HTML {
	return s.draw("spark", what+" over the last "+spanText(s.span), min(sparkWide/2, s.looks()), sparkWide, sparkHigh)
}

// draw draws a series as steps from part to part; a part of which nothing is known
// is left out. Everything in the drawing is a number or escaped.
func (s series) draw(class, what string, parts, wide, high int) template.HTML {
	values, most := s.squeezed(parts), s.most()
	var line, area strings.Builder
	step := float64(wide) / float64(parts)
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
	for i := 0; i < parts; i++ {
		if math.IsNaN(values[i]) {
			continue
		}
		from := i
		command := "M"
		for ; i < parts && !math.IsNaN(values[i]); i++ {
			y := float64(high) - 1
			if most > 0 {
				y -= values[i] / most * float64(high-3)
			}
			fmt.Fprintf(&line, "%s%s %sH%s", command, number(float64(i)*step), number(y), number(float64(i+1)*step))
			head := "L"
			if i == from {
				head = "M" + number(float64(i)*step) + " " + strconv.Itoa(high) + "L"
			}
			fmt.Fprintf(&area, "%s%s %sH%s", head, number(float64(i)*step), number(y), number(float64(i+1)*step))
			command = "L"
		}
		fmt.Fprintf(&area, "V%dZ", high)
	}
	return template.HTML(fmt.Sprintf( //nolint:gosec // see above
		`<svg class="%s" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s"><path class="area" d="%s"/><path class="line" d="%s"/></svg>`,
		class, wide, high, template.HTMLEscapeString(what), area.String(), line.String()))
}

// looks is how many looks a span has: more parts than that would have gaps.
func (s series) looks() int { return int(s.span / poll.Every * 4 / 5) }

func beginText(span time.Duration) string {
	if span == time.Hour {
		return "an hour ago"
	}
	return spanText(span) + " ago"
}

// chart is a series drawn large, with the words beside it.
type chart struct {
	Title, Now, Most string
	// Begin is where the drawing begins.
	Begin   string
	Drawing template.HTML
}

func (s series) chart(title string, text func(float64) string) chart {
	c := chart{Title: title, Now: "not known", Most: text(s.most()), Begin: beginText(s.span)}
	if n := len(s.values); n > 0 && !math.IsNaN(s.values[n-1]) {
		c.Now = text(s.values[n-1])
	}
	c.Drawing = s.draw("chart", title+" over the last "+spanText(s.span)+", at most "+c.Most, min(chartWide/3, s.looks()), chartWide, chartHigh)
	return c
}

func countText(f float64) string { return view.Number(int64(f)) }
func ageText(f float64) string {
	return view.Duration(time.Duration(f * float64(time.Second)).Round(time.Second))
}

// rateText is a rate a second as people read it.
func rateText(r float64) string {
	if r > 0 && r < 10 {
		return strconv.FormatFloat(r, 'f', 1, 64)
	}
	return view.Number(int64(r + 0.5))
}

// rate is a rate that may not be known.
func rate(r *float64) string {
	if r == nil {
		return "–"
	}
	return rateText(*r)
}

// percent is a part of a whole.
func percent(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return part * 100 / whole
}
