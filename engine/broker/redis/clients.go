package redis

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// pool is how the connections of one client differ from those of the other.
type pool struct {
	size int
	// readTimeout is -1 where every call brings its own deadline.
	blocking bool
}

// tune sets what both clients have in common. Nothing is tried twice: not a
// command, because what became of the first attempt is not known, and not a
// connection, because the caller backs off.
func (o *Options) tune(l *redis.Options, p pool, s *sockets) {
	l.Protocol = 2
	l.MaxRetries = -1
	l.DialerRetries = 1
	l.ContextTimeoutEnabled = true
	l.ClientName = "" // the library would fail where the login may not set it
	l.DisableIdentity = true
	l.OnConnect = o.introduce
	l.DialTimeout = o.Timeout
	l.WriteTimeout = o.Timeout
	l.ReadTimeout = o.Timeout
	if p.blocking {
		l.ReadTimeout = -1
	}
	l.PoolTimeout = o.Timeout
	l.PoolSize = p.size
	l.MinIdleConns = 0
	l.MaxIdleConns = p.size
	l.MaxActiveConns = 0
	l.PipelinePoolSize = -1
	l.ReadBufferSize = readBuffer
	l.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	g := guide{block: "the tls block", shows: o.TLS != nil && o.TLS.Cert != ""}
	l.Dialer = s.dialer(g.dialer(redis.NewDialer(l)))
}

// introduce names the connection for CLIENT LIST, where the login may do so.
func (o *Options) introduce(ctx context.Context, c *redis.Conn) error {
	if err := c.ClientSetName(ctx, o.Name).Err(); err != nil && !serverSaid(err) {
		return err
	}
	return nil
}

// client makes one client for the topology the options describe.
func (o *Options) client(p pool, s *sockets) (redis.UniversalClient, error) {
	l, err := o.login()
	if err != nil {
		return nil, err
	}
	o.tune(l, p, s)
	var c redis.UniversalClient
	switch {
	case o.Sentinel != nil:
		if c, err = o.failover(l); err != nil {
			return nil, err
		}
	case o.Cluster:
		c = o.cluster(l, s)
	default:
		c = redis.NewClient(l)
	}
	c.AddHook(unsent{})
	return c, nil
}

// failover makes a client that asks the sentinels for the master.
func (o *Options) failover(l *redis.Options) (redis.UniversalClient, error) {
	dial, err := o.sentinelDialer(l.Dialer)
	if err != nil {
		return nil, err
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: o.Sentinel.Master, SentinelAddrs: o.Sentinel.Addresses,
		SentinelUsername: o.Sentinel.Username, SentinelPassword: o.Sentinel.Password,
		Username: l.Username, Password: l.Password, DB: l.DB,
		Dialer: dial, OnConnect: l.OnConnect, DisableIdentity: l.DisableIdentity, Protocol: l.Protocol,
		MaxRetries: l.MaxRetries, DialerRetries: l.DialerRetries,
		ContextTimeoutEnabled: l.ContextTimeoutEnabled,
		DialTimeout:           l.DialTimeout, ReadTimeout: l.ReadTimeout, WriteTimeout: l.WriteTimeout,
		PoolTimeout: l.PoolTimeout, PoolSize: l.PoolSize, MaxIdleConns: l.MaxIdleConns,
		PipelinePoolSize: l.PipelinePoolSize, ReadBufferSize: l.ReadBufferSize,
	}), nil
}

// sentinelDialer connects to the sentinels with their TLS and to the master
// with its own. The library has one dialer for both; which is which shows in
// the address. A sentinel that is only known from another one counts as a
// master here, so one with TLS of its own has to be listed.
func (o *Options) sentinelDialer(master dialer) (dialer, error) {
	config, err := o.Sentinel.TLS.config(nil, o.certificates)
	if err != nil {
		return nil, fmt.Errorf("sentinel: %w", err)
	}
	g := guide{block: "the tls block of sentinel", shows: o.Sentinel.TLS != nil && o.Sentinel.TLS.Cert != ""}
	sentinel := g.dialer(redis.NewDialer(&redis.Options{DialTimeout: o.Timeout, TLSConfig: config}))
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if slices.Contains(o.Sentinel.Addresses, addr) {
			return sentinel(ctx, network, addr)
		}
		return master(ctx, network, addr)
	}, nil
}

func (o *Options) cluster(l *redis.Options, s *sockets) redis.UniversalClient {
	c := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{l.Addr}, Username: l.Username, Password: l.Password, TLSConfig: l.TLSConfig,
		DisableRoutingPolicies: true, // every command has its key or may go anywhere
		Dialer:                 l.Dialer, OnConnect: l.OnConnect, DisableIdentity: l.DisableIdentity, Protocol: l.Protocol,
		MaxRetries: l.MaxRetries, DialerRetries: l.DialerRetries,
		ContextTimeoutEnabled: l.ContextTimeoutEnabled,
		DialTimeout:           l.DialTimeout, ReadTimeout: l.ReadTimeout, WriteTimeout: l.WriteTimeout,
		PoolTimeout: l.PoolTimeout, PoolSize: l.PoolSize, MaxIdleConns: l.MaxIdleConns,
		PipelinePoolSize: l.PipelinePoolSize, ReadBufferSize: l.ReadBufferSize,
		MaintNotificationsConfig: l.MaintNotificationsConfig,
	})
	c.OnNewNode(func(node *redis.Client) { node.AddHook(rawReplies{}) })
	c.AddHook(&whereabouts{client: c, within: o.Timeout / 2, failures: &s.failures})
	return c
}
