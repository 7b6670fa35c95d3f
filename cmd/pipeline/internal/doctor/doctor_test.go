package doctor_test

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/doctor"
	"pipeline/cmd/pipeline/internal/findings"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine/clock"
	"pipeline/lang/diag"
	"pipeline/tests/redistest"
)

// condition is a server that was made wrong in one way.
type condition struct {
	name string
	// options replace the one that makes a server well; wrong makes it ill, after the
	// group was created unless new.
	options []redistest.Option
	new     bool
	wrong   func(p *patient)
	// want are all codes that are found, in order of the alphabet; says is in the
	// first finding of the first of them, and command what is to be typed for it.
	want          []diag.Code
	says, command string
	severity      diag.Severity
	stops         bool
	// only is the version that has the condition.
	only string
}

func of(codes ...diag.Code) []diag.Code { return codes }

var conditions = []condition{
	{
		name: "eviction", options: []redistest.Option{saved, redistest.Config("maxmemory", "100mb"), redistest.Config("maxmemory-policy", "allkeys-lru")},
		want: of(plan.CodeEviction), says: "maxmemory-policy is allkeys-lru", command: "redis-cli CONFIG SET maxmemory-policy noeviction && redis-cli CONFIG REWRITE", severity: diag.Warning,
	},
	{
		name: "no persistence", options: []redistest.Option{},
		want: of(plan.CodePersistence), says: "persistence is off", command: "redis-cli CONFIG SET appendonly yes && redis-cli CONFIG REWRITE", severity: diag.Warning,
	},
	{
		name: "a failed snapshot", want: of(doctor.CodeSaving), says: "the last snapshot failed", command: "redis-cli INFO", severity: diag.Error,
		wrong: func(p *patient) {
			dir, err := p.Client().ConfigGet(p.t.Context(), "dir").Result()
			if err != nil {
				p.t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir["dir"], "dump.rdb"), 0o700); err != nil {
				p.t.Fatal(err)
			}
			p.do("BGSAVE")
			p.eventually("the snapshot has failed", func() bool { return strings.Contains(p.do("INFO").(string), "rdb_last_bgsave_status:err") })
		},
	},
	{
		name: "memory nearly full", want: of(doctor.CodeMemory), says: "of maxmemory", command: "redis-cli INFO", severity: diag.Warning,
		wrong: func(p *patient) {
			p.do("SETRANGE", "ballast", 50<<20, "x") // so that connections do not count
			p.do("CONFIG", "SET", "maxmemory", p.info("used_memory")*100/89)
		},
	},
	{
		name: "memory full", want: of(doctor.CodeMemory), says: "of maxmemory", severity: diag.Error, command: "redis-cli INFO",
		wrong: func(p *patient) {
			p.do("SETRANGE", "ballast", 50<<20, "x")
			p.do("CONFIG", "SET", "maxmemory", p.info("used_memory")*100/98)
		},
	},
	{
		name: "connections nearly full", want: of(doctor.CodeClients), says: "of 100 connections are taken", command: "redis-cli CLIENT LIST", severity: diag.Warning,
		wrong: func(p *patient) {
			p.do("CONFIG", "SET", "maxclients", 100)
			for range 86 {
				conn, err := net.Dial("tcp", p.Addr)
				if err != nil {
					p.t.Fatal(err)
				}
				p.t.Cleanup(func() { _ = conn.Close() })
			}
			p.eventually("all are connected", func() bool { return p.info("connected_clients") >= 86 })
		},
	},
	{
		name: "a clock ahead by seconds", want: of(doctor.CodeClock), says: "ahead of the server's", severity: diag.Warning, command: "timedatectl timesync-status",
		wrong: func(p *patient) { p.clock = clock.NewVirtual(time.Now().Add(30 * time.Second)) },
	},
	{
		name: "a clock behind by minutes", want: of(doctor.CodeClock), says: "behind the server's", severity: diag.Error, command: "timedatectl timesync-status",
		wrong: func(p *patient) { p.clock = clock.NewVirtual(time.Now().Add(-5 * time.Minute)) },
	},
	{
		name: "too few replicas", want: of(doctor.CodeFewReplicas), says: "0 replicas are well, and min-replicas-to-write demands 1", severity: diag.Error, stops: true,
		command: "redis-cli INFO", wrong: func(p *patient) { p.do("CONFIG", "SET", "min-replicas-to-write", 1) },
	},
	{
		name: "replicas that nobody waits for", want: of(doctor.CodeUnheeded), says: "1 replicas follow the server", severity: diag.Notice,
		command: "redis-cli CONFIG SET min-replicas-to-write 1 && redis-cli CONFIG REWRITE",
		wrong: func(p *patient) {
			replica := redistest.Start(p.t, p.Version)
			replica.Follow(p.Addr)
			p.eventually("the replica is online", func() bool { return strings.Contains(p.do("INFO").(string), "state=online") })
		},
	},
	{
		name: "a replica", want: of(doctor.CodeReplica), says: "the server is a replica", severity: diag.Error, stops: true, command: "redis-cli INFO",
		wrong: func(p *patient) {
			master := newPatient(p.t, redistest.Start(p.t, p.Version))
			master.apply()
			p.Follow(master.Addr)
			p.eventually("it has what the master has", func() bool { return p.do("EXISTS", "in").(int64) == 1 && p.info("master_sync_in_progress") == 0 })
		},
	},
	{
		name: "no group", new: true, want: of(findings.CodeGroupMissing), says: "the group g on in does not exist", command: "pipeline apply p.hcl", severity: diag.Error,
	},
	{
		name: "a group that was lost", want: of(plan.CodeLost, findings.CodeGroupMissing), says: "was there before and is gone", command: "pipeline apply p.hcl", severity: diag.Warning,
		wrong: func(p *patient) { p.do("XGROUP", "DESTROY", "in", "g") },
	},
	{
		name: "no position written down", new: true, want: of(doctor.CodeFloor), says: "for the group g on in", command: "pipeline run p.hcl", severity: diag.Warning,
		wrong: func(p *patient) { p.do("XGROUP", "CREATE", "in", "g", "$", "MKSTREAM") },
	},
	{
		name: "a consumer that is gone and holds", want: of(findings.CodeStale), says: "nobody is behind 1 consumer of the group g on in any more, which hold 2 entries",
		command: "pipeline consumers list p.hcl --group g --stale", severity: diag.Warning,
		wrong: func(p *patient) { p.stale = time.Nanosecond; p.given(2) },
	},
	{
		name: "a consumer that is gone", want: of(doctor.CodeAbandoned), says: "1 consumer of the group g on in", command: "pipeline consumers prune p.hcl --group g", severity: diag.Notice,
		wrong: func(p *patient) {
			p.stale = time.Nanosecond
			p.do("XGROUP", "CREATECONSUMER", "in", "g", "s-host-0.aaaa")
		},
	},
	{
		name: "an entry that comes again", want: of(findings.CodeRetried), says: "1 entry of the group g on in was delivered before", severity: diag.Warning,
		command: "pipeline pending list p.hcl --group g",
		wrong: func(p *patient) {
			p.given(1)
			pending := p.do("XPENDING", "in", "g", "-", "+", 1).([]any)[0].([]any)[0]
			p.do("XCLAIM", "in", "g", "s-host-0.aaaa", 0, pending)
		},
	},
	{
		name: "bodies that were trimmed", want: of(findings.CodeTrimGap), says: "1 pending entry", command: "pipeline pending list p.hcl --group g", severity: diag.Error,
		wrong: func(p *patient) { p.given(2); p.do("XTRIM", "in", "MAXLEN", 1) },
	},
	{
		name: "a lag that is not known", want: of(findings.CodeLagUnknown), says: "does not know the lag of the group g", severity: diag.Notice,
		wrong: func(p *patient) {
			p.given(1)
			id := p.do("XADD", "in", "*", "f", "v")
			p.do("XADD", "in", "*", "f", "v")
			p.do("XDEL", "in", id)
		},
	},
	{
		name: "another type", want: of(plan.CodeWrongType), says: "holds a string, not a stream", severity: diag.Error, stops: true,
		wrong: func(p *patient) { p.do("SET", "dead", "x") },
	},
	{
		name: "dead letters now", want: of(doctor.CodeGrowing), says: "dead holds 1 dead letter", command: "pipeline dlq stats p.hcl dead", severity: diag.Warning,
		wrong: func(p *patient) { p.do("XADD", "dead", "*", "f", "v") },
	},
	{
		name: "dead letters of old", want: of(findings.CodeLetters), says: "dead holds 1 dead letter", command: "pipeline dlq stats p.hcl dead", severity: diag.Notice,
		wrong: func(p *patient) { p.do("XADD", "dead", "1-1", "f", "v") },
	},
	{
		name: "nobody reads", want: of(findings.CodeUnattended), says: "nobody reads the group g on in: 1 entry wait", command: "pipeline run p.hcl", severity: diag.Error,
		wrong: func(p *patient) { p.do("XADD", "in", "*", "f", "v") },
	},
	{
		name: "a group of others", want: of(plan.CodeForeign), says: "group other on in is declared by no file", severity: diag.Notice,
		wrong: func(p *patient) { p.do("XGROUP", "CREATE", "in", "other", "$") },
	},
	{
		name: "a server that is too old", only: "7.0", want: of("claiming_read_unsupported"), says: "8.4.0", severity: diag.Error, stops: true,
		wrong: func(p *patient) { p.load("", `using = "read"`) },
	},
	{
		name: "no server", want: of(plan.CodeUnavailable), says: "connection refused", severity: diag.Error, stops: true, wrong: func(p *patient) { p.Stop() },
	},
}

