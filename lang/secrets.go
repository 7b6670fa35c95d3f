package lang

import (
	"net/url"
	"regexp"
	"strings"

	"pipeline/lang/diag"
)

// Secrets are looked for in the text before anything else, so that they stay
// hidden even when the file cannot be parsed and what a line means is not
// known.
var (
	secretLine = regexp.MustCompile(atStart + `["']?([\w-]*(?:password|passwd|secret|token)|pass|pwd)["']?[ \t]*[:=]*[ \t]*(.*)$`)
	// A block on one line ends there.
	streamBlock   = regexp.MustCompile(`(?m)^[ \t]*stream\b[^\n]*[^}\s][ \t\r]*\n` + blockLines)
	variableBlock = regexp.MustCompile(`(?m)^[ \t]*variable\b[^\n]*[^}\s][ \t\r]*\n` + blockLines)
	brokerBlock   = regexp.MustCompile(`(?m)^[ \t]*broker\b(?:[^\n]*\}[ \t\r]*$|[^\n]*[^}\s][ \t\r]*\n` + blockLines + `)`)
	sensitiveLine = regexp.MustCompile(`(?m)^[ \t]*["']?(sensitive|secret)["']?[ \t]*[:=]*[ \t]*["']?true`)
	defaultLine   = regexp.MustCompile(`(?m)^[ \t]*["']?(?:default|value)["']?[ \t]*[:=]*[ \t]*(.*)$`)
	argumentLine  = regexp.MustCompile(atStart + `["']?([\w-]+)["']?[ \t]*[:=]+[ \t]*(.*)$`)
	urlLine       = regexp.MustCompile(atStart + `["']?(?:url|uri|addr|address|addresses|dsn|host)["']?[ \t]*[:=]+[ \t]*(.*)$`)
	// userInfo is the password of any URL up to its first @, redisInfo that of a
	// server's up to the last one of its line: one that is not encoded may hold an
	// @, or a space.
	userInfo  = regexp.MustCompile(`://[^\s:/@"']*:([^\s@"]+)@`)
	redisInfo = regexp.MustCompile(`(?i)(?:redis|rediss|valkey|valkeys)://[^\s:/@"']*:(([^"“”@\n]+)[^"“”\n]*)@`)
	// literal is a text in quotes of any kind; the name that env is given is none.
	literal = regexp.MustCompile("(env\\(\\s*)?(?:\"((?:[^\"\\\\]|\\\\.)*)\"?|'([^']*)'?|`([^`]*)`?|“([^”]*)”?|‘([^’]*)’?|«([^»]*)»?)")
	// noSecret are words that stand for a value or a type, and write none.
	noSecret = regexp.MustCompile(`^(?:(?:var|local|entry|reply|headers|each|data|env)\b.*|true|false|null|string|number|bool|any|.*[({\[].*)$`)
)

// Where an argument begins, and the lines of a block up to one that begins with
// its brace.
const (
	atStart    = `(?m)(?:^|[{;,])[ \t]*`
	blockLines = `(?:[^}\n][^\n]*\n|\n)*`
)

// shownInBroker are arguments of a broker block, and of those within it, that
// hold no secret, with some that it does not have; a URL is looked at by itself.
// Any other may be a password that is called by a wrong name.
var shownInBroker = map[string]bool{
	"url": true, "username": true, "cluster": true, "ca": true, "cert": true, "key": true, "server_name": true, "master": true, "addresses": true,
	"alias": true, "name": true, "type": true, "host": true, "port": true, "db": true, "database": true, "user": true, "timeout": true,
}

