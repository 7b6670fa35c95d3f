package redistest

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Server is a Redis that one test may use. Its methods fail the test instead of returning errors.
type Server struct {
	Version string // as the test asked for it: "8.6"
	Addr    string // host:port
	DB      int    // the database that belongs to the test

	t       testing.TB
	process *process // nil for a user's own server
	shared  bool
	login   redis.Options // how to reach the server: address, user, password, TLS
	client  *redis.Client
	full    string // "Redis 8.6.3"
}

// Start starts a server that belongs to the test alone, without persistence and with debug commands unless
// the options say otherwise, and ends it with the test.
func Start(t testing.TB, version string, options ...Option) *Server {
	t.Helper()
	return startServer(t, version, newSettings(options))
}

func startServer(t testing.TB, version string, settings *settings) *Server {
	t.Helper()
	process, err := startProcess(ownLauncher(t, version), settings)
	if err != nil {
		t.Fatalf("start Redis %s: %v", version, err)
	}
	s := newServer(t, version, process)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of Redis %s at %s:\n%s", version, s.Addr, tail(process.log()))
		}
		if err := process.remove(); err != nil {
			t.Errorf("end Redis %s: %v", version, err)
		}
	})
	s.identify()
	Record(t, s.full)
	return s
}

// ownLauncher is the launcher of a server that the test may do anything with, or ends the test. A user's own
// server is not one; that he has named it is reason enough not to fail.
func ownLauncher(t testing.TB, version string) string {
	t.Helper()
	path := launcher("redis-server", version)
	if path == "" {
		if variable := addressVariable(version); os.Getenv(variable) != "" {
			t.Skipf("this test stops or configures its server, so it leaves the one in %s alone; `tests/servers.sh %s` fetches one",
				variable, version)
		}
		missing(t, version)
	}
	return path
}

func newServer(t testing.TB, version string, p *process) *Server {
	s := &Server{
		Version: version, Addr: p.address(), t: t, process: p,
		login: redis.Options{Addr: p.address(), Username: p.settings.username, Password: p.settings.password},
	}
	if p.settings.secure != nil {
		s.login.TLSConfig = p.settings.secure.config
	}
	return s
}

// identify asks the server what it is. A login that may not ask leaves the version that was asked for.
func (s *Server) identify() {
	s.full = "Redis " + s.Version
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	info, err := s.Client().Info(ctx, "server").Result()
	if err != nil {
		return
	}
	for _, product := range []string{"valkey", "redis"} {
		if _, after, found := strings.Cut(info, "\n"+product+"_version:"); found {
			number, _, _ := strings.Cut(after, "\r\n")
			s.full = strings.ToUpper(product[:1]) + product[1:] + " " + number
			return
		}
	}
}

// FullVersion is the server's product and version as it gives it: "Redis 8.6.3".
func (s *Server) FullVersion() string { return s.full }

// Record is [Record] for a subtest that uses this server.
func (s *Server) Record(t testing.TB) { Record(t, s.full) }

// answer is how long a command of a client that Options makes may take.
const answer = 30 * time.Second

// Options are what a go-redis client of this server and database needs. Retries are off, so that a test sees
// every error, and the deadline of a context ends a command; without one it has half a minute, since the
// machine may be busy.
func (s *Server) Options() *redis.Options {
	options := s.login
	options.DB = s.DB
	options.MaxRetries = -1
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = answer, answer, answer, answer
	options.ContextTimeoutEnabled = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &options
}

// Client is a client of the test's database, the same at every call, closed with the test.
func (s *Server) Client() *redis.Client {
	if s.client == nil {
		client := redis.NewClient(s.Options())
		s.client = client
		s.t.Cleanup(func() { _ = client.Close() })
	}
	return s.client
}

// URL is the address in the form that a broker block takes. It holds the password of the login.
func (s *Server) URL() string { return s.urlAt(s.Addr) }

