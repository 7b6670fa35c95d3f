package lua

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	glua "github.com/yuin/gopher-lua"
)

// wording replaces a message of the engine by one in the terms of the
// language. Only errors pass here, never a successful call.
type wording struct {
	match *regexp.Regexp
	words string
}

var wordings = []wording{
	{regexp.MustCompile(`^attempt to index a non-table object\((\w+)\) with key '(.*)'$`), "attempt to index a $1 value with key '$2'"},
	{regexp.MustCompile(`^cannot perform (\w+) operation between (nil|boolean|table|function|userdata) and \w+$`), "attempt to calculate ($1) with a $2 value"},
	{regexp.MustCompile(`^cannot perform (\w+) operation between \w+ and (nil|boolean|table|function|userdata)$`), "attempt to calculate ($1) with a $2 value"},
	{regexp.MustCompile(`^cannot perform (\w+) operation between .*$`), "attempt to calculate ($1) with a string that is no number"},
	{regexp.MustCompile(`^attempt to compare (userdata with \w+|\w+ with userdata)$`), "attempt to compare values of different types"},
	{regexp.MustCompile(`^attempt to compare (\w+) with (\w+)$`), "attempt to compare a $1 with a $2"},
	{regexp.MustCompile(`^__unm undefined$`), "attempt to negate a value that is no number"},
	{regexp.MustCompile(`^for statement (\w+) must be a number$`), "the $1 value of a `for` must be a plain number"},
	{regexp.MustCompile(`^stack overflow$`), "calls are nested too deeply: more than " + strconv.Itoa(callDepth)},
	{regexp.MustCompile(`^registry overflow$`), "too many values at once"},
	{regexp.MustCompile(`^too many recursions in [gs]ettable$`), "a chain of __index or __newindex has no end"},
}

// plainWords words an error of the engine anew. place is where it happened.
func (v *vm) plainWords(place, text string) string {
	if text == "attempt to call a non-function object" {
		return v.calledNothing(place)
	}
	if len(text) > maxMessage {
		return text
	}
	for _, w := range wordings {
		if w.match.MatchString(text) {
			return w.match.ReplaceAllString(text, w.words)
		}
	}
	return text
}

// calledNothing names what was called though it is no function. The engine
// does not say, but its debug tables know the calls of each line: where the
// line has one call of an unknown name, that is it.
func (v *vm) calledNothing(place string) string {
	const general = "attempt to call a value that is no function"
	source, line := placeParts(place)
	var names []string
	for _, p := range v.h.programs {
		if p.name == source {
			names = callsOn(p.proto, line, names)
		}
	}
	var suspects []string
	for _, name := range names {
		if _, known := v.globals.table.RawGetString(name).(*glua.LFunction); !known {
			suspects = append(suspects, name)
		}
	}
	if len(suspects) != 1 {
		return general
	}
	return fmt.Sprintf("attempt to call '%s', which is no function here", suspects[0])
}

// placeParts takes "file:12: " apart.
func placeParts(place string) (source string, line int) {
	place = strings.TrimSuffix(place, ": ")
	i := strings.LastIndexByte(place, ':')
	if i < 0 {
		return place, 0
	}
	line, _ = strconv.Atoi(place[i+1:])
	return place[:i], line
}

// callsOn appends the names that are called on a line.
func callsOn(p *glua.FunctionProto, line int, names []string) []string {
	for _, c := range p.DbgCalls {
		if c.Pc < len(p.DbgSourcePositions) && p.DbgSourcePositions[c.Pc] == line && !strings.HasPrefix(c.Name, "\x00") {
			names = append(names, c.Name)
		}
	}
	for _, inner := range p.FunctionPrototypes {
		names = callsOn(inner, line, names)
	}
	return names
}

// typeName is the type of a value as scripts see it.
func (v *vm) typeName(lv glua.LValue) string {
	ud, ok := lv.(*glua.LUserData)
	if !ok {
		return lv.Type().String()
	}
	switch ud.Value.(type) {
	case *integer:
		return "number"
	case *verdict:
		return "result"
	}
	return "null"
}
