package lang

import (
	"regexp"
	"strings"

	"pipeline/lang/diag"
)

// Secrets are looked for in the text before anything else, so that they stay
// hidden even when the file cannot be parsed and what a line means is not
// known.
var (
	secretLine    = regexp.MustCompile(`(?m)^[ \t]*["']?(password|pass|passwd|url|uri|address|secret|token)["']?[ \t]*[:=]*[ \t]*(.*)$`)
	variableBlock = regexp.MustCompile(`(?m)^[ \t]*variable\b[^\n]*\n(?:[^}\n][^\n]*\n|\n)*`)
	sensitiveLine = regexp.MustCompile(`(?m)^[ \t]*["']?(sensitive|secret)["']?[ \t]*[:=]*[ \t]*["']?true`)
	defaultLine   = regexp.MustCompile(`(?m)^[ \t]*["']?(default|value)["']?[ \t]*[:=]*[ \t]*(.*)$`)
	userInfo      = regexp.MustCompile(`://([^\s/@"']*:)([^\s@"']+)@`)
	quotedText    = regexp.MustCompile("(env\\(\\s*)?[\"'`“‘«]([^\"'`”’»]*)[\"'`”’»]?")
)

// findSecrets registers what the text of a file gives away: passwords in URLs,
// values of arguments that hold secrets, defaults of sensitive variables.
func (l *loader) findSecrets(src *diag.Source) {
	text := string(src.Text)
	if !strings.Contains(text, "://") && !strings.Contains(text, "pass") && !strings.Contains(text, "sensitive") && !strings.Contains(text, "secret") {
		return
	}
	for _, m := range userInfo.FindAllStringSubmatch(text, -1) {
		l.report.Secret(m[2])
	}
	for _, m := range secretLine.FindAllStringSubmatch(text, -1) {
		if name := m[1]; name != "url" && name != "uri" && name != "address" {
			l.secretValue(m[2])
		}
	}
	for _, block := range variableBlock.FindAllString(text, -1) {
		if !sensitiveLine.MatchString(block) {
			continue
		}
		for _, m := range defaultLine.FindAllStringSubmatch(block, -1) {
			l.secretValue(m[2])
		}
	}
}

// secretValue registers the constants that the value of a line writes. Names
// of variables and of the environment are no secrets.
func (l *loader) secretValue(value string) {
	literals := quotedText.FindAllStringSubmatch(value, -1)
	for _, m := range literals {
		if m[1] == "" {
			l.report.Secret(m[2])
		}
	}
	if len(literals) > 0 {
		return
	}
	word, _, _ := strings.Cut(strings.TrimSpace(value), " ")
	if word != "" && !strings.HasPrefix(word, "var.") && !strings.HasPrefix(word, "local.") && !strings.ContainsAny(word, "({[") && word != "true" && word != "null" {
		l.report.Secret(word)
	}
}
