// Package format lays out pipeline files, their tests and files of variables:
// one layout that nobody has to argue about. It changes white space only.
//
// What becomes of a file:
//   - Two spaces for each level. What several brackets open on one line is one
//     level, and a closing bracket stands where the line of its opening one
//     begins.
//   - The equals signs of neighbouring lines are aligned, and so are the
//     comments at their ends. A comment below such a comment, in its column,
//     goes on with it.
//   - One space between words and operators; none inside of parentheses and
//     brackets, around dots, or between a function and its arguments.
//   - One blank line at most, none at the beginning and the end, no white space
//     at the end of a line, a line break at the end of the file.
//   - Lines are neither joined nor split.
//   - Line ends become "\n", and a byte order mark is removed: it is invisible,
//     and Load asks for its removal.
//
// What stands between quotes, in a heredoc or in /* … */ keeps every byte, line
// ends too: those of a heredoc belong to its value. Of a comment that ends its
// line only the white space behind it goes.
//
// The layout is computed from tokens and never from an earlier layout, so that
// formatting twice changes nothing more, and nothing here recurses.
package format

import (
	"bytes"

	"pipeline/lang"
	"pipeline/lang/diag"
)

// byteOrderMark is what some editors put before UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Format lays out the text of one file; the name is only for diagnostics. A
// text with an error, of syntax or of size, is not laid out: the result is nil
// and the report says why, in the words of Load. Notices do not stand in the
// way. It may be called from any number of goroutines.
func Format(name string, src []byte) ([]byte, *diag.Report) {
	report := lang.CheckSyntax(name, src)
	if report.HasErrors() {
		return nil, report
	}
	text := bytes.TrimPrefix(src, byteOrderMark)
	before := lex(text)
	for _, spacing := range []spacing{canonical, cautious} {
		out, ok := layOut(text, before, spacing)
		if !ok {
			report.Add(diag.Diagnostic{
				Severity: diag.Error, Code: diag.FileTooLarge, Range: diag.Range{File: name},
				Summary: name + " would be over 1 MiB when it is laid out", Detail: "Split it over several files of one directory.",
			})
			return nil, report
		}
		if same(before, lex(out)) {
			return out, report
		}
	}
	report.Add(diag.Diagnostic{
		Severity: diag.Error, Code: diag.Syntax, Range: diag.Range{File: name},
		Summary: name + " cannot be laid out without changing more than white space", Detail: "It is left as it is. This is a fault of the program: please report it.",
	})
	return nil, report
}
