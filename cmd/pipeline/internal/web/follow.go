package web

import (
	"fmt"
	"net/http"
	"time"
)

// patientWrite is how long somebody who is followed may take to read an event.
const patientWrite = 10 * time.Second

// follow tells a page, by server-sent events, that the poller has looked again. The
// page then asks for itself anew, which comes from what was found.
func (s *Site) follow(w http.ResponseWriter, r *http.Request) {
	select {
	case s.following <- struct{}{}:
		defer func() { <-s.following }()
	default:
		http.Error(w, "too many pages are kept up to date", http.StatusServiceUnavailable)
		return
	}
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	write := func(text string) bool {
		_ = control.SetWriteDeadline(s.Clock.Now().Add(patientWrite)) // a test's recorder has none
		_, err := fmt.Fprint(w, text)
		ok := err == nil && control.Flush() == nil
		_ = control.SetWriteDeadline(time.Time{}) // HTTP/2 ends a stream then whether or not something is written
		return ok
	}
	changed := s.Poller.Changed()
	for going := write("retry: 3000\n\n"); going; {
		select {
		case <-changed:
			changed = s.Poller.Changed()
			going = write(fmt.Sprintf("event: look\ndata: %d\n\n", s.Poller.Latest().Asked.UnixMilli()))
		case <-r.Context().Done():
			return
		}
	}
}
