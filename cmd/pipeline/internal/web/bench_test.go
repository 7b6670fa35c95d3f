package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/poll"
)

// manyGroups is a pipeline of n groups with a subscription each.
func manyGroups(n int) string {
	var b strings.Builder
	b.WriteString("pipeline \"many\" {\n  language = 1\n}\nbroker \"redis\" {\n  url = \"URL\"\n}\nstream \"dead\" {}\nhandler \"h\" {\n  source = \"h.lua\"\n}\n")
	for i := range n / 2 {
		fmt.Fprintf(&b, "stream \"in%d\" {}\n", i)
	}
	for i := range n {
		fmt.Fprintf(&b, "group \"g%d\" {\n  stream = stream.in%d\n  dead_letter {\n    to = stream.dead\n  }\n  subscription \"s%d\" {\n"+
			"    handler = handler.h\n    claim {\n      min_idle = \"60s\"\n    }\n  }\n}\n", i, i/2, i)
	}
	return b.String()
}

// BenchmarkOverview is the first page of 200 subscriptions with an hour of history:
// after a look, and for all others who ask before the next one.
func BenchmarkOverview(b *testing.B) {
	w := &world{TB: b}
	w.load(manyGroups(200), "redis://127.0.0.1:1")
	w.on(memory.New(clock.Real(), memory.Options{}))
	for range int(poll.Kept / poll.Every) {
		w.poller.Once(b.Context())
	}
	render := func(b *testing.B) {
		recorder := httptest.NewRecorder()
		w.site.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "http://localhost/", http.NoBody))
		if recorder.Code != http.StatusOK {
			b.Fatal(recorder.Code)
		}
		b.ReportMetric(float64(recorder.Body.Len())/1024, "KiB/page")
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			w.poller.Once(b.Context())
			b.StartTimer()
			render(b)
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			render(b)
		}
	})
}
