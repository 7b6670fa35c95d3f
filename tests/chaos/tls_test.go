package chaos

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
	"pipeline/tests/redistest"
)

// secureFile is a pipeline whose handler does what a payment says. Its streams share
// a slot, so that it is the same in a cluster.
const secureFile = `
pipeline "secure" {
  language = 1
}
broker "redis" {
%s
}
stream "payments" {
  name  = "{payments}"
  entry = object({ id = number, does = string })
}
stream "screened" {
  name = "{payments}.screened"
}
stream "dead" {
  name = "{payments}.dead"
}
handler "h" {
  source = "h.lua"
}
retry "quick" {
  max_attempts = 3
  delay        = "50ms"
  max_delay    = "50ms"
}
group "ledger" {
  stream = stream.payments
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "post" {
    handler = handler.h
    retry   = retry.quick
    block   = "200ms"
    claim {
      min_idle = "1s"
    }
    reply {
      to = stream.screened
    }
  }
}
`

const secureScript = `
function handle(e, ctx)
  if e.does == "ack" then return ack() end
  if e.does == "drop" then return drop("not wanted") end
  if e.does == "dead" then return dead("stolen card") end
  if e.does == "fail" then error("boom") end
  if e.does == "retry" and ctx.deliveries == 0 then return retry() end
  if e.does == "after" and ctx.deliveries == 0 then return retry({ after = "100ms" }) end
  return { id = e.id }
end
`

// outcomesOfPayments is what payments say, in the order of their ids, and what the
// process says at its end that it has settled.
var outcomesOfPayments = []string{"ack", "drop", "dead", "fail", "retry", "after", "reply", "reply"}

const outcomesTold = `"settled":{"ack":1,"reply":4,"retry":2,"drop":1,"dead":1,"failed":3}`

// secured is a worker by TLS and the certificates that it knows of.
type secured struct {
	t       *testing.T
	version string
	ca      *redistest.Authority
	// server and worker are what these show.
	server, worker redistest.Certificate
}

func newSecured(t *testing.T, version string) *secured {
	t.Helper()
	ca := redistest.NewAuthority(t, "ca")
	return &secured{t: t, version: version, ca: ca, server: ca.Issue("redis.test", redistest.ForLoopback), worker: ca.Issue("worker")}
}

// options are those of a server whose data outlives a restart.
func (s *secured) options() []redistest.Option {
	return []redistest.Option{redistest.TLS(s.ca, s.server), redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always")}
}

// block is a tls block with the worker's certificate, and more.
func (s *secured) block(more string) string {
	return fmt.Sprintf("tls {\n ca = %q\n cert = %q\n key = %q\n %s\n}\n", s.ca.CA, s.worker.Cert, s.worker.Key, more)
}

// file writes the pipeline with the content of its broker block.
func (s *secured) file(content string) string {
	s.t.Helper()
	dir := folder(s.t, map[string]string{"secure.hcl": fmt.Sprintf(secureFile, content), "h.lua": secureScript})
	return filepath.Join(dir, "secure.hcl")
}

// run starts a worker, whose output must never hold the key.
func (s *secured) run(file string) *process {
	s.t.Helper()
	p := command(s.t, "run", file, "--log-level", "debug")
	s.t.Cleanup(func() {
		noKey(s.t, s.worker.Key, p.output())
		if strings.Contains(p.output(), s.worker.Key) {
			s.t.Errorf("the path of the key is in the log:\n%s", p.output())
		}
	})
	return p
}

// noKey expects that output has no line of a key.
func noKey(t *testing.T, path, output string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if len(line) > 8 && !strings.Contains(line, "-----") && strings.Contains(output, line) {
			t.Errorf("a line of the key is in the output:\n%s", output)
		}
	}
}

// put adds payments that say something.
func put(t *testing.T, s *redistest.Server, first int, does ...string) {
	t.Helper()
	client := goredis.NewClient(s.Options()) // of its own: what idles in a pool does not outlive a restart
	defer func() { _ = client.Close() }()
	pipe := client.Pipeline()
	for i, what := range does {
		pipe.Do(t.Context(), "XADD", "{payments}", "*", "id", first+i, "does", what)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// allDone waits until the group has settled all that its stream holds.
func allDone(t *testing.T, s *redistest.Server, p *process) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Log(p.output())
		}
	}()
	eventually(t, "all payments are settled", func() bool {
		info, err := s.Client().XInfoStream(t.Context(), "{payments}").Result()
		groups, err2 := s.Client().XInfoGroups(t.Context(), "{payments}").Result()
		return err == nil && err2 == nil && len(groups) == 1 && groups[0].Pending == 0 && groups[0].LastDeliveredID == info.LastGeneratedID
	})
}

// end drains the worker.
func end(p *process) {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.left()
}

