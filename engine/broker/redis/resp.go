package redis

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// errProtocol is a reply that is not what the protocol promises: a proxy that
// speaks something else, or a bug. The caller cannot know what ran.
var errProtocol = errors.New("unexpected reply")

// cursor reads one RESP reply from a string. It takes RESP2 and RESP3 shapes;
// maps count as arrays of keys and values. Lengths are checked against what is
// left, so that a false one costs nothing.
type cursor struct {
	text string
	at   int
}

func (c *cursor) left() int { return len(c.text) - c.at }

// fail says where the reply went wrong, without its content, which is data of
// the user.
func (c *cursor) fail(want string) error {
	return fmt.Errorf("%w at byte %d of %d: no %s", errProtocol, c.at, len(c.text), want)
}

// head reads a line: the type and what follows it. An error reply is returned
// as an error.
func (c *cursor) head() (kind byte, rest string, err error) {
	end := strings.IndexByte(c.text[c.at:], '\r')
	if end < 1 || c.at+end+1 >= len(c.text) || c.text[c.at+end+1] != '\n' {
		return 0, "", c.fail("line")
	}
	kind, rest = c.text[c.at], c.text[c.at+1:c.at+end]
	c.at += end + 2
	switch kind {
	case '-':
		return 0, "", serverError(rest)
	case '!':
		s, _, err := c.sized(rest)
		if err == nil {
			err = serverError(s)
		}
		return 0, "", err
	}
	return kind, rest, nil
}

// short reads a line of the given kind with a small number in it, which is what
// nearly every line of a batch is. Anything else it leaves to head.
func (c *cursor) short(kind byte) (n int64, ok bool) {
	text := c.text[c.at:]
	if len(text) == 0 || text[0] != kind {
		return 0, false
	}
	for i := 1; i < len(text)-1 && i < 18; i++ {
		d := text[i] - '0'
		if d > 9 {
			if i == 1 || text[i] != '\r' || text[i+1] != '\n' {
				return 0, false
			}
			c.at += i + 2
			return n, true
		}
		n = n*10 + int64(d)
	}
	return 0, false
}

// array reads the head of an array and returns its length, -1 for nil.
func (c *cursor) array() (int, error) {
	if n, ok := c.short('*'); ok {
		return c.room(n)
	}
	kind, rest, err := c.head()
	if err != nil {
		return 0, err
	}
	n, ok := number(rest)
	switch {
	case kind == '_':
		return -1, nil
	case !ok || n < -1 || n > int64(c.left()):
		return 0, c.fail("array length")
	case kind == '*' || kind == '~' || kind == '$' && n == -1:
		// nothing comes as *-1 from one server and as $-1 from another
	case kind == '%' && 2*n <= int64(c.left()):
		n *= 2
	default:
		return 0, c.fail("array")
	}
	return c.room(n)
}

// room checks that so many elements can follow: the shortest is a line of
// three bytes.
func (c *cursor) room(n int64) (int, error) {
	if n > int64(c.left()/3) {
		return 0, c.fail("room for the array")
	}
	return int(n), nil
}

// bulk reads a string; present is false for nil.
func (c *cursor) bulk() (s string, present bool, err error) {
	if n, ok := c.short('$'); ok {
		return c.take(n)
	}
	kind, rest, err := c.head()
	switch {
	case err != nil:
		return "", false, err
	case kind == '$':
		return c.sized(rest)
	case kind == '+':
		return rest, true, nil
	case kind == '_' || kind == '*' && rest == "-1":
		return "", false, nil
	}
	return "", false, c.fail("string")
}

// sized reads a string whose length has been read.
func (c *cursor) sized(length string) (s string, present bool, err error) {
	n, ok := number(length)
	if ok && n == -1 {
		return "", false, nil
	}
	if !ok || n < 0 {
		return "", false, c.fail("string length")
	}
	return c.take(n)
}

// take reads n bytes and the line end after them.
func (c *cursor) take(n int64) (s string, present bool, err error) {
	if n > int64(c.left()-2) {
		return "", false, c.fail("room for the string")
	}
	end := c.at + int(n)
	if c.text[end] != '\r' || c.text[end+1] != '\n' {
		return "", false, c.fail("end of the string")
	}
	s = c.text[c.at:end]
	c.at = end + 2
	return s, true, nil
}

// integer reads a number; a server may send it as text.
func (c *cursor) integer() (int64, error) {
	if n, ok := c.short(':'); ok {
		return n, nil
	}
	kind, rest, err := c.head()
	if err != nil {
		return 0, err
	}
	if kind == '$' {
		if rest, _, err = c.sized(rest); err != nil {
			return 0, err
		}
	} else if kind != ':' {
		return 0, c.fail("number")
	}
	n, ok := number(rest)
	if !ok {
		return 0, c.fail("number")
	}
	return n, nil
}

// number reads a decimal number.
func number(s string) (int64, bool) {
	digits := s
	if len(s) > 0 && s[0] == '-' {
		digits = s[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil && n != math.MinInt64
	}
	var n int64
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	if len(digits) != len(s) {
		n = -n
	}
	return n, true
}