// given has a consumer that is no longer there hold n entries.
func (p *patient) given(n int) {
	for range n {
		p.do("XADD", "in", "*", "f", "v")
	}
	p.do("XREADGROUP", "GROUP", "g", "s-host-0.aaaa", "COUNT", n, "STREAMS", "in", ">")
}

// A server that was made wrong in one way has that found, and nothing else; why it
// matters and what to do are told.
func TestWhatIsWrongIsFoundAndNothingElse(t *testing.T) {
	for _, version := range redistest.Versions {
		for _, c := range conditions {
			if c.only != "" && c.only != version {
				continue
			}
			t.Run(version+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				options := c.options
				if options == nil {
					options = []redistest.Option{saved}
				}
				p := newPatient(t, redistest.Start(t, version, options...))
				if !c.new {
					p.apply()
				}
				if c.wrong != nil {
					c.wrong(p)
				}
				found := p.examine()
				if got := codes(found); !slices.Equal(got, slices.Sorted(slices.Values(c.want))) {
					t.Fatalf("found are %v, want %v: %+v", got, c.want, found)
				}
				f := finding(t, found, c.want[0])
				if !strings.Contains(f.Found, c.says) || f.Command != c.command || f.Severity != c.severity || f.Stops != c.stops {
					t.Errorf("%+v, want it to say %q, %q", f, c.says, c.command)
				}
				for _, f := range found {
					if f.Why == "" || f.Do == "" {
						t.Errorf("%s says neither why nor what to do: %+v", f.Code, f)
					}
				}
			})
		}
	}
}

