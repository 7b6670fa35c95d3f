package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/doctor"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/clock"
	"pipeline/tests/redistest"
)

// The page of health has what doctor finds, each with what to do.
func TestHealthHasWhatTheDoctorFinds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		if err := s.Client().Set(t.Context(), "screened", "no stream", 0).Err(); err != nil {
			t.Fatal(err)
		}
		server, ok := w.broker.(doctor.Server)
		if !ok {
			t.Fatal("the server cannot be examined")
		}
		w.options.Examine = func(ctx context.Context) []view.Finding {
			return doctor.Run(ctx, w.pipeline, server, clock.Real(), doctor.Options{Command: w.options.Command})
		}
		w.open()
		w.page("/health", "Examined", "the group ledger on payments does not exist", "pipeline apply p.hcl", "group_missing", "keeps run from running",
			`action="/health/examine"`, "pipeline doctor p.hcl")
		var exam struct {
			Examined *time.Time `json:"examined_at"`
			Complete bool
			Findings []struct{ Code, Found, Do, Command string }
		}
		if err := json.Unmarshal([]byte(w.get("/api/doctor").text), &exam); err != nil {
			t.Fatal(err)
		}
		if exam.Examined == nil || !exam.Complete || len(exam.Findings) < 2 || exam.Findings[0].Found == "" {
			t.Errorf("%+v", exam)
		}
	})
}

// However many look, the server is examined once a minute, and by a page that keeps
// itself up to date never.
func TestTheServerIsExaminedSeldom(t *testing.T) {
	t.Parallel()
	w := inMemory(t)
	now := clock.NewVirtual(time.Unix(1_800_000_000, 0))
	var examined atomic.Int64
	w.options.Clock = now
	w.options.Examine = func(context.Context) []view.Finding {
		examined.Add(1)
		return []view.Finding{{Code: "x", Found: attack, Why: attack, Do: attack + " redis://u:hunter2@h/", Command: attack}}
	}
	w.open()
	times := func(want int64, what string) {
		t.Helper()
		if n := examined.Load(); n != want {
			t.Errorf("%s: examined %d times, want %d", what, n, want)
		}
	}
	refresh := func() string {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/health", http.NoBody)
		r.Header.Set("Pipeline-Refresh", "1")
		return w.send(r).text
	}
	w.holds("a page that keeps itself up to date", refresh(), "was not examined yet")
	times(0, "a page that keeps itself up to date")
	for range 20 {
		w.harmless("/health", w.page("/health", "&lt;script&gt;", "!hunter2"))
		w.harmless("/api/doctor", w.page("/api/doctor", "!hunter2"))
	}
	times(1, "many who look")
	now.Advance(9 * time.Second)
	if a := w.post("/health/examine", url.Values{}); a.status != http.StatusSeeOther || a.header.Get("Location") != "/health#exam" {
		t.Errorf("%d to %q", a.status, a.header.Get("Location"))
	}
	times(1, "asked for after nine seconds")
	now.Advance(time.Second)
	w.post("/health/examine", url.Values{})
	w.until("it is examined again", func() bool { return examined.Load() == 2 })
	w.until("that has ended", func() bool { return !strings.Contains(refresh(), "goes on") })
	now.Advance(59 * time.Second)
	w.page("/health", "59s ago")
	times(2, "an examination of 59 seconds ago")
	now.Advance(time.Second)
	refresh()
	times(2, "one that keeps itself up to date, a minute later")
	w.page("/health")
	times(3, "somebody who comes a minute later")
}

// An examination that takes long holds nobody up for long, and no second one begins.
func TestAnExaminationThatTakesLong(t *testing.T) {
	t.Parallel()
	w := inMemory(t)
	var examined atomic.Int64
	w.options.Examine = func(ctx context.Context) []view.Finding {
		examined.Add(1)
		<-ctx.Done()
		return nil
	}
	w.open()
	began := time.Now()
	w.page("/health", "is being examined")
	w.post("/health/examine", url.Values{})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	w.site.Close()
	if n := examined.Load(); n != 1 {
		t.Errorf("examined %d times", n)
	}
	w.page("/health", "not everything was looked at", "!Nothing is wrong with the server")
}
