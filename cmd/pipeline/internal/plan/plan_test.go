package plan_test

import (
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/lang/diag"
	"pipeline/tests/redistest"
)

// Where groups would begin, and what that means for the entries there now.
func TestWhereGroupsBegin(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		p := s.plan("")
		wantErrors(t, p)
		for _, name := range []string{"newest", "oldest", "between"} {
			if g := group(t, p, name); g.Action != plan.Create || !g.Counted || g.Before != 0 || g.After != 0 {
				t.Errorf("on an absent stream: %+v", g)
			}
		}
		if st := stream(t, p, "in"); st.State != plan.Absent || st.Creates != "created with the group newest" {
			t.Errorf("%+v", st)
		}

		s.entries("in", 5)
		p = s.plan("")
		for _, c := range []struct {
			name          string
			at            broker.ID
			before, after int64
			counted       bool
		}{
			{"newest", broker.ID{Ms: 50}, 5, 0, true},
			{"oldest", broker.ID{}, 0, 5, true},
			{"between", broker.ID{Ms: 15}, 0, 0, false},
		} {
			g := group(t, p, c.name)
			if g.Action != plan.Create || g.At != c.at || g.Before != c.before || g.After != c.after || g.Counted != c.counted {
				t.Errorf("%s: %+v", c.name, g)
			}
		}
		if g := group(t, p, "off"); g.Action != plan.Idle || g.Exists {
			t.Errorf("a group that nobody reads: %+v", g)
		}
		if len(p.Subscriptions) != 3 {
			t.Errorf("%d subscriptions", len(p.Subscriptions))
		}
		claims := []plan.Claiming{plan.ClaimsAuto, plan.ClaimsAuto, plan.ClaimsNever}
		if s.Version != "7.0" {
			claims[0] = plan.ClaimsRead
		}
		for i, sub := range p.Subscriptions {
			if sub.Claims != claims[i] || sub.Refused {
				t.Errorf("%s: %+v", sub.Spec.Label, sub)
			}
		}
	})
}

// What exists is told with its state, and left alone.
func TestWhatExists(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.entries("in", 5)
		s.entries("out", 4)
		s.do("XGROUP", "CREATE", "in", "newest", "0")
		s.do("XREADGROUP", "GROUP", "newest", "c", "COUNT", "2", "STREAMS", "in", ">")
		s.do("XREADGROUP", "GROUP", "newest", "idler", "COUNT", "1", "STREAMS", "in", "0")
		p := s.plan("")
		wantErrors(t, p)
		g := group(t, p, "newest")
		if g.Action != plan.Keep || g.At != (broker.ID{Ms: 20}) || g.Info.Pending != 2 || g.Info.Lag != 3 || !g.Info.LagKnown || g.Consumers.Idle != 0 {
			t.Errorf("%+v", g)
		}
		if st := stream(t, p, "in"); st.State != plan.Exists || st.Info.Length != 5 || st.Trim.Over != 2 || !st.Trim.Protected || st.Trim.Expired {
			t.Errorf("%+v", st.Trim)
		}
		if st := stream(t, p, "out"); st.Trim.Over != 2 || st.Trim.Protected || !st.Trim.Expired || st.Trim.Age < 24*time.Hour {
			t.Errorf("%+v", st.Trim)
		}
		if st := stream(t, p, "in.dead"); st.State != plan.Absent || st.Creates != "created by its first entry" {
			t.Errorf("the default dead-letter stream: %+v", st)
		}
		if st := stream(t, p, "spare"); st.State != plan.Absent || st.Creates != "" || len(st.Uses) != 0 {
			t.Errorf("a stream that nothing uses: %+v", st)
		}
	})
}

