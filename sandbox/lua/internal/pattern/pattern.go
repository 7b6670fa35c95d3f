// Package pattern matches Lua 5.1 patterns, and %f of Lua 5.2, with every step
// accounted for: a pattern can take time exponential in its length, and a
// match must be stoppable anywhere.
package pattern

// MaxCaptures is how many captures a pattern can have, as in Lua.
const MaxCaptures = 32

// maxDepth bounds the recursion, as in Lua.
const maxDepth = 200

// stepsPerCharge is how many steps are charged at once.
const stepsPerCharge = 256

const (
	unfinished = -1
	position   = -2
)

// Matcher matches one pattern against one string. Reset prepares it. The zero
// Matcher needs its two functions set; both end a match by not returning.
type Matcher struct {
	// Charge is told about steps as they are made. It panics to stop.
	Charge func(steps int64)
	// Fail is called for a malformed pattern. It panics.
	Fail func(problem string)

	src, pat string
	level    int
	steps    int64
	depth    int
	captures [MaxCaptures]struct{ start, n int }
}

// Reset makes m match pattern against src.
func (m *Matcher) Reset(src, pattern string) {
	m.src, m.pat, m.level, m.depth = src, pattern, 0, 0
}

// At matches the pattern from its byte skip on at byte start of the string and
// returns the end of the match, or -1.
func (m *Matcher) At(start, skip int) int {
	m.level, m.depth = 0, 0
	return m.match(start, skip)
}

// Settle charges the steps that are not charged yet.
func (m *Matcher) Settle() {
	n := m.steps
	m.steps = 0
	m.Charge(n)
}

// Captures is the number of captures of the last match.
func (m *Matcher) Captures() int { return m.level }

// Capture returns capture i, counted from 0, of the last match, which was
// [start, end). A position capture has at > 0, the position counted from 1.
// Capture 0 of a pattern without captures is the whole match.
func (m *Matcher) Capture(i, start, end int) (text string, at int) {
	if i >= m.level {
		if i != 0 {
			m.Fail("invalid capture index")
		}
		return m.src[start:end], 0
	}
	c := m.captures[i]
	switch c.n {
	case unfinished:
		m.Fail("unfinished capture")
	case position:
		return "", c.start + 1
	}
	return m.src[c.start : c.start+c.n], 0
}

func (m *Matcher) step() {
	if m.steps++; m.steps >= stepsPerCharge {
		m.Settle()
	}
}

// match matches pat[p:] at src[s:]. It recurses for what can be given back.
func (m *Matcher) match(s, p int) int {
	if m.depth++; m.depth > maxDepth {
		m.Fail("pattern too complex")
	}
	for {
		m.step()
		if p >= len(m.pat) {
			m.depth--
			return s
		}
		next, np, done := m.special(s, p)
		if !done {
			next, np, done = m.item(s, p)
		}
		if done {
			m.depth--
			return next
		}
		s, p = next, np
	}
}

// special handles what is no item. With done false the position holds an item.
func (m *Matcher) special(s, p int) (next, np int, done bool) {
	switch m.pat[p] {
	case '(':
		if p+1 < len(m.pat) && m.pat[p+1] == ')' {
			return m.open(s, p+2, position), 0, true
		}
		return m.open(s, p+1, unfinished), 0, true
	case ')':
		return m.close(s, p+1), 0, true
	case '$':
		if p+1 == len(m.pat) {
			if s == len(m.src) {
				return s, 0, true
			}
			return -1, 0, true
		}
	case '%':
		if p+1 < len(m.pat) {
			return m.escaped(s, p)
		}
	}
	return s, p, false
}

// escaped handles %b, %f and back references.
func (m *Matcher) escaped(s, p int) (next, np int, done bool) {
	var end int
	switch c := m.pat[p+1]; {
	case c == 'b':
		end, np = m.balance(s, p+2), p+4
	case c == 'f':
		end, np = m.frontier(s, p+2)
	case '0' <= c && c <= '9':
		end, np = m.back(s, int(c)-'1'), p+2
	default:
		return s, p, false
	}
	if end < 0 {
		return -1, 0, true
	}
	// What follows is matched by a call, so that match need not tell an
	// advanced position from an item still to be matched.
	return m.match(end, np), 0, true
}

