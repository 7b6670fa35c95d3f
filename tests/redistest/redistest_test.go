package redistest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func eachVersion(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

func TestStartGivesTheVersionAskedFor(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		s := Start(t, version)
		if !strings.HasPrefix(s.FullVersion(), "Redis "+version+".") {
			t.Errorf("asked for %s, got %s", version, s.FullVersion())
		}
		if got := s.CLI("PING"); got != "PONG" {
			t.Errorf("redis-cli PING printed %q", got)
		}
		options, err := redis.ParseURL(s.URL())
		if err != nil || options.Addr != s.Addr || options.DB != s.DB {
			t.Errorf("URL %s does not lead to %s/%d: %v", s.URL(), s.Addr, s.DB, err)
		}
	})
}

func TestPersistenceDecidesWhatARestartKeeps(t *testing.T) {
	tests := map[string]struct {
		options []Option
		end     func(*Server)
		kept    bool
	}{
		"nothing by default":        {nil, (*Server).Stop, false},
		"all with appendonly":       {[]Option{Config("appendonly", "yes")}, (*Server).Stop, true},
		"all after a kill, as well": {[]Option{Config("appendonly", "yes")}, (*Server).Kill, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, "8.6", test.options...)
			address := s.Addr
			s.CLI("SET", "k", "v")
			test.end(s)
			if connection, err := net.Dial("tcp", s.Addr); err == nil {
				_ = connection.Close()
				t.Fatal("the stopped server still takes connections")
			}
			s.Restart()
			if s.Addr != address {
				t.Errorf("restart moved the server from %s to %s", address, s.Addr)
			}
			if kept := s.CLI("EXISTS", "k") == "1"; kept != test.kept {
				t.Errorf("key kept: %v, want %v", kept, test.kept)
			}
		})
	}
}

func TestAPausedServerAnswersAfterResume(t *testing.T) {
	t.Parallel()
	s := Start(t, "7.0")
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Client().Ping(ctx).Err(); err == nil {
		t.Error("a paused server answered")
	}
	s.Resume()
	if err := s.Client().Ping(t.Context()).Err(); err != nil {
		t.Errorf("after resume: %v", err)
	}
	s.Pause()
	s.Stop() // wakes it: a stopped process would not see the signal
}

func TestLoginsAndFiles(t *testing.T) {
	tests := map[string]struct {
		options  []Option
		userInfo string
	}{
		"password": {[]Option{Password("s3cret: @/")}, ":s3cret%3A%20%40%2F@"},
		"access list": {
			[]Option{
				File("users.acl", "user default off\nuser ann on >pw ~* &* +@all\n"),
				Config("aclfile", "users.acl"), Login("ann", "pw"),
			}, "ann:pw@",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, "8.6", test.options...)
			if err := s.Client().Ping(t.Context()).Err(); err != nil {
				t.Errorf("log in: %v", err)
			}
			if got := s.CLI("PING"); got != "PONG" {
				t.Errorf("redis-cli PING printed %q", got)
			}
			if !strings.Contains(s.URL(), test.userInfo) {
				t.Errorf("URL %s does not carry the login %s", s.URL(), test.userInfo)
			}
			stranger := redis.NewClient(&redis.Options{Addr: s.Addr})
			defer func() { _ = stranger.Close() }()
			if err := stranger.Ping(t.Context()).Err(); err == nil {
				t.Error("a client without a login was let in")
			}
		})
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	_, err := startProcess(ownLauncher(t, "8.6"), newSettings([]Option{Config("no-such-directive", "1")}))
	if err == nil || !strings.Contains(err.Error(), "no-such-directive") {
		t.Errorf("the error does not show the server's own words: %v", err)
	}
}

func TestSharedDatabasesAreApartAndEmpty(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		first, second := Shared(t, version), Shared(t, version)
		if first.Addr != second.Addr || first.DB == second.DB {
			t.Fatalf("want two databases of one server, got %v and %v", first, second)
		}
		set := func(s *Server) {
			if err := s.Client().Set(t.Context(), "k", "v", 0).Err(); err != nil {
				t.Error(err)
			}
		}
		set(first)
		if found, err := second.Client().Exists(t.Context(), "k").Result(); err != nil || found != 0 {
			t.Errorf("a key of one test is seen by another: %d, %v", found, err)
		}
		var database int
		t.Run("left with data", func(t *testing.T) {
			s := Shared(t, version)
			database = s.DB
			set(s)
		})
		options := first.Options()
		options.DB = database
		reader := redis.NewClient(options)
		defer func() { _ = reader.Close() }()
		if size, err := reader.DBSize(t.Context()).Result(); err != nil || size != 0 {
			t.Errorf("after the test its database holds %d keys: %v", size, err)
		}
	})
}

