package redis

import (
	"time"
	"unsafe"

	"pipeline/engine/broker"
)

// immutable turns a reply into a string without copying it. The buffer was
// made for this one reply by the client's raw command, which is dropped: nobody
// writes to it again.
func immutable(reply []byte) string {
	return unsafe.String(unsafe.SliceData(reply), len(reply))
}

// smallestField is the fewest bytes that a field takes in a reply: two empty
// strings.
const smallestField = 2 * len("$0\r\n\r\n")

// readGroupReply reads the reply of an XREADGROUP of one stream.
func readGroupReply(reply string) ([]broker.Delivery, error) {
	c := cursor{text: reply}
	n, err := c.array()
	if err != nil || n <= 0 {
		return nil, err
	}
	// RESP2: one array of stream and entries. RESP3: a map.
	if reply[0] != '%' {
		if n, err = c.array(); err != nil {
			return nil, err
		}
	}
	if n != 2 {
		return nil, c.fail("stream with its entries")
	}
	if _, _, err := c.bulk(); err != nil {
		return nil, err
	}
	return readDeliveries(&c)
}

// readDeliveries reads an array of entries [id, fields] or, from a claiming
// read, [id, fields, idle, deliveries]. An entry whose body is gone comes as
// nil, or with nil instead of fields, and is left out.
func readDeliveries(c *cursor) ([]broker.Delivery, error) {
	n, err := c.array()
	if err != nil || n <= 0 {
		return nil, err
	}
	out := make([]broker.Delivery, 0, n)
	var slab []broker.Field
	for i := range n {
		parts, err := c.array()
		if err != nil {
			return nil, err
		}
		if parts < 0 {
			continue
		}
		if parts != 2 && parts != 4 {
			return nil, c.fail("entry")
		}
		var d broker.Delivery
		if d.ID, err = c.id(); err != nil {
			return nil, err
		}
		var present bool
		if d.Fields, slab, present, err = c.fields(slab, n-i); err != nil {
			return nil, err
		}
		if parts == 4 {
			if err := c.claimed(&d); err != nil {
				return nil, err
			}
		}
		if present {
			out = append(out, d)
		}
	}
	return out, nil
}

// claimed reads what a claiming read adds to an entry.
func (c *cursor) claimed(d *broker.Delivery) error {
	idle, err := c.integer()
	if err != nil {
		return err
	}
	d.Idle = time.Duration(idle) * time.Millisecond
	d.Deliveries, err = c.integer()
	return err
}

// fields reads the fields of an entry into the slab, which it makes when it is
// used up: room for the entries that are left, were they all like this one,
// but never more than the bytes that are left can hold.
func (c *cursor) fields(slab []broker.Field, entries int) (_, rest []broker.Field, present bool, err error) {
	n, err := c.array()
	if err != nil || n < 0 {
		return nil, slab, false, err
	}
	if n%2 != 0 {
		return nil, slab, false, c.fail("pair of name and value")
	}
	n /= 2
	if n > len(slab) {
		room := c.left() / smallestField
		if n > room {
			return nil, slab, false, c.fail("room for the fields")
		}
		if n <= room/entries { // entries*n <= room, without overflow
			room = entries * n
		}
		slab = make([]broker.Field, room)
	}
	fields := slab[:n:n]
	for i := range fields {
		if fields[i].Name, _, err = c.bulk(); err != nil {
			return nil, slab, false, err
		}
		if fields[i].Value, _, err = c.bulk(); err != nil {
			return nil, slab, false, err
		}
	}
	return fields, slab[n:], true, nil
}

// id reads an entry id.
func (c *cursor) id() (broker.ID, error) {
	s, present, err := c.bulk()
	if err != nil {
		return broker.ID{}, err
	}
	if !present {
		return broker.ID{}, c.fail("entry id")
	}
	id, ok := parseID(s)
	if !ok {
		return broker.ID{}, c.fail("entry id")
	}
	return id, nil
}

// parseID reads an id in the form in which a server writes it. Times have 13
// digits and sequence numbers few, so that overflow is left to the slow way.
func parseID(s string) (broker.ID, bool) {
	var parts [2]uint64
	part, digits := 0, 0
	for i := range len(s) {
		d := s[i] - '0'
		switch {
		case d <= 9 && digits < 19:
			parts[part] = parts[part]*10 + uint64(d)
			digits++
		case s[i] == '-' && part == 0 && digits > 0:
			part, digits = 1, 0
		default:
			id, err := broker.ParseID(s)
			return id, err == nil
		}
	}
	return broker.ID{Ms: parts[0], Seq: parts[1]}, digits > 0
}
