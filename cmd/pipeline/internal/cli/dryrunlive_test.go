package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"pipeline/cmd/pipeline/internal/live"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
	"pipeline/tests/redistest"
)

// liveServer is a server with entries, a group with a pending list, and a login
// that may only look at the stream.
func liveServer(t *testing.T, version string, entries int) *redistest.Server {
	t.Helper()
	s := redistest.Start(t, version)
	pipe := s.Client().Pipeline()
	for i := range entries {
		pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: "payments", ID: fmt.Sprint(i+1, "-0"), Values: []string{
			"_payload", fmt.Sprintf(`{"id":%d,"account":"acct-%d","amount_cents":%d}`, i, i%7, i*1000),
		}})
	}
	pipe.XGroupCreate(t.Context(), "payments", "ledger", "0")
	pipe.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: "ledger", Consumer: "worker", Count: 5, Streams: []string{"payments", ">"}})
	pipe.Do(t.Context(), "ACL", "SETUSER", "looks", "on", ">password", "-@all", "~payments", "+xrange", "+xlen", "+xinfo|stream")
	pipe.ConfigResetStat(t.Context())
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// ran are the commands that the server was sent since, refused ones too.
func ran(t *testing.T, s *redistest.Server) map[string]bool {
	t.Helper()
	commands := map[string]bool{}
	for line := range strings.Lines(s.Client().Info(t.Context(), "commandstats").Val()) {
		if name, ok := strings.CutPrefix(line, "cmdstat_"); ok {
			name, _, _ = strings.Cut(name, ":")
			commands[name] = true
		}
	}
	return commands
}

// monitor returns a function that ends MONITOR and returns the commands that it
// showed, by their first word, that of a connection's beginning left out.
func monitor(t *testing.T, s *redistest.Server) func() map[string]int {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(conn)
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil || !lines.Scan() || lines.Text() != "+OK" {
		t.Fatalf("monitor: %v, %q", err, lines.Text())
	}
	const end = "no more to watch"
	return func() map[string]int {
		defer conn.Close()
		s.Client().Echo(t.Context(), end)
		commands := map[string]int{}
		for lines.Scan() && !strings.Contains(lines.Text(), end) {
			_, command, _ := strings.Cut(lines.Text(), "] \"")
			command, _, _ = strings.Cut(command, "\"")
			commands[strings.ToLower(command)]++
		}
		if err := lines.Err(); err != nil {
			t.Error(err)
		}
		return commands
	}
}

// A login that may do nothing but look is enough, and only what looks is sent:
// by a dry-run, by a comparison, and where the range begins in the middle.
func TestALiveDryRunOnlyLooks(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			const entries = 2000
			s := liveServer(t, version, entries)
			before := s.Client().Dump(t.Context(), "payments").Val()
			path := filepath.Join(examples, "payments.hcl")
			watched := monitor(t, s)
			for _, args := range [][]string{
				{"dry-run", path, "--live", "--json"},
				{"dry-run", path, "--live", "--from", "500", "--sample", "1/2", "--count", "100"},
				{"dry-run", path, "--live", "--against", path},
			} {
				exit, out, errors := runMain(t, args, map[string]string{"REDIS_URL": "redis://looks:password@" + s.Addr})
				if exit != exitDone || errors != "" {
					t.Errorf("%q exits with %d: %s", args, exit, errors)
				}
				if n := strings.Count(out, `"event":"outcome"`); args[3] == "--json" && n != 2*entries {
					t.Errorf("%d outcomes of %d entries in two groups", n, entries)
				}
			}
			seen := watched()
			if seen["xrange"] < 6 || seen["xinfo"] < 3 {
				t.Errorf("MONITOR showed %v", seen)
			}
			for _, looks := range []string{"xinfo", "xrange", "client", "hello"} {
				delete(seen, looks)
			}
			if len(seen) > 0 {
				t.Errorf("MONITOR showed %v, too", seen)
			}
			commands := ran(t, s)
			for _, ours := range []string{"config|resetstat", "dump", "info", "monitor", "echo"} {
				delete(commands, ours) // the test's own
			}
			// What a connection begins with is the client's: who it is, and a name.
			for _, looks := range []string{"hello", "auth", "client|setname", "xinfo|stream", "xrange"} {
				delete(commands, looks)
			}
			if len(commands) > 0 {
				t.Errorf("the server was sent %q", slices.Sorted(maps.Keys(commands)))
			}
			if s.Client().Dump(t.Context(), "payments").Val() != before {
				t.Error("the stream, its groups or its consumers changed")
			}
			if n := s.Client().DBSize(t.Context()).Val(); n != 1 {
				t.Errorf("there are %d keys", n)
			}
		})
	}
}