func TestWhatReachesOtherTestsNeedsAServerOfOnesOwn(t *testing.T) {
	for _, command := range []string{"flushall", "CONFIG SET maxmemory 1", "script flush", "DEBUG SLEEP 0"} {
		if !reachesOthers(strings.Fields(command)) {
			t.Errorf("%s may be sent to a shared server", command)
		}
	}
	for _, command := range []string{"FLUSHDB", "CONFIG GET maxmemory", "XADD flushall * a b"} {
		if reachesOthers(strings.Fields(command)) {
			t.Errorf("%s may not be sent to a shared server", command)
		}
	}
}

func TestAUsersServerIsUsedButNeverTouchedOutsideEmptyDatabases(t *testing.T) {
	own := Start(t, "8.6", Config("databases", "4"), Password("hidden")) // stands for the user's
	ctx := t.Context()
	own.DB = 1
	own.CLI("SET", "theirs", "1")
	own.DB = 0
	t.Setenv("PIPELINE_TEST_REDIS_8_6", own.URL())

	first := Shared(t, "8.6")
	second := Shared(t, "8.6")
	if first.Addr != own.Addr || first.DB != 2 || second.DB != 3 {
		t.Fatalf("want databases 2 and 3 of %s, got %v and %v", own.Addr, first, second)
	}
	if err := first.Client().Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	outcome := try(t, func(t testing.TB) { Shared(t, "8.6") })
	if !outcome.failed || !strings.Contains(outcome.message, "DB index is out of range") {
		t.Errorf("a full server: %+v", outcome)
	}
	outcome = try(t, func(t testing.TB) { first.t = t; first.Kill() })
	if first.t = t; !outcome.failed {
		t.Error("a test could kill a user's server")
	}
	own.DB = 1
	if got := own.CLI("GET", "theirs"); got != "1" {
		t.Errorf("the user's own data is gone: %q", got)
	}
}

func TestAWrongAddressFailsWithoutItsPassword(t *testing.T) {
	tests := map[string]string{
		"no URL":         "http://user:hidden@host",
		"nobody there":   "redis://user:hidden@127.0.0.1:1",
		"unreadable URL": "redis://user:hidden@host:port:port/%zz",
	}
	for name, address := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PIPELINE_TEST_REDIS_8_6", address)
			outcome := try(t, func(t testing.TB) { Shared(t, "8.6") })
			if !outcome.failed || strings.Contains(outcome.message, "hidden") || !strings.Contains(outcome.message, "PIPELINE_TEST_REDIS_8_6") {
				t.Errorf("got %+v", outcome)
			}
		})
	}
	t.Run("another version", func(t *testing.T) {
		t.Setenv("PIPELINE_TEST_REDIS_6_2", Start(t, "8.6").URL())
		outcome := try(t, func(t testing.TB) { Shared(t, "6.2") })
		if !outcome.failed || !strings.Contains(outcome.message, "Redis 8.6.") {
			t.Errorf("got %+v", outcome)
		}
	})
}

func TestWithoutAServerTheTestIsSkippedOrFails(t *testing.T) {
	t.Setenv("PIPELINE_CACHE", t.TempDir())
	tests := map[string]struct {
		require, address, version string
		start                     func(testing.TB, string, ...Option) *Server
		failed                    bool
	}{
		"skipped":                        {"", "", "8.6", Start, false},
		"required":                       {"1", "", "8.6", Start, true},
		"required, shared":               {"1", "", "8.6", func(t testing.TB, v string, _ ...Option) *Server { return Shared(t, v) }, true},
		"never required: other versions": {"1", "", "6.2", Start, false},
		"a user's server cannot be used": {"1", "redis://localhost", "8.6", Start, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PIPELINE_TEST_REQUIRE_SERVERS", test.require)
			t.Setenv(addressVariable(test.version), test.address)
			outcome := try(t, func(t testing.TB) { test.start(t, test.version) })
			if outcome.failed != test.failed || outcome.skipped == test.failed {
				t.Errorf("got %+v, want failed %v", outcome, test.failed)
			}
			if !strings.Contains(outcome.message, "tests/servers.sh "+test.version) {
				t.Errorf("the message does not say what to do: %q", outcome.message)
			}
		})
	}
}

