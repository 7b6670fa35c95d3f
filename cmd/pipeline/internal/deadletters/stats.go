package deadletters

import (
	"cmp"
	"slices"
	"time"

	"pipeline/engine/broker"
)

// Stats counts the letters of one source. Its memory is bounded: of what takes
// too many different values, those beyond the first thousand are counted
// together.
type Stats struct {
	Source *Source
	// Letters are all that were counted, Foreign those among them that no pipeline
	// buried.
	Letters, Foreign int64
	// Oldest and Newest are the ids of letters.
	Oldest, Newest broker.ID

	Reasons, Groups, Subscriptions, Versions, Errors Counts
}

// Add counts a letter; text is its error as it may be shown.
func (s *Stats) Add(l *Letter, text string) {
	if s.Letters++; s.Letters == 1 || l.ID.Less(s.Oldest) {
		s.Oldest = l.ID
	}
	s.Newest = broker.Later(s.Newest, l.ID)
	if !l.Known {
		s.Foreign++
		return
	}
	s.Reasons.Add(l.Facts.Reason)
	s.Groups.Add(l.Facts.Group)
	s.Subscriptions.Add(l.Facts.Subscription)
	s.Versions.Add(l.Facts.PipelineVersion)
	s.Errors.Add(Normal(text))
}

// Count is how often one value was seen.
type Count struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

// Counts counts values, at most maxValues different ones.
type Counts struct {
	seen map[string]*int64
	// Other counts the values beyond.
	Other int64
}

// maxValues bounds the values of one Counts.
const maxValues = 1000

// Add counts one value. It keeps a copy.
func (c *Counts) Add(value string) {
	if n := c.seen[value]; n != nil {
		*n++
		return
	}
	if len(c.seen) == maxValues {
		c.Other++
		return
	}
	if c.seen == nil {
		c.seen = map[string]*int64{}
	}
	n := int64(1)
	c.seen[string([]byte(value))] = &n // not a part of a page that would stay in memory with it
}

// Top are the values by how often they were seen, at most n of them; rest is how
// often any other was.
func (c *Counts) Top(n int) (top []Count, rest int64) {
	for value, count := range c.seen {
		top = append(top, Count{value, *count})
	}
	slices.SortFunc(top, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	rest = c.Other
	if len(top) > n {
		for _, x := range top[n:] {
			rest += x.Count
		}
		top = top[:n]
	}
	return top, rest
}

// At is the time in an id.
func At(id broker.ID) time.Time { return time.UnixMilli(int64(id.Ms)).UTC() } //nolint:gosec // beyond any year it is a wrong year
