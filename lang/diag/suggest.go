package diag

import (
	"strings"
	"unicode/utf8"

	"github.com/agext/levenshtein"
)

// maxCandidates is from how many candidates on none is looked for: a hostile
// file can misspell thousands of names thousands of times.
const maxCandidates = 1000

// Nearest is the candidate that word was probably meant to be, or "". How far
// it may lie away grows with the word's length: nothing for two letters, one
// edit up to four, then one per three letters; none of over a thousand. Differences in case, "-" for
// "_", and a plural s count as nothing.
func Nearest(word string, candidates []string) string {
	if len(candidates) > maxCandidates {
		return ""
	}
	for _, c := range candidates {
		if c != word && Same(word, c) {
			return c
		}
	}
	best, bestDistance := "", allowed(word)+1
	for _, c := range candidates {
		if c == word {
			continue
		}
		if d := distance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// allowed is how many edits a misspelling of word may have.
func allowed(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n <= 2:
		return 0
	case n <= 4:
		return 1
	default:
		return min(n/3, 4)
	}
}

// distance counts the edits between two words; two swapped neighbours are one.
func distance(a, b string) int {
	a, b = plain(a), plain(b)
	if a == b || strings.TrimSuffix(a, "s") == strings.TrimSuffix(b, "s") {
		return 0
	}
	d := levenshtein.Distance(a, b, nil)
	if d == 2 && swapped(a, b) {
		return 1
	}
	return d
}

// Same reports whether two words differ only in what people mix up most: case,
// dashes, underscores, spaces and dots, and letters that look alike.
func Same(a, b string) bool { return plain(a) == plain(b) }

// separators stand between the words of a name, and count as nothing.
var separators = strings.NewReplacer("-", "", "_", "", " ", "", ".", "")

// plain is a word without what people mix up most.
func plain(s string) string {
	s = strings.ToLower(Latin(s))
	return separators.Replace(s)
}

// swapped reports whether a and b differ by one pair of swapped neighbours.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) - 1 {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}
