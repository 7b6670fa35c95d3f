package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
)

// Server is the parent's own connection: it prepares rounds, reads the server's
// counters, and tidies up.
type Server struct {
	clock  clock.Clock
	client *redis.Client
	prefix string
	// Software and Version are the server's.
	Software, Version string
	autoClaim         bool
	// Clients is how many connections others had at the start.
	Clients int64
	// memory is what it uses, and limit its maxmemory, 0 without one.
	memory, limit int64
}

// UnfitError is why a server is not measured.
type UnfitError struct{ Reason string }

// Error is the reason.
func (e *UnfitError) Error() string { return "bench: " + e.Reason }

// Open connects to a server and asks it what it is. Keys of this run begin with
// prefix. Errors are a *broker.Error, an *UnfitError for a replica or a server of a
// cluster, or about the address, which they do not show.
func Open(ctx context.Context, url, prefix string, c clock.Clock) (*Server, error) {
	server, err := probe(ctx, url, c)
	if err != nil {
		return nil, err
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the address of the server is not valid") // the library's words hold it
	}
	o.PoolSize, o.MaxRetries, o.DisableIdentity = 8, -1, true
	o.ContextTimeoutEnabled = true
	o.ReadTimeout = time.Minute // a page of a million pending entries takes its time
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	s := &Server{
		clock: c, client: redis.NewClient(o), prefix: prefix, Software: server.Software, Version: server.Version,
		autoClaim: server.Features.AutoClaim,
	}
	if err := s.look(ctx); err != nil {
		return nil, errors.Join(err, s.client.Close())
	}
	return s, nil
}

// probe asks what the server is, with errors of which the engine knows the kinds.
func probe(ctx context.Context, url string, c clock.Clock) (server broker.Server, err error) {
	b, err := build.OpenRedis(spec.Broker{URL: url}, c, nil)
	if err != nil {
		return server, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	settings, err := b.Settings(ctx)
	switch {
	case err != nil:
		return server, err
	case settings.Replica:
		return server, &UnfitError{"the server is a replica, which takes no writes; name its master"}
	case settings.Cluster:
		return server, &UnfitError{"the server is one of a Redis Cluster; name one that stands alone"}
	}
	return b.Probe(ctx)
}

// look reads what matters of INFO.
func (s *Server) look(ctx context.Context) error {
	info, err := s.info(ctx, "all")
	if err != nil {
		return err
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(info[name], 10, 64)
		return n
	}
	s.Clients = max(0, number("connected_clients")-1)
	s.memory, s.limit = number("used_memory"), number("maxmemory")
	return nil
}

// Fits refuses a server that lacks what is measured, or has no room for that many
// bytes, with an *UnfitError.
func (s *Server) Fits(bytes int64) error {
	switch {
	case !s.autoClaim:
		return &UnfitError{"the server has no XAUTOCLAIM, which the consumer written by hand recovers with; it needs Redis 6.2"}
	case s.limit > 0 && s.memory+bytes > s.limit:
		return &UnfitError{fmt.Sprintf(
			"the server may use %d MiB and uses %d, so the %d that would be written do not fit; raise maxmemory or lower --entries",
			s.limit>>20, s.memory>>20, bytes>>20+1)}
	}
	return nil
}

// info is INFO as a map.
func (s *Server) info(ctx context.Context, sections ...string) (map[string]string, error) {
	text, err := s.client.Info(ctx, sections...).Result()
	if err != nil {
		return nil, failed("read the server's state", err)
	}
	out := map[string]string{}
	for l := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(l, "\r\n"), ":"); ok {
			out[name] = value
		}
	}
	return out, nil
}

// serverCPU is what the server has used: of its main thread, which runs all
// commands, where it tells that (from 7.0 on), else of the whole process.
func (s *Server) serverCPU(ctx context.Context) (time.Duration, error) {
	info, err := s.info(ctx, "cpu")
	if err != nil {
		return 0, err
	}
	suffix := ""
	if info["used_cpu_user_main_thread"] != "" {
		suffix = "_main_thread"
	}
	user, _ := strconv.ParseFloat(info["used_cpu_user"+suffix], 64)
	system, _ := strconv.ParseFloat(info["used_cpu_sys"+suffix], 64)
	return time.Duration((user + system) * float64(time.Second)), nil
}

// Close removes every key of this run and ends the connection. It works also
// after a signal, and says what it could not remove.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return errors.Join(s.remove(ctx), s.client.Close())
}

// remove deletes the keys that begin with the prefix, also those that the
// product keeps beside a stream.
func (s *Server) remove(ctx context.Context) error {
	var at uint64
	for {
		keys, next, err := s.client.Scan(ctx, at, s.prefix+"*", 1000).Result()
		if err == nil && len(keys) > 0 {
			err = s.client.Unlink(ctx, keys...).Err()
		}
		if err != nil {
			return failed("remove the keys "+s.prefix+"*", err)
		}
		if at = next; at == 0 {
			return nil
		}
	}
}

// failed is an error of the connection or the server, as the engine's broker
// would tell it.
func failed(op string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	e := &broker.Error{Op: op, Detail: err.Error()}
	var network net.Error
	switch {
	case redis.HasErrorPrefix(err, "OOM"):
		e.Kind = broker.ErrOutOfMemory
	case redis.HasErrorPrefix(err, "NOPERM"):
		e.Kind = broker.ErrNoPermission
	case redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "WRONGPASS"):
		e.Kind = broker.ErrAuth
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, context.DeadlineExceeded):
		e.Kind = broker.ErrUnavailable
	}
	return e
}
