package redis

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/clock"
)

// Options say where the server is and how to log in.
type Options struct {
	// URL is redis://HOST:PORT/DB, rediss:// for TLS, or unix:///PATH?db=DB. It
	// may hold user and password and is never printed. With Sentinel it may be
	// empty: its host is not used, only its database, login and scheme.
	URL string
	// Username and Password replace those of the URL when set.
	Username, Password string
	// TLS makes the connection encrypted even if the scheme does not; nil leaves
	// that to the scheme and the machine's own certificates.
	TLS *TLS
	// Sentinel finds the master, and finds it again after a failover.
	Sentinel *Sentinel
	// Cluster treats the server of the URL as one of a Redis Cluster.
	Cluster bool
	// Timeout bounds a connection attempt and every command that does not
	// block. Default 5 s.
	Timeout time.Duration
	// Name is shown by CLIENT LIST. Default "pipeline".
	Name string
	// Clock paces the waking of blocked readers. Default the machine's.
	Clock clock.Clock
	// Warn is told, once until it has passed, that the files of a client certificate
	// cannot be read any more. It is called by any goroutine and must not use the
	// broker. Default: nobody is.
	Warn func(error)

	certificates *certificates
}

// Sentinel names a master and the sentinels that know where it is.
type Sentinel struct {
	Master string
	// Addresses are HOST:PORT of the sentinels themselves.
	Addresses []string
	// Username and Password log in to the sentinels, not to the master.
	Username, Password string
	// TLS is for the connections to the sentinels.
	TLS *TLS
}

// DefaultTimeout bounds what does not block.
const DefaultTimeout = 5 * time.Second

// Limits on connections. A pool opens what is used and keeps it: where many
// subscriptions have something to say at once, now and then, one that was closed
// would be opened again each time. A reader holds one while it blocks.
const (
	settlers   = 64
	maxReaders = 4096
	readBuffer = 64 << 10
)

// errURL says what a URL must look like, because the library's own error
// repeats it with its password.
var errURL = errors.New("url: want redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH?db=DB (the value is not shown, it may hold a password)")

// login turns the options into the client library's, without connecting.
func (o *Options) login() (*redis.Options, error) {
	url := o.URL
	if url == "" && o.Sentinel != nil {
		url = "redis://sentinel"
	}
	if url == "" {
		return nil, errors.New("url: is missing")
	}
	l, err := redis.ParseURL(url)
	if err != nil {
		return nil, errURL
	}
	if l.TLSConfig != nil {
		l.TLSConfig.ServerName = "" // each server's own name: there may be others than that of the URL
	}
	if o.Username != "" {
		l.Username = o.Username
	}
	if o.Password != "" {
		l.Password = o.Password
	}
	if l.TLSConfig, err = o.TLS.config(l.TLSConfig, o.certificates); err != nil {
		return nil, err
	}
	return l, o.check(l)
}

// check refuses combinations that mean nothing.
func (o *Options) check(l *redis.Options) error {
	switch {
	case o.Timeout < 0:
		return fmt.Errorf("timeout: %v is negative", o.Timeout)
	case o.Cluster && o.Sentinel != nil:
		return errors.New("cluster: cannot be combined with sentinel; a cluster finds its masters by itself")
	case o.Cluster && l.DB != 0:
		return fmt.Errorf("cluster: a cluster has only database 0, the url says %d", l.DB)
	case o.Cluster && l.Network == "unix":
		return errors.New("cluster: cannot be reached through a unix socket")
	case o.Sentinel == nil:
		return nil
	case o.Sentinel.Master == "":
		return errors.New("sentinel: master is missing")
	case len(o.Sentinel.Addresses) == 0:
		return errors.New("sentinel: addresses are missing")
	}
	for _, address := range o.Sentinel.Addresses {
		if _, _, err := net.SplitHostPort(address); err != nil || strings.Contains(address, "@") {
			return errors.New("sentinel: an address is not HOST:PORT")
		}
	}
	return nil
}
