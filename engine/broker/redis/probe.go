package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

// probeKey and probeGroup are named in trials and never written: each trial is
// refused by every server, or changes nothing even if the key existed.
const (
	probeKey   = "pipeline:probe"
	probeGroup = "pipeline:probe"
)

// trial finds out about one feature. yes and no are what an answer must contain
// to be one; since is the version to go by when neither was heard, because the
// login may not run the command or the server is full.
type trial struct {
	command []any
	yes, no string
	since   string
	feature func(*broker.Features) *bool
}

var trials = []trial{
	{[]any{"XREADGROUP", "GROUP", probeGroup, "probe", "COUNT", "1", "CLAIM", "1000000000", "STREAMS", probeKey, ">"},
		"NOGROUP", "syntax error", broker.ClaimingReadSince, func(f *broker.Features) *bool { return &f.ClaimingRead }},
	{[]any{"XAUTOCLAIM", probeKey, probeGroup, "probe", "1000000000", "0-0", "COUNT", "1", "JUSTID"},
		"NOGROUP", "unknown command", "6.2.0", func(f *broker.Features) *bool { return &f.AutoClaim }},
	{[]any{"XTRIM", probeKey, "MINID", "0-0", "ACKED"},
		"0", "syntax error", "8.2.0", func(f *broker.Features) *bool { return &f.TrimAcknowledged }},
	{[]any{"XADD", probeKey, "NOMKSTREAM", "IDMP", "p", "i", "0-0", "f", "v"},
		"IDMP", "Invalid stream ID", "8.6.0", func(f *broker.Features) *bool { return &f.IdempotentAdd }},
}

// documented are features that show only in data; the server's documentation
// of the command tells whether it has them (COMMAND DOCS, from 7.0 on).
var documented = []struct {
	command, subcommand string
	feature             func(*broker.Features) *bool
}{
	{"XAUTOCLAIM", "", func(f *broker.Features) *bool { return &f.DeletedIDs }},
	{"XINFO|GROUPS", "", func(f *broker.Features) *bool { return &f.Lag }},
}

// documentedSince is the first version that documents itself and has both.
const documentedSince = "7.0.0"

// Probe implements broker.Broker. Name, version and what is evicted come from INFO,
// or name and version from HELLO where the login may not run INFO. Features are tried on a key that
// does not exist; where a trial is not allowed, the version decides: that of Redis
// itself, and for a fork the one that it began from.
func (b *Broker) Probe(ctx context.Context) (broker.Server, error) {
	op := operation{name: "probe"}
	s, err := b.identify(ctx)
	if err != nil {
		return s, b.fail(op, err)
	}
	if err := b.memory(ctx, &s); err != nil {
		return s, b.fail(op, err)
	}
	var p batch
	for i := range trials {
		p.add(ctx, nil, trials[i].command)
	}
	docs := len(p.cmds)
	for _, d := range documented {
		p.add(ctx, nil, []any{"COMMAND", "DOCS", d.command})
	}
	b.exec(ctx, p.cmds)
	for i := range trials {
		t := &trials[i]
		answer, err := answer(p.cmds[i])
		if err != nil {
			return s, b.fail(op, err)
		}
		*t.feature(&s.Features) = t.judge(answer, &s)
	}
	for i, d := range documented {
		history := p.cmds[docs+i].(*redis.Cmd)
		*d.feature(&s.Features) = mentions(history.Val(), documentedSince) ||
			history.Err() != nil && atLeast(&s, documentedSince)
	}
	return s, nil
}

// answer is the text of a trial's reply, error or not. An error that says the
// server cannot answer now is returned as one.
func answer(cmd redis.Cmder) (string, error) {
	err := cmd.Err()
	if err == nil || err == redis.Nil { //nolint:errorlint // it comes unwrapped
		s, _ := cmd.(*redis.Cmd).Text()
		if n, err := cmd.(*redis.Cmd).Int64(); err == nil {
			s = strconv.FormatInt(n, 10)
		}
		return s, nil
	}
	if !serverSaid(err) {
		return "", err
	}
	if kind := kindOf(clean(err.Error())); errors.Is(kind, broker.ErrUnavailable) || errors.Is(kind, broker.ErrAuth) {
		return "", err
	}
	return err.Error(), nil
}

// judge decides by the answer, else by the version.
func (t *trial) judge(answer string, s *broker.Server) bool {
	switch {
	case strings.Contains(answer, t.no):
		return false
	case strings.Contains(answer, "NOPERM"), strings.Contains(answer, "OOM"):
		return atLeast(s, t.since)
	}
	return strings.Contains(answer, t.yes)
}

// identify asks for name and version.
func (b *Broker) identify(ctx context.Context) (broker.Server, error) {
	s := broker.Server{Clustered: b.clustered}
	info, err := b.settle.Info(ctx, "server").Result()
	if err == nil {
		s.Software, s.Version = softwareOf(info)
	}
	if err != nil && !redis.HasErrorPrefix(err, "NOPERM") {
		return s, err
	}
	if s.Version != "" {
		return s, nil
	}
	hello, err := b.settle.Do(ctx, "HELLO", "2").Slice()
	if err != nil && (!serverSaid(err) || kindOf(clean(err.Error())) == broker.ErrUnavailable) { //nolint:errorlint // a sentinel of ours
		return s, err
	}
	for i := 0; i+1 < len(hello); i += 2 {
		switch hello[i] {
		case "server":
			s.Software, _ = hello[i+1].(string)
		case "version":
			s.Version, _ = hello[i+1].(string)
		}
	}
	return s, nil
}

// memory asks what the server does when it is full. Where the login may not ask, or
// the server does not tell, that stays unknown.
func (b *Broker) memory(ctx context.Context, s *broker.Server) error {
	info, err := b.settle.Info(ctx, "memory").Result()
	if err != nil {
		if kind := kindOf(clean(err.Error())); serverSaid(err) && kind != broker.ErrUnavailable { //nolint:errorlint // kinds are not wrapped
			return nil
		}
		return err
	}
	settings := settingsOf(info)
	s.Eviction, s.MaxMemory = settings.Eviction, settings.MaxMemory
	return nil
}

// softwareOf reads INFO. A fork shows a version of Redis too, for clients that
// look no further.
func softwareOf(info string) (software, version string) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		product, ok := strings.CutSuffix(name, "_version")
		if !ok || strings.Contains(product, "_") || product == "gcc" {
			continue
		}
		if software == "" || product != "redis" {
			software, version = product, value
		}
	}
	return software, version
}

// origins are the versions of Redis that forks began from. They count their own, and
// what Redis had before they have, too.
var origins = map[string]string{"valkey": "7.2.4"}

// atLeast compares versions of Redis; other software is never said to have
// what was not seen, unless it is known to come from a version that had it.
func atLeast(s *broker.Server, version string) bool {
	have := s.Version
	if s.Software != "redis" {
		have = origins[s.Software]
	}
	return have != "" && !versionBefore(have, version)
}

// versionBefore compares dotted numbers.
func versionBefore(x, y string) bool {
	for x != "" || y != "" {
		var xs, ys string
		xs, x, _ = strings.Cut(x, ".")
		ys, y, _ = strings.Cut(y, ".")
		xn, _ := strconv.Atoi(xs)
		yn, _ := strconv.Atoi(ys)
		if xn != yn {
			return xn < yn
		}
	}
	return false
}

// mentions reports whether a text stands anywhere in a reply.
func mentions(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case []any:
		for i := range v {
			if mentions(v[i], text) {
				return true
			}
		}
	}
	return false
}
