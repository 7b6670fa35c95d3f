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