// A healthy server has nothing found, and the examination has changed nothing.
func TestNothingIsFoundWhereAllIsWell(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, redistest.Start(t, version, saved))
			p.apply()
			before := p.do("DEBUG", "DIGEST")
			if found := p.examine(); len(found) > 0 {
				t.Errorf("%+v", found)
			}
			if after := p.do("DEBUG", "DIGEST"); after != before {
				t.Errorf("the digest of the server was %v and is %v", before, after)
			}
		})
	}
}

// Each command and each key that a worker's login lacks is named, with the line that
// mends it: typed on the server, it does.
func TestALoginThatLacksRightsIsToldTheLineThatMends(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, redistest.Start(t, version, saved))
			p.apply()
			rule := plan.RulesOf(p.spec, p.features()).Worker
			lacking := slices.DeleteFunc(slices.Clone(rule), func(word string) bool { return word == "+xclaim" || word == "+zrem" || word == "~out" })
			if len(lacking) != len(rule)-3 {
				t.Fatalf("the rule is %q", rule)
			}
			p.setUser(lacking...)
			p.spec.Broker.URL, p.spec.Broker.Username, p.spec.Broker.Password = "redis://"+p.Addr, "worker", "pw"
			found := p.examine()
			if got, want := slices.Compact(codes(found)), of(plan.CodeRights, doctor.CodeUnknown); !slices.Equal(got, want) {
				t.Fatalf("found are %v: %+v", got, found)
			}
			if !doctor.Stops(found) {
				t.Error("run would go on without")
			}
			var lines []string
			for _, f := range found {
				if f.Code == plan.CodeRights {
					lines = append(lines, f.Command)
				}
			}
			if got := strings.Join(lines, "; "); got != "ACL SETUSER worker +xclaim +zrem; ACL SETUSER worker ~out" {
				t.Errorf("the lines are %s", got)
			}
			for _, line := range lines {
				p.do(anys(strings.Fields(line))...)
			}
			if got := codes(p.examine()); !slices.Equal(got, of(doctor.CodeUnknown)) {
				t.Errorf("after they were typed %v are found", got)
			}
			p.do(anys(strings.Fields(finding(t, p.examine(), doctor.CodeUnknown).Command))...)
			if found := p.examine(); len(found) > 0 {
				t.Errorf("and after the last one %+v", found)
			}
		})
	}
}

