package diag

import "strings"

// Texts of a diagnostic quote what the file has, which may be a name of a
// megabyte: of a text of more than maxText bytes the first headText and the last
// tailText are shown.
const maxText, headText, tailText = 1200, 800, 300

// clipped is d with its texts cut down. Suggestions and edits stay as they are:
// half of one would be wrong.
func clipped(d Diagnostic) Diagnostic {
	d.Summary, d.Detail = clip(d.Summary), clip(d.Detail)
	return d
}

func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:headText], "") + "…" + strings.ToValidUTF8(text[len(text)-tailText:], "")
}
