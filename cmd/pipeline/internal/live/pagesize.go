package live

import "pipeline/engine/broker"

// A page is bounded in entries, so that the server answers it in a fraction of
// a millisecond, and in bytes, so that neither side holds much. XRANGE knows
// only entries: how many make so many bytes is guessed from the page before.
const (
	pageEntries = 250
	pageBytes   = 1 << 20
	// firstPage is small because nothing is known of the entries yet.
	firstPage = 16
)

// PageSize is how many entries the next page of a range asks for.
type PageSize struct{ Count int }

// NewPageSize is the size of the first page.
func NewPageSize() PageSize { return PageSize{firstPage} }

// After chooses the size of the page after the given one: as many entries as fit
// were all like its largest one, and never more than twice as many as before.
func (s *PageSize) After(entries []broker.Entry) {
	largest := 1
	for i := range entries {
		n := 0
		for _, f := range entries[i].Fields {
			n += len(f.Name) + len(f.Value)
		}
		largest = max(largest, n)
	}
	s.Count = max(1, min(2*s.Count, pageEntries, pageBytes/largest))
}
