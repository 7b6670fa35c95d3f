package redistest

import (
	"context"
	"crypto/rand"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// mark is the key, in database 0 of a user's server, that says a database is in use by a test. It expires
// after markAge, longer than any test takes, in case the test binary dies.
const (
	mark    = "pipeline-test:database:"
	markAge = time.Hour
)

// external gives the test an empty database of the server that the version's variable names. Database 0
// only holds marks, so that test binaries that run at once do not meet.
func external(t testing.TB, version string) *Server {
	t.Helper()
	variable := addressVariable(version)
	options, err := redis.ParseURL(os.Getenv(variable))
	if err != nil {
		t.Fatalf("%s is not a Redis URL (redis://user:password@host:port)", variable) // the error shows the password
	}
	s := &Server{Version: version, Addr: options.Addr, t: t, shared: true, login: *options}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	marks := redis.NewClient(s.Options())
	t.Cleanup(func() { _ = marks.Close() })
	if err := marks.Ping(ctx).Err(); err != nil {
		t.Fatalf("the server that %s names does not answer: %v", variable, err)
	}
	if s.DB, err = claimDatabase(ctx, t, marks, s); err != nil {
		t.Fatalf("find an empty database on the server that %s names: %v", variable, err)
	}
	s.prepare()
	if given := strings.TrimPrefix(s.full, "Redis "); given != version && !strings.HasPrefix(given, version+".") && version != "valkey" {
		t.Fatalf("%s names a server of another version: %s", variable, s.full)
	}
	return s
}

// claimDatabase marks the first database from 1 up that is neither marked nor holds anything.
func claimDatabase(ctx context.Context, t testing.TB, marks *redis.Client, s *Server) (int, error) {
	token := rand.Text()
	for db := 1; ; db++ {
		key := mark + strconv.Itoa(db)
		if won, err := marks.SetNX(ctx, key, token, markAge).Result(); err != nil {
			return 0, err
		} else if !won {
			continue
		}
		empty, err := isEmpty(ctx, s, db)
		if err != nil || !empty {
			_ = marks.Del(ctx, key).Err() // it expires in any case
			if err != nil {
				return 0, err // beyond the last database: ERR DB index is out of range
			}
			continue
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
			defer cancel()
			_ = marks.Del(ctx, key).Err()
		})
		return db, nil
	}
}

func isEmpty(ctx context.Context, s *Server, db int) (bool, error) {
	options := s.Options()
	options.DB = db
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	size, err := client.DBSize(ctx).Result()
	return size == 0, err
}
