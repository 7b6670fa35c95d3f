package web

import (
	"regexp"

	"pipeline/cmd/pipeline/internal/view"
)

// networks are the places where errors of networks name machines, as package net and
// crypto/x509 write them, and what is left of each.
var networks = []struct {
	named *regexp.Regexp
	left  string
}{
	{regexp.MustCompile(`\b(rediss?|valkeys?|unix)://\S+`), "$1://(masked)"},
	{regexp.MustCompile(`\b((?:tcp|udp)[46]?|unix) \S+?: `), "$1: "},
	{regexp.MustCompile(`\blookup \S+?(?: on \S+?)?: `), "lookup: "},
	{regexp.MustCompile(`\bcertificate is (?:valid for .*?, )?not (?:valid for )?\S+.*`), "certificate is not valid for the server's name"},
}

// told is a text as everybody may see it who sees the page: without logins, and
// without the addresses that errors of networks name.
func told(text string) string {
	text = view.HideLogins(text)
	for _, n := range networks {
		text = n.named.ReplaceAllString(text, n.left)
	}
	return text
}
