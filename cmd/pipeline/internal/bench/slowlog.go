package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// slowlog is a place in the server's log of slow commands. The server counts the
// time for which a command kept it busy, without what the network took.
type slowlog struct {
	last int64
	// from is what a command must take to be logged; below 0 nothing is logged, or
	// the login may not ask.
	from time.Duration
}

// slowlogPage is how many entries are looked at: what the server keeps unless it
// is told otherwise.
const slowlogPage = 128

// slowlog is the end of the log now.
func (s *Server) slowlog(ctx context.Context) slowlog {
	setting, err := s.client.ConfigGet(ctx, "slowlog-log-slower-than").Result()
	if err != nil {
		return slowlog{from: -1} // a login may lack the right; the figure is left out then
	}
	micros, err := strconv.ParseInt(setting["slowlog-log-slower-than"], 10, 64)
	if err != nil {
		return slowlog{from: -1}
	}
	l := slowlog{last: -1, from: time.Duration(micros) * time.Microsecond}
	newest, err := s.client.SlowLogGet(ctx, 1).Result()
	if err != nil {
		return slowlog{from: -1}
	}
	if len(newest) > 0 {
		l.last = newest[0].ID
	}
	return l
}

// slowest is the slowest command on keys of this run since l, with its name. It
// is what l.from says when none was slower than that.
func (s *Server) slowest(ctx context.Context, l slowlog) (time.Duration, string, error) {
	entries, err := s.client.SlowLogGet(ctx, slowlogPage).Result()
	if err != nil {
		return 0, "", failed("read the log of slow commands", err)
	}
	most, name := l.from, ""
	for _, e := range entries {
		if e.ID > l.last && e.Duration > most && strings.Contains(strings.Join(e.Args, " "), s.prefix) {
			most, name = e.Duration, strings.ToUpper(e.Args[0])
		}
	}
	return most, name, nil
}

// words say what was found.
func (l slowlog) words(side Side, most time.Duration, name string) string {
	if name == "" {
		return fmt.Sprintf("%s: no command kept the server busy for %v, from which SLOWLOG tells", side, l.from)
	}
	return fmt.Sprintf("%s: %s kept the server busy for %v", side, name, most)
}
