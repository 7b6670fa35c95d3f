package redis

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // the server names scripts by it
	_ "embed"     // the scripts
	"encoding/hex"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Limits of one script call. They bound how long the server is blocked (about
// half a millisecond), and unpack, which fails at about 8,000 values.
const (
	maxEntries = 250
	maxRenewed = 300
	maxBytes   = 256 << 10
	maxUnpack  = 4900
)

// script is a Lua script. It is sent by its digest; a server that does not know
// it (NOSCRIPT: after a restart or a failover) has run nothing and is sent the
// text.
type script struct{ text, digest string }

func newScript(text string) *script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // the server names scripts by it
	return &script{text: text, digest: hex.EncodeToString(sum[:])}
}

// call begins the arguments of a call: EVALSHA digest numkeys.
func (s *script) call(a *args, keys int) (mark int) {
	mark = a.mark()
	a.add("EVALSHA", s.digest)
	a.int(int64(keys))
	return mark
}

// unknown reports whether the server answered that it does not know the script.
func unknown(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT")
}

// withText is the call with the text in place of the digest, which also makes
// the server know the script from then on.
func (s *script) withText(list []any) []any {
	again := make([]any, len(list))
	copy(again, list)
	again[0], again[1] = "EVAL", s.text
	return again
}

// run runs one call and returns its reply.
func (b *Broker) run(ctx context.Context, s *script, list []any) (any, error) {
	v, err := b.do(ctx, list).Result()
	if unknown(err) {
		v, err = b.do(ctx, s.withText(list)).Result()
	}
	return v, err
}

// runRaw is run for a reply with entries in it.
func (b *Broker) runRaw(ctx context.Context, s *script, list []any) (string, error) {
	reply, err := b.raw(ctx, list)
	if err == nil && strings.HasPrefix(reply, "-NOSCRIPT") || unknown(err) {
		reply, err = b.raw(ctx, s.withText(list))
	}
	return reply, err
}

// batch is commands that are sent together and answered in order. Scripts among
// them are sent once more if the server did not know them; nothing else is.
type batch struct {
	cmds    []redis.Cmder
	scripts []*script
}

// add appends a command; s is its script or nil.
func (p *batch) add(ctx context.Context, s *script, list []any) {
	p.cmds = append(p.cmds, redis.NewCmd(ctx, list...))
	p.scripts = append(p.scripts, s)
}

// send sends the batch and returns the first error. Replies are read from
// p.cmds.
func (b *Broker) send(ctx context.Context, p *batch) error {
	b.exec(ctx, p.cmds)
	var again []redis.Cmder
	for i, cmd := range p.cmds {
		if unknown(cmd.Err()) && p.scripts[i] != nil {
			p.cmds[i] = redis.NewCmd(ctx, p.scripts[i].withText(cmd.Args())...)
			again = append(again, p.cmds[i])
		}
	}
	b.exec(ctx, again)
	for _, cmd := range p.cmds {
		if err := cmd.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (b *Broker) exec(ctx context.Context, cmds []redis.Cmder) {
	switch len(cmds) {
	case 0:
	case 1:
		_ = b.settle.Process(ctx, b.once(cmds[0]))
	default:
		pipe := b.settle.Pipeline()
		for _, cmd := range cmds {
			_ = pipe.Process(ctx, b.once(cmd))
		}
		_, err := pipe.Exec(ctx)
		unanswered(cmds, err)
	}
}

// unanswered gives the error of a whole pipeline to commands that have neither
// an answer nor an error of their own. The library leaves them so when it could
// not log in, which must not look like success.
func unanswered(cmds []redis.Cmder, err error) {
	for _, cmd := range cmds {
		if cmd.Err() == nil && cmd.(*redis.Cmd).Val() == nil {
			cmd.SetErr(cmp.Or(err, errProtocol))
		}
	}
}

// texts reads a reply that is a list of strings.
func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, len(list))
	for i := range list {
		out[i], _ = list[i].(string)
	}
	return out
}

// reply is the answer of command i, which had no error.
func (p *batch) reply(i int) any { return p.cmds[i].(*redis.Cmd).Val() }