// TestAKilledTestBinaryLeavesNothing runs this binary again as one that starts a server and is then killed.
func TestAKilledTestBinaryLeavesNothing(t *testing.T) {
	if report := os.Getenv("REDISTEST_REPORT"); report != "" {
		s := Start(t, "7.0")
		s.CLI("PING")
		content := strconv.Itoa(s.process.pid) + " " + s.process.folder
		if err := os.WriteFile(report, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	ownLauncher(t, "7.0")
	report := filepath.Join(t.TempDir(), "report")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKilledTestBinaryLeavesNothing$")
	cmd.Env = append(os.Environ(), "REDISTEST_REPORT="+report, "PIPELINE_TEST_LEDGER=")
	output, err := cmd.CombinedOutput()
	content, missing := os.ReadFile(report)
	if missing != nil {
		t.Fatalf("the second binary started no server: %v: %s", err, output)
	}
	pid, folder, _ := strings.Cut(string(content), " ")
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(5 * time.Millisecond) {
		_, err := os.Stat(folder)
		if errors.Is(err, os.ErrNotExist) && !runs(number) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server %d or its folder %s is still there: %v", number, folder, err)
		}
	}
}

// runs says whether the process exists and is no zombie (in a container nobody may collect those).
func runs(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestTheLedgerHoldsWhatRanOnce(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	t.Setenv("PIPELINE_TEST_LEDGER", ledger)
	t.Run("ran", func(t *testing.T) {
		Record(t, "memory")
		Record(t, "memory")
		Record(t, "Redis 0.0.1")
	})
	t.Run("skipped", func(t *testing.T) {
		Record(t, "memory")
		t.Skip("to see that it is not counted")
	})
	content, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	name := "tests/redistest." + t.Name() + "/ran\n"
	want := "Redis 0.0.1\t" + name + "memory\t" + name // cleanups run last first
	if string(content) != want {
		t.Errorf("ledger:\n%swant:\n%s", content, want)
	}
}

func TestCasesAreLeavesAndCountedOnce(t *testing.T) {
	ledger := strings.Join([]string{
		"memory\ttests/x.TestA", "memory\ttests/x.TestA/one", "memory\ttests/x.TestA/two", "memory\ttests/x.TestAll",
		"memory\ttests/x.TestA/one", "Redis 8.6.3\ttests/x.TestA", "no tab", "",
	}, "\n")
	want := map[string]int{"memory": 3, "Redis 8.6.3": 1}
	if got := CountCases(ledger); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPortsLieBelowTheSystemsOwnAndAreGivenOnce(t *testing.T) {
	before := map[int]bool{}
	for range 1000 {
		port, err := freePort()
		if err != nil || port < 10000 || port >= firstEphemeral() || before[port] {
			t.Fatalf("port %d, first of the system's own %d, given before: %t, %v", port, firstEphemeral(), before[port], err)
		}
		before[port] = true
	}
}

// outcome is how a test that ran inside try ended.
type outcome struct {
	failed, skipped bool
	message         string
}

// try runs a test function apart, to see it skip or fail.
func try(t *testing.T, test func(testing.TB)) outcome {
	fake := &fakeT{TB: t}
	var wait sync.WaitGroup
	wait.Go(func() { test(fake) })
	wait.Wait()
	return fake.outcome
}

// fakeT is a testing.TB that keeps its end to itself.
type fakeT struct {
	testing.TB
	outcome
}

func (f *fakeT) end(o outcome) {
	f.outcome = o
	runtime.Goexit()
}

func (f *fakeT) Skip(args ...any)  { f.end(outcome{skipped: true, message: fmt.Sprint(args...)}) }
func (f *fakeT) Fatal(args ...any) { f.end(outcome{failed: true, message: fmt.Sprint(args...)}) }
func (f *fakeT) Skipf(format string, args ...any) {
	f.end(outcome{skipped: true, message: fmt.Sprintf(format, args...)})
}
func (f *fakeT) Fatalf(format string, args ...any) {
	f.end(outcome{failed: true, message: fmt.Sprintf(format, args...)})
}