// Groups that nobody declares, or whose subscriptions are disabled, hold back
// what retention protects.
func TestForeignGroups(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.entries("in", 5)
		s.entries("out", 2)
		for _, name := range []string{"audit", "off"} {
			s.do("XGROUP", "CREATE", "in", name, "0")
		}
		s.do("XREADGROUP", "GROUP", "audit", "c", "COUNT", "2", "STREAMS", "in", ">")
		s.do("XGROUP", "CREATE", "out", "reader", "$")
		p := s.plan("")
		wantErrors(t, p)
		if g := group(t, p, "audit"); g.Action != plan.Foreign || g.Spec != nil || g.Info.Pending != 2 || g.Info.Lag != 3 || g.Consumers.Count != 1 {
			t.Errorf("%+v", g)
		}
		q := says(t, p, plan.CodeForeign, "group audit on in is declared by no file", "2 pending", "3 not yet delivered", "XGROUP DESTROY", "protect")
		if q.Severity != diag.Warning || q.Range.Start.Line == 0 || !strings.HasSuffix(q.Range.File, "p.hcl") {
			t.Errorf("%+v", q)
		}
		if q := says(t, p, plan.CodeForeign, "group reader on out", "no consumer"); q.Severity != diag.Notice {
			t.Errorf("a group that holds nothing back: %+v", q)
		}
		if q := says(t, p, plan.CodeDisabled, "group off on in", "disabled"); q.Severity != diag.Warning {
			t.Errorf("%+v", q)
		}
	})
}

// A group that was lost is created at its floor.
func TestLostGroups(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.entries("in", 2)
		if _, err := plan.Apply(t.Context(), s.plan(""), s.as("")); err != nil {
			t.Fatal(err)
		}
		s.do("XADD", "in", "30-0", "f", "v")
		s.do("XGROUP", "DESTROY", "in", "newest")
		p := s.plan("")
		wantErrors(t, p)
		if g := group(t, p, "newest"); g.Action != plan.Restore || g.At != (broker.ID{Ms: 20}) {
			t.Errorf("%+v", g)
		}
		says(t, p, plan.CodeLost, "group newest on in was there before", "20-0")
		done, err := plan.Apply(t.Context(), p, s.as(""))
		if err != nil || done[0].Done != plan.Restore || done[0].At != (broker.ID{Ms: 20}) {
			t.Errorf("%+v, %v", done, err)
		}

		// With the stream itself, the floor means nothing.
		s.do("DEL", "in")
		s.do("XADD", "in", "1-0", "f", "v")
		if g := group(t, s.plan(""), "newest"); g.Action != plan.Restore || !g.At.IsZero() || g.After != 1 {
			t.Errorf("%+v", g)
		}
		s.do("SET", "{in}:pipeline:newest:floor", "nonsense")
		p = s.plan("")
		wantErrors(t, p, plan.CodeFloor)
		if p.Applies() {
			t.Error("a group whose floor cannot be read would be created")
		}
	})
}

// All wrong keys are told at once, each with what it holds.
func TestWrongTypes(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.do("SET", "in", "x")
		s.do("HSET", "out", "a", "b")
		s.do("RPUSH", "in.dead", "x")
		s.do("SADD", "spare", "x")
		p := s.plan("")
		wantErrors(t, p, plan.CodeWrongType)
		for _, words := range []string{"the key in holds a string", "the key out holds a hash", "the key in.dead holds a list"} {
			if q := says(t, p, plan.CodeWrongType, words); q.Severity != diag.Error || !q.Apply || q.Range.Start.Line == 0 {
				t.Errorf("%+v", q)
			}
		}
		if q := says(t, p, plan.CodeWrongType, "the key spare holds a set"); q.Severity != diag.Warning {
			t.Errorf("a key that nothing uses: %+v", q)
		}
		if g := group(t, p, "newest"); g.Action != plan.Refuse {
			t.Errorf("%+v", g)
		}
	})
}

// An old server is refused as run refuses it.
func TestUnsuitableServer(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.load(example, map[string]string{"redis_url": s.URL()})
		p := s.plan("")
		if s.Version != "7.0" {
			wantErrors(t, p)
			return
		}
		wantErrors(t, p, "claiming_read_unsupported")
		q := says(t, p, "claiming_read_unsupported", "post_payment", "8.4.0", "7.0.")
		if !q.Apply || q.Range.Start.Line == 0 || !p.Subscriptions[0].Refused || p.Subscriptions[1].Refused {
			t.Errorf("%+v", q)
		}
	})
}

