package reference

import (
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// bufferSize is that of each connection, for reading and for writing: a read of
// a thousand payments is a quarter of a megabyte, and the library's 32 KiB would
// take eight system calls for it.
const bufferSize = 128 << 10

// Connect returns a client for that many workers: a connection for each, one
// that reads and one that claims, so that nobody waits for another's.
func Connect(url string, workers int) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.PoolSize = workers + 2
	o.MinIdleConns = workers + 2
	o.ReadBufferSize, o.WriteBufferSize = bufferSize, bufferSize
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// An XADD that is sent again after its answer was lost would be added twice.
	o.MaxRetries = -1
	return redis.NewClient(o), nil
}