func (p *patient) setUser(rule ...string) {
	p.t.Helper()
	p.do(append([]any{"ACL", "SETUSER", "worker", "reset", ">pw"}, anys(rule)...)...)
}

func anys(words []string) []any {
	out := make([]any, len(words))
	for i := range words {
		out[i] = words[i]
	}
	return out
}

// In a cluster the streams of an atomic step share a slot, or it is told; and a file
// that does not say that it is one.
func TestACluster(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, redistest.StartCluster(t, version, 1, saved)[0])
			p.load("cluster = true", "")
			p.apply()
			found := p.examine()
			if got := slices.Compact(codes(found)); !slices.Equal(got, of(diag.SlotsDiffer)) {
				t.Fatalf("%v: %+v", got, found)
			}
			p.load("", "")
			found = p.examine()
			if f := finding(t, found, plan.CodeCluster); !f.Stops || f.Why == "" {
				t.Errorf("%+v", f)
			}
		})
	}
}

func validFor(d time.Duration) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = time.Now().Add(d) }
}

// A certificate that ends within two weeks is told, the server's and the own one.
func TestCertificatesThatEnd(t *testing.T) {
	const long, short = 60 * 24 * time.Hour, 3 * 24 * time.Hour
	for _, version := range redistest.Versions {
		for name, c := range map[string]struct {
			authority, server, client time.Duration
			says                      string
		}{
			"all last":        {long, long, long, ""},
			"the server's":    {long, short, long, "of the server, CN=server, is valid until"},
			"the authority's": {short, long, long, "of the server, CN=authority, is valid until"},
			"the client's":    {long, long, short, "that this side shows, CN=client, is valid until"},
		} {
			t.Run(version+"/"+name, func(t *testing.T) {
				t.Parallel()
				a := redistest.NewAuthority(t, "authority", validFor(c.authority))
				s := a.Issue("server", redistest.ForLoopback, validFor(c.server))
				client := a.Issue("client", validFor(c.client))
				p := newPatient(t, redistest.Start(t, version, saved, redistest.TLS(a, s)))
				p.load(fmt.Sprintf("tls {\n ca = %q\n cert = %q\n key = %q\n }", a.CA, client.Cert, client.Key), "")
				p.apply()
				found := p.examine()
				if c.says == "" {
					if len(found) > 0 {
						t.Errorf("%+v", found)
					}
					return
				}
				if got := codes(found); !slices.Equal(got, of(doctor.CodeCertificate)) || len(found) != 1 {
					t.Fatalf("%v: %+v", got, found)
				}
				if !strings.Contains(found[0].Found, c.says) {
					t.Errorf("%q does not say %q", found[0].Found, c.says)
				}
			})
		}
	}
}

// A login that only looks is not told of the rights that workers need, and is not seen
// to try them.
func TestALoginThatLooks(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, redistest.Start(t, version, saved))
			p.Record(t)
			p.apply()
			p.do("ACL", "SETUSER", "viewer", "on", ">v", "~*", "+hello", "+auth", "+ping", "+client|setname", "+time",
				"+xinfo|stream", "+xinfo|groups", "+xinfo|consumers", "+xpending", "+xrange", "+command|docs")
			p.load("username = \"viewer\"\n password = \"v\"", "")
			p.do("ACL", "LOG", "RESET")
			for looks, want := range map[bool]bool{true: false, false: true} {
				found := doctor.Run(t.Context(), p.spec, p.open(), clock.Real(), doctor.Options{Looks: looks})
				told := slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Code == plan.CodeRights || f.Code == plan.CodeRightsUnknown })
				if told != want || doctor.Stops(found) != want {
					t.Errorf("looks %v: %+v", looks, found)
				}
			}
		})
	}
}