// expectOutcomes is what stands on the server after outcomesOfPayments.
func expectOutcomes(t *testing.T, s *redistest.Server, p *process) {
	t.Helper()
	var replies, letters []string
	each(t, s, "{payments}.screened", func(v map[string]any) { replies = append(replies, fmt.Sprint(v["_payload"])) })
	each(t, s, "{payments}.dead", func(v map[string]any) { letters = append(letters, fmt.Sprint(v["id"], " ", v["h:dead-letter-reason"])) })
	slices.Sort(replies)
	slices.Sort(letters)
	if want := []string{`{"id":4}`, `{"id":5}`, `{"id":6}`, `{"id":7}`}; !slices.Equal(replies, want) {
		t.Errorf("replies %q, want %q", replies, want)
	}
	if want := []string{"2 rejected", "3 failed"}; !slices.Equal(letters, want) {
		t.Errorf("dead letters %q, want %q", letters, want)
	}
	if !strings.Contains(p.output(), outcomesTold) {
		t.Errorf("want %s:\n%s", outcomesTold, p.output())
	}
}

// eachSecured runs a test on each version.
func eachSecured(t *testing.T, test func(s *secured)) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(newSecured(t, version))
		})
	}
}

// A server that speaks nothing but TLS and asks for client certificates: every
// outcome. Then it gets another certificate of its authority while payments are under
// way.
func TestPaymentsByTLS(t *testing.T) {
	eachSecured(t, func(s *secured) {
		t := s.t
		server := redistest.Start(t, s.version, s.options()...)
		p := s.run(s.file(fmt.Sprintf("url = %q\n%s", "rediss://"+server.Addr, s.block(""))))
		put(t, server, 0, outcomesOfPayments...)
		allDone(t, server, p)
		end(p)
		expectOutcomes(t, server, p)

		before := s.shown(server)
		p = s.run(s.file(fmt.Sprintf("url = %q\n%s", "redis://"+server.Addr, s.block(`server_name = "redis.test"`))))
		put(t, server, 100, slices.Repeat([]string{"reply"}, 3000)...)
		eventually(t, "some are answered", func() bool { return server.Client().XLen(t.Context(), "{payments}.screened").Val() > 4 })
		s.server = s.ca.Issue("redis.test") // and no more for 127.0.0.1: the name alone may do
		server.Restart()
		eventually(t, "the server answers the test", func() bool { return server.Client().Ping(t.Context()).Err() == nil })
		put(t, server, 3100, slices.Repeat([]string{"reply"}, 100)...)
		allDone(t, server, p)
		end(p)
		if s.shown(server) == before {
			t.Error("the server shows the certificate it had")
		}
		if n := strings.Count(p.output(), `"event":"redis.lost"`); n != 1 {
			t.Errorf("the restart is told %d times:\n%s", n, p.output())
		}
		seen := map[string]int{}
		each(t, server, "{payments}.screened", func(v map[string]any) { seen[fmt.Sprint(v["_payload"])]++ })
		for id := 100; id < 3200; id++ {
			if times := seen[fmt.Sprintf(`{"id":%d}`, id)]; times != 1 {
				t.Errorf("payment %d has %d replies", id, times)
			}
		}
	})
}

