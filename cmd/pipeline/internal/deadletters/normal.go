package deadletters

import "strings"

// maxNormal is how many bytes of an error's text tell errors apart.
const maxNormal = 200

// Normal is an error's text without what differs from entry to entry: what
// stands in quotes becomes "…", and words and numbers with digits in them become #.
// Numbers of up to three digits stay, for they are lines of a script or codes of a
// protocol. It is cut at 200 bytes.
func Normal(text string) string {
	var b strings.Builder
	for i := 0; i < len(text) && b.Len() < maxNormal; {
		switch c := text[i]; {
		case c == '"' || c == '\'' && !wordAt(text, i-1):
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				b.WriteByte(c)
				i++
				continue
			}
			b.WriteString(`"…"`)
			i += end + 2
		case isWord(c):
			end := i + 1
			for end < len(text) && isWord(text[end]) {
				end++
			}
			b.WriteString(normalWord(text[i:end]))
			i = end
		default:
			b.WriteByte(c)
			i++
		}
	}
	return strings.ToValidUTF8(cut(b.String(), maxNormal), "")
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// normalWord is a word, or # for one that looks like an id, a time or an amount.
func normalWord(word string) string {
	digits := 0
	for i := range len(word) {
		if word[i] >= '0' && word[i] <= '9' {
			digits++
		}
	}
	const code = 3
	if digits == 0 || digits == len(word) && digits <= code {
		return word
	}
	return "#"
}

func wordAt(text string, i int) bool { return i >= 0 && isWord(text[i]) }

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-' || c >= 0x80
}
