package redis

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReplyTakesWhatTheClientReads: as much as the client says and no more,
// whatever its buffer holds and however small it is.
func TestReplyTakesWhatTheClientReads(t *testing.T) {
	text := strings.Repeat("payment\r\n\x00", 1000)
	for _, size := range []int{16, 100, 64 << 10} {
		for _, n := range []int64{0, 1, 15, 16, 17, 4000, int64(len(text))} {
			for _, room := range []int{0, 5, 1 << 20} {
				r := reply{room: room}
				from := bufio.NewReaderSize(iotest.HalfReader(strings.NewReader(text)), size)
				taken, err := io.CopyN(&r, from, n)
				rest, _ := io.ReadAll(from)
				if err != nil || taken != n || r.text.String() != text[:n] || string(rest) != text[n:] {
					t.Fatalf("buffer %d, %d bytes, room for %d: %d, %v", size, n, room, taken, err)
				}
			}
		}
	}
}

// TestReplyThatBreaksOff: a connection that ends within a string is an error,
// with what came until then.
func TestReplyThatBreaksOff(t *testing.T) {
	cut := errors.New("connection reset")
	for want, end := range map[error]error{io.EOF: io.EOF, cut: cut} {
		var r reply
		from := bufio.NewReader(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(end)))
		if n, err := io.CopyN(&r, from, 100); n != 4 || !errors.Is(err, want) || r.text.String() != "half" {
			t.Errorf("%v: %d, %v", end, n, err)
		}
	}
}

// TestReplyFromAnotherReader: a client that buffers otherwise is read all the
// same.
func TestReplyFromAnotherReader(t *testing.T) {
	var r reply
	if n, err := io.CopyN(&r, strings.NewReader("payment"), 3); n != 3 || err != nil || r.text.String() != "pay" {
		t.Errorf("%d, %v, %q", n, err, r.text.String())
	}
}

// TestAReplyWithNothingInItTakesNoRoom: it comes between large ones where entries
// are claimed, and all the time where nothing happens.
func TestAReplyWithNothingInItTakesNoRoom(t *testing.T) {
	for _, nothing := range []string{"_\r\n", "*-1\r\n", "$-1\r\n"} {
		r := reply{room: 1 << 20}
		if _, err := r.Write([]byte(nothing)); err != nil || r.text.Cap() > 64 {
			t.Errorf("%q takes %d bytes, %v", nothing, r.text.Cap(), err)
		}
	}
}

// TestRoomFadesWithSmallReplies: what was large stays expected for some replies,
// and not for good.
func TestRoomFadesWithSmallReplies(t *testing.T) {
	room := roomAfter(0, 320_000)
	if room < 320_000 {
		t.Fatalf("room for %d after a reply of 320,000", room)
	}
	if after := roomAfter(room, 5); after < room/2 {
		t.Errorf("room for %d after one small reply", after)
	}
	for range 40 {
		room = roomAfter(room, 300)
	}
	if room > 1000 {
		t.Errorf("room for %d after many small replies", room)
	}
}

// TestAReplyThatIsLargerThanExpectedLeavesLittleBehind: what was too small is
// garbage, and all of it together is no more than what the reply lies in.
func TestAReplyThatIsLargerThanExpectedLeavesLittleBehind(t *testing.T) {
	const room, part = 64 << 10, 4 << 10
	r := reply{room: room}
	made, last := 0, 0
	for r.text.Len() < 16*room {
		if _, err := r.Write(make([]byte, part)); err != nil {
			t.Fatal(err)
		}
		if c := r.text.Cap(); c != last {
			made, last = made+c, c
		}
	}
	if left := made - last; left > last || last > 3*r.text.Len() {
		t.Errorf("a reply of %d bytes lies in %d, and %d are left behind", r.text.Len(), last, left)
	}
}
