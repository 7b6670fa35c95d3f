package view

import "regexp"

// logins are what of a URL may hold a password: what stands before its host, and
// arguments that are named like one. A host follows the last @.
var logins = []*regexp.Regexp{
	regexp.MustCompile(`(://)[^\s"'` + "`" + `]*(@)`),
	regexp.MustCompile(`(?i)([?&](?:pass|password|auth|token|secret)=)[^\s"'` + "`" + `&]*()`),
}

// hideLogins masks the passwords of URLs in a text: one that was typed in the wrong
// place comes back in the message about it.
func hideLogins(text string) string {
	for _, login := range logins {
		text = login.ReplaceAllString(text, "${1}"+masked+"${2}")
	}
	return text
}