// shown is the serial number of the certificate that a server shows.
func (s *secured) shown(server *redistest.Server) string {
	s.t.Helper()
	conn, err := tls.Dial("tcp", server.Addr, server.Options().TLSConfig)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// A cluster whose servers speak TLS among themselves too, and the worker with
// whichever has the slot.
func TestPaymentsInAClusterByTLS(t *testing.T) {
	eachSecured(t, func(s *secured) {
		t := s.t
		nodes := redistest.StartCluster(t, s.version, 3, s.options()...)
		at := broker.Slot("{payments}") * len(nodes) / 16384
		owner, other := nodes[at], nodes[(at+1)%len(nodes)]
		p := s.run(s.file(fmt.Sprintf("url = %q\ncluster = true\n%s", "rediss://"+other.Addr, s.block(""))))
		put(t, owner, 0, outcomesOfPayments...)
		allDone(t, owner, p)
		end(p)
		expectOutcomes(t, owner, p)
	})
}

// Sentinels and servers have certificates for different names: each is checked by the
// tls block that is for it, before and after a failover.
func TestPaymentsThroughSentinelsByTLS(t *testing.T) {
	eachSecured(t, func(s *secured) {
		t := s.t
		s.server = s.ca.Issue("redis.test") // not for its address
		start := func() *redistest.Server {
			return redistest.Start(t, s.version, append(s.options(), redistest.Config("repl-diskless-sync-delay", "0"))...)
		}
		primary, replica := start(), start()
		replica.Follow(primary.Addr)
		sentinel := redistest.StartSentinel(t, primary, "payments", 1, redistest.TLS(s.ca, s.ca.Issue("sentinel.test")))
		eventually(t, "the sentinel knows the replica", func() bool {
			replicas, err := sentinel.Client().Do(t.Context(), "SENTINEL", "REPLICAS", "payments").Slice()
			return err == nil && len(replicas) == 1 && strings.Contains(fmt.Sprint(replicas[0]), "master-link-status:ok")
		})
		block := "url = \"rediss://nobody.invalid:1\"\n" + s.block(`server_name = "redis.test"`) + "sentinel {\n master = \"payments\"\n addresses = [%q]\n %s }"
		p := s.run(s.file(fmt.Sprintf(block, sentinel.Addr, s.block(`server_name = "sentinel.test"`))))
		put(t, primary, 0, outcomesOfPayments[:4]...)
		allDone(t, primary, p)
		primary.Replicated()
		primary.Kill()
		eventually(t, "the replica is promoted", func() bool {
			return strings.Contains(replica.Client().Info(t.Context(), "replication").Val(), "role:master")
		})
		put(t, replica, 4, outcomesOfPayments[4:]...)
		allDone(t, replica, p)
		end(p)
		expectOutcomes(t, replica, p)

		// With the blocks in each other's place neither is reached.
		p = s.run(s.file(fmt.Sprintf(block, sentinel.Addr, s.block(`server_name = "redis.test"`))))
		s.told(p, sentinel.Addr, "sentinel.test, not redis.test", "set server_name in the tls block of sentinel")
	})
}

// told waits until a worker tells that its server is away, for a reason, and goes on
// waiting.
func (s *secured) told(p *process, words ...string) {
	s.t.Helper()
	eventually(s.t, "it is told that the server is away", func() bool { return strings.Contains(p.output(), `"event":"redis.lost"`) })
	for _, word := range words {
		if !strings.Contains(p.output(), word) {
			s.t.Errorf("want %q in:\n%s", word, p.output())
		}
	}
	select {
	case <-p.done:
		s.t.Errorf("the worker does not wait:\n%s", p.output())
	default:
	}
}

// What keeps a connection by TLS from being made is named with the server and what to
// set: plan ends with it, a worker waits until it is mended.
func TestWhatIsWrongWithTLSIsNamedAndWaitedFor(t *testing.T) {
	for _, c := range []struct {
		name string
		// shows has the server show something that is not right; what is issued anew
		// for it mends that.
		shows func(s *secured)
		// block is the worker's; nil for one that is right.
		block func(s *secured) string
		// mend is done instead of a restart with a certificate that is right.
		mend  func(s *secured, server *redistest.Server)
		wants []string
	}{
		{
			name: "an authority that is not known",
			shows: func(s *secured) {
				s.replace(redistest.NewAuthority(s.t, "other").Issue("redis.test", redistest.ForLoopback))
			},
			wants: []string{"x509: certificate signed by unknown authority", "set ca in the tls block"},
		},
		{
			name:  "an expired certificate",
			shows: func(s *secured) { s.ca.Issue("redis.test", redistest.ForLoopback, redistest.Expired) },
			wants: []string{"x509: certificate has expired", "give the server a certificate that is valid now"},
		},
		{
			name:  "a certificate of another name",
			shows: func(s *secured) { s.ca.Issue("redis.test") },
			wants: []string{"cannot validate certificate for 127.0.0.1", "set server_name in the tls block"},
		},
		{
			name:  "no client certificate",
			block: func(s *secured) string { return fmt.Sprintf("tls {\n ca = %q\n}", s.ca.CA) },
			mend: func(s *secured, server *redistest.Server) {
				if err := server.Client().ConfigSet(s.t.Context(), "tls-auth-clients", "no").Err(); err != nil {
					s.t.Fatal(err)
				}
			},
			wants: []string{"set cert and key in the tls block"},
		},
		{
			name:  "an expired client certificate",
			shows: func(s *secured) { s.ca.Issue("worker", redistest.Expired) },
			mend:  func(s *secured, _ *redistest.Server) { s.ca.Issue("worker") }, // and nothing is started again
			wants: []string{"expired certificate", "the server refuses the client certificate"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachSecured(t, func(s *secured) {
				if c.shows != nil {
					c.shows(s)
				}
				server := redistest.Start(s.t, s.version, s.options()...)
				block := s.block("")
				if c.block != nil {
					block = c.block(s)
				}
				file := s.file(fmt.Sprintf("url = %q\n%s", "rediss://"+server.Addr, block))
				wants := append([]string{"connect to " + server.Addr}, c.wants...)
				p := command(s.t, "plan", file)
				if code := p.exit(); code != 4 {
					s.t.Errorf("plan ends with %d, want 4", code)
				}
				for _, want := range append(wants, "error[server_unavailable]") {
					if !strings.Contains(p.output(), want) {
						s.t.Errorf("plan does not say %q:\n%s", want, p.output())
					}
				}
				p = s.run(file)
				s.told(p, wants...)
				if c.mend != nil {
					c.mend(s, server)
				} else {
					s.ca.Issue("redis.test", redistest.ForLoopback)
					server.Restart()
				}
				eventually(s.t, "the server answers the test", func() bool { return server.Client().Ping(s.t.Context()).Err() == nil })
				put(s.t, server, 0, "reply")
				allDone(s.t, server, p)
				end(p)
			})
		})
	}
}

// replace puts a certificate in the files of the server's.
func (s *secured) replace(with redistest.Certificate) {
	s.t.Helper()
	for from, to := range map[string]string{with.Cert: s.server.Cert, with.Key: s.server.Key} {
		text, err := os.ReadFile(from)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}