// findSecrets registers what the text of a file gives away: passwords in URLs,
// values of arguments that hold secrets, defaults of sensitive variables. In a
// stream such names are those of fields, whose values are types.
func (l *loader) findSecrets(src *diag.Source) {
	f := secretFinder{l.report, src, string(src.Text)}
	if !mayHoldSecrets(f.text) {
		return
	}
	for _, m := range userInfo.FindAllStringSubmatchIndex(f.text, -1) {
		f.password(m[2], m[3])
	}
	for _, m := range redisInfo.FindAllStringSubmatchIndex(f.text, -1) {
		f.password(m[2], m[3])
		f.password(m[4], m[5])
	}
	for _, m := range urlLine.FindAllStringSubmatchIndex(f.text, -1) {
		f.addresses(m[2], m[3])
	}
	streams := streamBlock.FindAllStringIndex(f.text, -1)
	for _, m := range secretLine.FindAllStringSubmatchIndex(f.text, -1) {
		for len(streams) > 0 && streams[0][1] <= m[0] {
			streams = streams[1:]
		}
		if len(streams) == 0 || m[0] < streams[0][0] {
			f.value(m[4], m[5])
		}
	}
	for _, b := range brokerBlock.FindAllStringIndex(f.text, -1) {
		for _, m := range argumentLine.FindAllStringSubmatchIndex(f.text[b[0]:b[1]], -1) {
			if !shownInBroker[f.text[b[0]+m[2]:b[0]+m[3]]] {
				f.value(b[0]+m[4], b[0]+m[5])
			}
		}
	}
	for _, b := range variableBlock.FindAllStringIndex(f.text, -1) {
		if block := f.text[b[0]:b[1]]; sensitiveLine.MatchString(block) {
			for _, m := range defaultLine.FindAllStringSubmatchIndex(block, -1) {
				f.value(b[0]+m[2], b[0]+m[3])
			}
		}
	}
}

// mayHoldSecrets saves going over most files.
func mayHoldSecrets(text string) bool {
	for _, sign := range []string{"://", "@", "pass", "pwd", "sensitive", "secret", "token", "broker"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// quoteSigns begin a text in quotes of any kind.
const quoteSigns = "\"'`“‘«"

// secretFinder registers secrets of a text, in bytes, with a report.
type secretFinder struct {
	report *diag.Report
	src    *diag.Source
	text   string
}

// password registers the password of a URL, as it is written and as it is read.
func (f secretFinder) password(start, end int) {
	f.literal(start, end)
	if plain, err := url.PathUnescape(f.text[start:end]); err == nil {
		f.report.Secret(plain)
	}
}

// addresses registers passwords of what is meant as an address, whether it has a
// scheme or not.
func (f secretFinder) addresses(start, end int) {
	for _, m := range f.literals(start, end) {
		text := f.text[m.start:m.end]
		from, at := 0, strings.LastIndexByte(text, '@')
		if _, rest, found := strings.Cut(text, "://"); found {
			from = len(text) - len(rest)
		}
		if colon := strings.IndexByte(text[from:max(from, at)], ':'); colon >= 0 {
			f.password(m.start+from+colon+1, m.start+at)
		}
	}
}

// literals are the texts in quotes within a piece, without their quotes.
func (f secretFinder) literals(start, end int) (found []span) {
	for _, m := range literal.FindAllStringSubmatchIndex(f.text[start:end], -1) {
		for i := 4; i < len(m) && m[2] < 0; i += 2 {
			if m[i] >= 0 {
				found = append(found, span{start + m[i], start + m[i+1]})
			}
		}
	}
	return found
}

// literal registers a piece of the text, which no line shows either.
func (f secretFinder) literal(start, end int) {
	f.report.Secret(f.text[start:end])
	f.report.Hide(f.src.Range(start, end))
}

// value registers the constants that the value of an argument writes. Names of
// variables and of the environment are no secrets.
func (f secretFinder) value(start, end int) {
	value := f.text[start:end]
	if noSecret.MatchString(strings.TrimSpace(value)) && !strings.ContainsAny(value, quoteSigns) {
		return
	}
	for _, m := range f.literals(start, end) {
		f.literal(m.start, m.end)
	}
	if strings.ContainsAny(value, quoteSigns) {
		return
	}
	word, _, _ := strings.Cut(strings.TrimSpace(value), " ")
	if word = strings.TrimRight(word, ",;"); word == "" || noSecret.MatchString(word) {
		return
	}
	at := start + strings.Index(value, word)
	f.report.SecretWord(word)
	f.report.Hide(f.src.Range(at, at+len(word)))
}