// urlAt is the URL at an address that leads to the server.
func (s *Server) urlAt(address string) string {
	u := url.URL{Scheme: "redis", Host: address, Path: "/" + strconv.Itoa(s.DB)}
	if s.login.TLSConfig != nil {
		u.Scheme = "rediss"
	}
	if s.login.Username != "" || s.login.Password != "" {
		u.User = url.UserPassword(s.login.Username, s.login.Password)
	}
	return u.String()
}

// CLIPath is the path of a redis-cli for this server. Without one the test is skipped.
func (s *Server) CLIPath() string {
	s.t.Helper()
	if path := launcher("redis-cli", s.Version); path != "" {
		return path
	}
	path, err := exec.LookPath("redis-cli")
	if err != nil {
		s.t.Skip("no redis-cli on this machine; `make servers` fetches one")
	}
	return path
}

// CLI runs redis-cli with these arguments on the test's database and returns what it prints, without the
// last line break. An error reply fails the test, and so does a command that other tests would notice which
// share the server.
func (s *Server) CLI(arguments ...string) string {
	s.t.Helper()
	if reachesOthers(arguments) {
		s.own("redis-cli " + strings.Join(arguments, " "))
	}
	path := s.CLIPath()
	host, port, _ := strings.Cut(s.Addr, ":")
	base := []string{"-e", "-h", host, "-p", port, "-n", strconv.Itoa(s.DB)}
	if s.process != nil {
		base = append(base, s.process.settings.secure.cli()...)
	}
	if s.login.Username != "" {
		base = append(base, "--user", s.login.Username)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(base, arguments...)...)
	if s.login.Password != "" {
		cmd.Env = append(os.Environ(), "REDISCLI_AUTH="+s.login.Password)
	}
	output, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("redis-cli %s: %v: %s", strings.Join(arguments, " "), err, output)
	}
	return strings.TrimSuffix(string(output), "\n")
}

// reachesOthers reports whether a command does something to a whole server.
func reachesOthers(arguments []string) bool {
	command := strings.ToUpper(strings.Join(arguments, " ")) + " "
	for _, c := range []string{"FLUSHALL ", "CONFIG SET ", "ACL SETUSER ", "ACL DELUSER ", "SCRIPT FLUSH ", "SHUTDOWN ", "DEBUG "} {
		if strings.HasPrefix(command, c) {
			return true
		}
	}
	return false
}

// own is the server's process, if it is this test's to stop.
func (s *Server) own(operation string) *process {
	s.t.Helper()
	if s.process == nil || s.shared {
		s.t.Fatalf("%s: this server is not the test's own; use redistest.Start", operation)
	}
	return s.process
}

func (s *Server) check(operation string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s Redis %s: %v", operation, s.Version, err)
	}
}

// Stop ends the server in an orderly way: one with persistence writes its data. Its address stays reserved
// for [Server.Restart] as well as can be. Stopping a stopped server does nothing.
func (s *Server) Stop() {
	s.t.Helper()
	s.check("stop", s.own("stop").stop(syscall.SIGTERM))
}

// Kill ends the server at once, as kill -9 does. Killing a stopped server does nothing.
func (s *Server) Kill() {
	s.t.Helper()
	s.check("kill", s.own("kill").stop(syscall.SIGKILL))
}

// Restart stops the server if it runs and starts it again with the same address, folder and options, so that
// one with persistence has its data again and one without is empty.
func (s *Server) Restart() {
	s.t.Helper()
	p := s.own("restart")
	s.check("restart", p.stop(syscall.SIGTERM))
	s.check("restart", p.start())
}

// Pause freezes the server: connections stay open and nothing is answered, as with a half-open network.
func (s *Server) Pause() {
	s.t.Helper()
	s.check("pause", s.own("pause").signal(syscall.SIGSTOP))
}

// Resume lets a paused server go on.
func (s *Server) Resume() {
	s.t.Helper()
	s.check("resume", s.own("resume").signal(syscall.SIGCONT))
}

// Log is what the server has logged, all its starts together.
func (s *Server) Log() string {
	s.t.Helper()
	return string(s.own("read the log of").log())
}