// item handles a single character or class with what repeats it.
func (m *Matcher) item(s, p int) (next, np int, done bool) {
	ep := m.classEnd(p)
	var suffix byte
	if ep < len(m.pat) {
		suffix = m.pat[ep]
	}
	switch suffix {
	case '?':
		if m.single(s, p, ep) {
			if end := m.match(s+1, ep+1); end >= 0 {
				return end, 0, true
			}
		}
		return s, ep + 1, false
	case '*':
		return m.most(s, p, ep), 0, true
	case '+':
		if !m.single(s, p, ep) {
			return -1, 0, true
		}
		return m.most(s+1, p, ep), 0, true
	case '-':
		return m.least(s, p, ep), 0, true
	}
	if !m.single(s, p, ep) {
		return -1, 0, true
	}
	return s + 1, ep, false
}

// most matches as many as it can and gives back one by one.
func (m *Matcher) most(s, p, ep int) int {
	n := 0
	for m.single(s+n, p, ep) {
		n++
	}
	for ; n >= 0; n-- {
		if end := m.match(s+n, ep+1); end >= 0 {
			return end
		}
	}
	return -1
}

// least matches as few as it can.
func (m *Matcher) least(s, p, ep int) int {
	for {
		if end := m.match(s, ep+1); end >= 0 {
			return end
		}
		if !m.single(s, p, ep) {
			return -1
		}
		s++
	}
}

func (m *Matcher) open(s, p, kind int) int {
	if m.level >= MaxCaptures {
		m.Fail("too many captures")
	}
	m.captures[m.level].start, m.captures[m.level].n = s, kind
	m.level++
	end := m.match(s, p)
	if end < 0 {
		m.level--
	}
	return end
}

func (m *Matcher) close(s, p int) int {
	i := m.level - 1
	for i >= 0 && m.captures[i].n != unfinished {
		i--
	}
	if i < 0 {
		m.Fail("invalid pattern capture")
	}
	m.captures[i].n = s - m.captures[i].start
	end := m.match(s, p)
	if end < 0 {
		m.captures[i].n = unfinished
	}
	return end
}

// back matches what capture i has matched.
func (m *Matcher) back(s, i int) int {
	if i < 0 || i >= m.level || m.captures[i].n == unfinished {
		m.Fail("invalid capture index")
	}
	c := m.captures[i]
	if c.n == position {
		m.Fail("a position capture cannot be matched again")
	}
	m.steps += int64(c.n / 16)
	if len(m.src)-s >= c.n && m.src[c.start:c.start+c.n] == m.src[s:s+c.n] {
		return s + c.n
	}
	return -1
}

// balance matches %bxy; p is at x.
func (m *Matcher) balance(s, p int) int {
	if p+1 >= len(m.pat) {
		m.Fail("malformed pattern (missing arguments to '%b')")
	}
	if s >= len(m.src) || m.src[s] != m.pat[p] {
		return -1
	}
	opening, closing, open := m.pat[p], m.pat[p+1], 1
	for s++; s < len(m.src); s++ {
		m.step()
		switch m.src[s] {
		case closing:
			if open--; open == 0 {
				return s + 1
			}
		case opening:
			open++
		}
	}
	return -1
}

// frontier matches %f[set]; p is at the set.
func (m *Matcher) frontier(s, p int) (end, np int) {
	if p >= len(m.pat) || m.pat[p] != '[' {
		m.Fail("missing '[' after '%f' in pattern")
	}
	ep := m.classEnd(p)
	var before, at byte
	if s > 0 {
		before = m.src[s-1]
	}
	if s < len(m.src) {
		at = m.src[s]
	}
	if m.set(before, p, ep-1) || !m.set(at, p, ep-1) {
		return -1, 0
	}
	return s, ep
}