// How the server is configured is judged where it may be asked.
func TestSettings(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		for _, c := range []struct {
			policy, memory string
			severity       diag.Severity
			words          string
		}{
			{"allkeys-lru", "100mb", diag.Warning, "removes streams with all their groups"},
			{"allkeys-random", "0", diag.Notice, "unbounded"},
			{"volatile-ttl", "100mb", diag.Warning, "leases"},
		} {
			s.do("CONFIG", "SET", "maxmemory-policy", c.policy, "maxmemory", c.memory)
			p := s.plan("")
			wantErrors(t, p)
			if q := says(t, p, plan.CodeEviction, c.policy, c.words, "noeviction"); q.Severity != c.severity {
				t.Errorf("%s: %+v", c.policy, q)
			}
		}
		s.do("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "100mb")
		p := s.plan("")
		says(t, p, plan.CodePersistence, "restart")
		if len(p.Problems) != 1 || p.Settings.MaxMemory != 100<<20 {
			t.Errorf("%v, %+v", p.Problems, p.Settings)
		}
		for _, on := range [][2]string{{"save", "3600 1"}, {"appendonly", "yes"}} {
			s.do("CONFIG", "SET", on[0], on[1])
			if p := s.plan(""); len(p.Problems) != 0 {
				t.Errorf("with %v: %v", on, p.Problems)
			}
		}
		s.user("blind", "on", "~*", "+@all", "-info", "-config")
		if p := s.plan("blind"); p.Settings.Known || len(p.Problems) != 0 || !slices.Equal(p.Rights.Lacking, []string{"info"}) {
			t.Errorf("%+v, %v, %v", p.Settings, p.Problems, p.Rights.Lacking)
		}
	})
}

// A server of a cluster is told from one that stands alone.
func TestUndeclaredCluster(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		p := s.plan("")
		wantErrors(t, p, plan.CodeCluster)
		says(t, p, plan.CodeCluster, "cluster = true")
	}, redistest.Config("cluster-enabled", "yes"))
}

// And a server that stands alone from one of a cluster.
func TestClusterThatIsNone(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.write(strings.Replace(file, "url = var.url", "url = var.url\n  cluster = true", 1))
		p := s.plan("")
		wantErrors(t, p, plan.CodeNoCluster)
		says(t, p, plan.CodeNoCluster, "Remove cluster = true")
	})
}

// In a cluster, what one step writes has to share a slot; else it is two steps,
// and the server may recognise what it has added before.
func TestClusterSlots(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.do("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
		for s.do("CLUSTER", "INFO").(string)[:len("cluster_state:ok")] != "cluster_state:ok" {
			continue
		}
		s.write(strings.Replace(file, "url = var.url", "url = var.url\n  cluster = true", 1))
		p := s.plan("")
		wantErrors(t, p)
		severity, words := diag.Warning, "written again"
		if s.Version != "7.0" {
			severity, words = diag.Notice, "adds it once"
		}
		says(t, p, diag.SlotsDiffer, "in and out", "Replies of a", words)
		says(t, p, diag.SlotsDiffer, "in and in.dead", "Dead letters", words)
		for _, q := range p.Problems {
			if q.Code == diag.SlotsDiffer && q.Severity != severity {
				t.Errorf("%v: want %v", q, severity)
			}
		}
		if rule := strings.Contains(strings.Join(p.Rights.Rule, " "), "+xcfgset"); rule != (s.Version != "7.0") {
			t.Errorf("the rule: %v", p.Rights.Rule)
		}
		if !p.Rights.Known || len(p.Rights.Denied) != 0 {
			t.Errorf("%+v", p.Rights)
		}
		tagged := strings.NewReplacer(`stream "in" {`, "stream \"in\" {\n  name = \"{x}in\"", `stream "out" {`, "stream \"out\" {\n  name = \"{x}out\"")
		s.write(tagged.Replace(strings.Replace(file, "url = var.url", "url = var.url\n  cluster = true", 1)))
		p = s.plan("")
		wantErrors(t, p)
		if _, err := plan.Apply(t.Context(), p, s.as("")); err != nil {
			t.Error(err)
		}
		if s.user("few", "on", "~*", "+@all", "-xack"); !slices.ContainsFunc(s.plan("few").Problems, func(q plan.Problem) bool { return q.Code == plan.CodeRights }) {
			t.Error("in a cluster a missing right is not found")
		}
	}, redistest.Config("cluster-enabled", "yes"))
}

