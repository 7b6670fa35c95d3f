package lua

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	glua "github.com/yuin/gopher-lua"
)

var errDuration = errors.New("not a duration")

// openTime defines time.parse and time.format. Times are milliseconds since
// 1970, as in ctx.now_ms; there is no other clock.
func (v *vm) openTime() {
	v.library("time", []entry{{"format", v.timeFormat}, {"parse", v.timeParse}})
}

// maxMillis keeps times within the years 0 to 9999.
const maxMillis = 253402300799999

// timeFormat writes a time in UTC: as RFC 3339 or by a pattern of %Y %m %d %H
// %M %S %L %j %a %A %b %B %p %I %y %s %z %%.
func (v *vm) timeFormat(l *glua.LState) int {
	ms := v.argFloat(1)
	if math.IsNaN(ms) || ms < -62167219200000 || ms > maxMillis {
		v.raise("%s is no time in milliseconds since 1970", numberText(ms))
	}
	t := time.UnixMilli(int64(math.Floor(ms))).UTC()
	if l.Get(2) == glua.LNil {
		return v.pushText(t.Format("2006-01-02T15:04:05.999Z07:00"))
	}
	var out []byte
	pattern := v.argText(2)
	for i := 0; i < len(pattern); i++ {
		if i&1023 == 0 {
			v.use(1024, 4096)
		}
		if pattern[i] != '%' || i+1 == len(pattern) {
			out = append(out, pattern[i])
			continue
		}
		i++
		out = v.timeField(out, t, pattern[i])
	}
	return v.pushText(string(out))
}

// timeLayouts are the fields that Go's layouts have.
var timeLayouts = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'j': "002",
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'p': "PM", 'I': "03", 'y': "06", 'z': "-0700",
}

func (v *vm) timeField(out []byte, t time.Time, field byte) []byte {
	switch field {
	case '%':
		return append(out, '%')
	case 'L':
		return append(out, strconv.Itoa(1000 + t.Nanosecond()/1e6)[1:]...)
	case 's':
		return strconv.AppendInt(out, t.Unix(), 10)
	}
	layout, ok := timeLayouts[field]
	if !ok {
		v.raise("time.format has no field %%%s", short(string(field)))
	}
	return t.AppendFormat(out, layout)
}

// timeParse reads a time as RFC 3339, a date alone at midnight UTC, or by a
// pattern of %Y %m %d %H %M %S %L %z %s %%.
func (v *vm) timeParse(l *glua.LState) int {
	text := v.argText(1)
	if l.Get(2) == glua.LNil {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateTime, time.DateOnly} {
			if t, err := time.Parse(layout, text); err == nil {
				l.Push(glua.LNumber(t.UnixMilli()))
				return 1
			}
		}
		v.raise("%q is no time as RFC 3339 writes it, such as 2026-01-31T13:05:00Z", short(text))
	}
	p := timeParser{rest: text, month: 1, day: 1}
	ms, err := p.parse(v.argText(2))
	if err != nil {
		v.raise("time.parse: %s in %q", err.Error(), short(text))
	}
	l.Push(glua.LNumber(ms))
	return 1
}

// timeParser reads a text by a pattern.
type timeParser struct {
	rest                                   string
	year, month, day, hour, min, sec, msec int
	offset                                 time.Duration
	unix                                   int64
	hasUnix                                bool
}

func (p *timeParser) parse(pattern string) (int64, error) {
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if c == '%' && i+1 < len(pattern) && pattern[i+1] != '%' {
			i++
			if err := p.field(pattern[i]); err != nil {
				return 0, err
			}
			continue
		}
		if c == '%' {
			i++
		}
		if p.rest == "" || p.rest[0] != c {
			return 0, errors.New("expected " + strconv.Quote(string(c)))
		}
		p.rest = p.rest[1:]
	}
	if p.rest != "" {
		return 0, errors.New("there is more than the pattern")
	}
	if p.hasUnix {
		return p.unix * 1000, nil
	}
	t := time.Date(p.year, time.Month(p.month), p.day, p.hour, p.min, p.sec, p.msec*1e6, time.UTC)
	if t.Day() != p.day || p.hour > 23 || p.min > 59 || p.sec > 59 || p.month > 12 {
		return 0, errors.New("no such time")
	}
	return t.Add(-p.offset).UnixMilli(), nil
}

func (p *timeParser) field(field byte) (err error) {
	switch field {
	case 'Y':
		p.year, err = p.digits(4)
	case 'm':
		p.month, err = p.digits(2)
	case 'd':
		p.day, err = p.digits(2)
	case 'H':
		p.hour, err = p.digits(2)
	case 'M':
		p.min, err = p.digits(2)
	case 'S':
		p.sec, err = p.digits(2)
	case 'L':
		p.msec, err = p.digits(3)
	case 'z':
		return p.zone()
	case 's':
		n := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789"))
		p.unix, err = strconv.ParseInt(p.rest[:n], 10, 48)
		p.rest, p.hasUnix = p.rest[n:], true
	default:
		return errors.New("there is no field %" + short(string(field)))
	}
	return err
}

func (p *timeParser) digits(n int) (int, error) {
	if len(p.rest) < n || strings.Trim(p.rest[:n], "0123456789") != "" {
		return 0, errors.New("expected " + strconv.Itoa(n) + " digits")
	}
	out, err := strconv.Atoi(p.rest[:n])
	p.rest = p.rest[n:]
	return out, err
}

// zone reads Z, +0100 or +01:00.
func (p *timeParser) zone() error {
	if rest, ok := strings.CutPrefix(p.rest, "Z"); ok {
		p.rest = rest
		return nil
	}
	if p.rest == "" || p.rest[0] != '+' && p.rest[0] != '-' {
		return errors.New("expected a zone such as Z or +01:00")
	}
	negative := p.rest[0] == '-'
	p.rest = p.rest[1:]
	hours, err := p.digits(2)
	if err != nil {
		return err
	}
	p.rest = strings.TrimPrefix(p.rest, ":")
	minutes, err := p.digits(2)
	if err != nil {
		return err
	}
	p.offset = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if negative {
		p.offset = -p.offset
	}
	return nil
}
