package diag

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// twins are letters of other scripts that cannot be told from Latin ones in
// most fonts: people meet them in what they copy.
var twins = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'ѕ': 's', 'т': 't', 'у': 'y', 'х': 'x', 'ԝ': 'w',
	'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'Ј': 'J', 'К': 'K', 'М': 'M', 'О': 'O', 'Р': 'P', 'Ѕ': 'S', 'Т': 'T', 'У': 'Y', 'Х': 'X',
	'α': 'a', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'χ': 'x', 'ı': 'i', 'ɡ': 'g',
	'Α': 'A', 'Β': 'B', 'Ε': 'E', 'Η': 'H', 'Ι': 'I', 'Κ': 'K', 'Μ': 'M', 'Ν': 'N', 'Ο': 'O', 'Ρ': 'P', 'Τ': 'T', 'Υ': 'Y', 'Χ': 'X', 'Ζ': 'Z',
	'\u00a0': ' ', '\u202f': ' ', '\u2009': ' ', '\u3000': ' ', '\u2010': '-', '\u2011': '-', '\u2013': '-', '\u2212': '-',
	'\u200b': -1, '\u200c': -1, '\u200d': -1, '\u2060': -1, '\ufeff': -1, '\u00ad': -1,
}

// Latin is a text with the letters of other scripts, the full-width forms and
// the characters without width that people take for plain ones put right. A
// text that has none comes back as it is.
func Latin(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r >= '！' && r <= '～' { // full-width forms, in the order of ASCII
			return r - '！' + '!'
		}
		if plain, ok := twins[r]; ok {
			return plain
		}
		return r
	}, s)
}

// lookAlike names the first letter of a word that only looks like a Latin one; ""
// where there is none, or where the word has no Latin letter beside it and so
// is a word of another language.
func lookAlike(word string) string {
	var odd rune
	latin := false
	for _, r := range word {
		switch plain, twin := twins[r]; {
		case r < utf8.RuneSelf && (isLetter(r) || r == '_' || r == '-' || r >= '0' && r <= '9'):
			latin = latin || isLetter(r)
		case !twin || !isLetter(plain):
			return ""
		case odd == 0:
			odd = r
		}
	}
	if odd == 0 || !latin {
		return ""
	}
	return fmt.Sprintf("Its %q is the character U+%04X, which only looks like %q.", string(odd), odd, string(twins[odd]))
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