// Without a server there is one error, soon, and it holds no secret.
func TestUnreachable(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.user("someone", "on", "~*", "+@all")
		reach := func(url string) *plan.Plan {
			t.Helper()
			s.spec.Broker.URL = url
			began := time.Now()
			p := s.plan("")
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if p.Reached || p.Complete || p.Applies() || len(p.Problems) != 1 || strings.Contains(p.Problems[0].Summary+p.Problems[0].Detail, "secret") {
				t.Errorf("%+v", p.Problems)
			}
			return p
		}
		wantErrors(t, reach("redis://someone:secret@127.0.0.1:1"), plan.CodeUnavailable)
		wantErrors(t, reach("redis://someone:secret@"+s.Addr), plan.CodeRefuses)
		s.do("CONFIG", "SET", "requirepass", "password")
		wantErrors(t, reach("redis://"+s.Addr), plan.CodeRefuses)

		deaf, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer deaf.Close()
		wantErrors(t, reach("redis://someone:secret@"+deaf.Addr().String()), plan.CodeUnavailable)
	})
}

// A replica takes no writes, so that run could only wait.
func TestReplica(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.do("REPLICAOF", "127.0.0.1", "1")
		wantErrors(t, s.plan(""), plan.CodeUnavailable)
	})
}

// A server that goes away midway leaves what was found.
func TestServerGoesAwayMidway(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		b := s.as("")
		p := plan.Collect(t.Context(), s.spec, &dying{Broker: b, stop: s.Stop}, clock.Real())
		wantErrors(t, p, plan.CodeUnavailable)
		if !p.Reached || p.Complete || p.Server.Version == "" || len(p.Streams) == 0 {
			t.Errorf("%+v", p)
		}
	})
}

// Nothing is written: not a key, not a consumer, not a counter of changes. The
// only commands run that could write are the trials of the broker's probe, on a
// key that is not there.
func TestNothingIsWritten(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.entries("in", 5)
		s.do("XGROUP", "CREATE", "in", "oldest", "0")
		s.do("XREADGROUP", "GROUP", "oldest", "c", "COUNT", "2", "STREAMS", "in", ">")
		s.do("XGROUP", "CREATE", "in", "foreign", "0")
		if err := s.as("").SaveFloor(t.Context(), "in", "newest"); err == nil {
			t.Fatal("a floor was saved for a group that is not there")
		}
		s.do("SET", "{in}:pipeline:newest:floor", "20-0")
		s.do("HSET", "{in}:pipeline:oldest:records", "10-0", "1 0 0 0 1 c x")
		dumps := func() map[string]string {
			all := map[string]string{}
			for _, key := range s.Client().Keys(t.Context(), "*").Val() {
				all[key] = s.Client().Dump(t.Context(), key).Val()
			}
			return all
		}
		changes := func() string {
			_, after, _ := strings.Cut(s.do("INFO", "persistence").(string), "rdb_changes_since_last_save:")
			n, _, _ := strings.Cut(after, "\r\n")
			return n
		}
		before, changed := dumps(), changes()
		s.do("CONFIG", "RESETSTAT")
		p := s.plan("")
		wantErrors(t, p)
		ran := s.do("INFO", "commandstats").(string)
		if after := dumps(); len(after) != 3 || !maps.Equal(before, after) {
			t.Errorf("keys were changed: %v", slices.Sorted(maps.Keys(after)))
		}
		if now := changes(); now != changed {
			t.Errorf("the server counts %s changes, before %s", now, changed)
		}
		writes := map[string]bool{}
		for _, name := range s.do("ACL", "CAT", "write").([]any) {
			writes[name.(string)] = true
		}
		if !writes["xadd"] || !writes["xgroup|create"] || writes["xinfo"] {
			t.Fatalf("the commands that write: %v", writes)
		}
		trials := map[string]bool{"xreadgroup": true, "xautoclaim": true, "xtrim": true, "xadd": true}
		for line := range strings.Lines(ran) {
			name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
			calls, _, _ := strings.Cut(strings.TrimPrefix(rest, "calls="), ",")
			if writes[name] && calls != "0" && (!trials[name] || calls != "1") {
				t.Errorf("%s was called %s times", name, calls)
			}
			if name == "eval" || name == "evalsha" {
				t.Errorf("a script was run: %s", line)
			}
		}
	})
}