// The ids of a comparison and of a dry-run are the real ones, in their order.
func TestALiveDryRunGivesEachEntryOnce(t *testing.T) {
	s := liveServer(t, "8.6", 1500)
	_, out, _ := runMain(t, []string{"dry-run", filepath.Join(examples, "payments.hcl"), "--live", "--json"},
		map[string]string{"REDIS_URL": s.URL()})
	var got []string
	for line := range strings.Lines(out) {
		if _, rest, found := strings.Cut(line, `"subscription":"screen_payment","id":"`); found {
			id, _, _ := strings.Cut(rest, `"`)
			got = append(got, id)
		}
	}
	for i, id := range got {
		if id != fmt.Sprint(i+1, "-0") {
			t.Fatalf("entry %d has the id %s", i+1, id)
		}
	}
	if len(got) != 1500 {
		t.Errorf("%d entries", len(got))
	}
}

// What the server says is told in the words of plan, with the same codes.
func TestServerProblems(t *testing.T) {
	stream := &spec.Stream{Name: "payments", Pos: spec.Pos{File: "p.hcl", Line: 3}}
	about := func(kind error, detail string) error {
		return &live.StreamError{Stream: stream, Err: &broker.Error{Op: "inspect", Stream: "payments", Kind: kind, Detail: detail}}
	}
	for name, c := range map[string]struct {
		err     error
		cluster bool
		want    string
	}{
		"wrong type": {about(broker.ErrWrongType, "WRONGTYPE x"), false, "error[server_wrong_type]: p.hcl:3: the key payments holds no stream"},
		"undeclared cluster": {
			about(broker.ErrUnavailable, "MOVED 1 127.0.0.1:2"), false,
			"error[cluster_undeclared]: the server is one of a cluster, and the broker block does not say so",
		},
		"declared cluster": {about(broker.ErrUnavailable, "MOVED 1 127.0.0.1:2"), true, "error[server_unavailable]: inspect payments: "},
		"away":             {about(broker.ErrUnavailable, "EOF"), false, "error[server_unavailable]: inspect payments: "},
		"login":            {about(broker.ErrAuth, "WRONGPASS"), false, "error[server_refuses]: inspect payments: "},
		"rights":           {about(broker.ErrNoPermission, "NOPERM"), false, "error[server_refuses]: inspect payments: "},
		"nonsense":         {about(nil, "unexpected reply"), false, "error[server_answer]: inspect payments: "},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{view: view.New(view.Options{Out: io.Discard, Err: &out})}
			err := a.serverProblem(t.Context(), nil, &spec.Pipeline{Broker: spec.Broker{Cluster: c.cluster}}, c.err)
			if failureOf(err).Exit != exitServer || !strings.HasPrefix(out.String(), c.want) {
				t.Errorf("exit %d: %s", failureOf(err).Exit, out.String())
			}
		})
	}
}

// Without times, two runs over the same entries print the same, from a file and
// from a server, as text and as JSON.
func TestWithoutTimesRunsAreTheSame(t *testing.T) {
	s := liveServer(t, "8.6", 300)
	path, input := filepath.Join(examples, "payments.hcl"), filepath.Join(examples, "payments.jsonl")
	for _, args := range [][]string{
		{"dry-run", path, "--input", input}, {"dry-run", path, "--input", input, "--json"},
		{"dry-run", path, "--live"}, {"dry-run", path, "--live", "--json"},
	} {
		outputs := map[string]int{}
		for range 5 {
			exit, out, errors := runMain(t, append(args, "--no-times"), map[string]string{"REDIS_URL": s.URL()})
			if exit != exitDone {
				t.Fatalf("%q exits with %d: %s", args, exit, errors)
			}
			outputs[out]++
		}
		for out := range outputs {
			if len(outputs) > 1 || !strings.Contains(out, "screen_payment") {
				t.Errorf("%q prints %d different texts, among them %.300s", args, len(outputs), out)
			}
		}
	}
}
