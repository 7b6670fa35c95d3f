package batch

import (
	"slices"

	"pipeline/engine/broker"
)

// coming are entries that a read brought and that wait to be brought to the lanes,
// behind those of the read before it. They are held: renewed, counted and known. The
// zero coming is none.
type coming struct {
	ds []broker.Delivery
	// low and high are the first and the last of their ids.
	low, high broker.ID
	// lost are those whose lease is lost, or whose body is gone.
	lost []broker.ID
	// asked is how many entries of another read the server is asked about. They are
	// counted, no more: what comes of them is not known.
	asked int
}

// Expect holds what a read brought until Come is called. It may be called again
// only after that. The deliveries are not to be changed meanwhile.
func (h *Held) Expect(ds []broker.Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &h.coming
	c.ds, c.lost = ds, nil
	for i := range ds {
		if i == 0 {
			c.low = ds[i].ID
		}
		c.low, c.high = broker.Earlier(c.low, ds[i].ID), broker.Later(c.high, ds[i].ID)
	}
}

// Come ends what Expect began, and returns which of the entries were lost
// meanwhile. The others still count as read, until Came.
func (h *Held) Come() (lost []broker.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lost = h.coming.lost
	h.coming = coming{asked: len(h.coming.ds)}
	return lost
}

// Came ends what Come began: the entries have been added, or will not be.
func (h *Held) Came() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.coming.asked > 0 {
		h.coming.asked = 0
		h.tell()
	}
}

func (c *coming) contains(id broker.ID) bool {
	if len(c.ds) == 0 || id.Less(c.low) || c.high.Less(id) {
		return false
	}
	return slices.ContainsFunc(c.ds, func(d broker.Delivery) bool { return d.ID == id }) && !slices.Contains(c.lost, id)
}

// lose records that an entry is lost, and reports whether it is one of these.
func (c *coming) lose(id broker.ID) bool {
	found := c.contains(id)
	if found {
		c.lost = append(c.lost, id)
	}
	return found
}

// ids appends the ids of all that are not lost.
func (c *coming) ids(ids []broker.ID) []broker.ID {
	for i := range c.ds {
		if len(c.lost) == 0 || !slices.Contains(c.lost, c.ds[i].ID) {
			ids = append(ids, c.ds[i].ID)
		}
	}
	return ids
}
