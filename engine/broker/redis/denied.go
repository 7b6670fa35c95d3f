package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

// checked stands for what is never the name of anything: no slot's lease ends
// like this, no consumer is called so.
const checked = "rights-check"

// Denied is a need that the login does not have. ByKey: it may run the command,
// and not on this key.
type Denied struct {
	Need
	ByKey bool
}

// Denied reports which of the needs the login does not have, in their order.
// Nothing is run: the server checks a command against the access list when it
// is queued in a transaction, and the transaction is discarded. The commands are
// such as change nothing even if they ran. What is denied stands in the server's
// ACL LOG afterwards.
//
// A login that may not begin a transaction cannot be checked: the error is of
// the kind broker.ErrNoPermission.
func (b *Broker) Denied(ctx context.Context, needs []Need) ([]Denied, error) {
	op := operation{name: "check rights"}
	client, err := b.node(ctx, needs)
	if err != nil {
		return nil, b.fail(op, err)
	}
	conn := client.EphemeralConn()
	defer func() { _ = conn.Close() }() // with it goes a transaction that could not be discarded
	exec := conn.Do(ctx, "EXEC").Err()  // outside of a transaction it is an error of its own
	if !serverSaid(exec) {
		return nil, b.fail(op, exec)
	}
	if err := conn.Do(ctx, "MULTI").Err(); err != nil {
		return nil, b.fail(op, err)
	}
	pipe := conn.Pipeline()
	answers := make([]*redis.Cmd, len(needs))
	for i, need := range needs {
		list, err := need.trial()
		if err != nil {
			return nil, b.fail(op, err)
		}
		if list != nil {
			answers[i] = pipe.Do(ctx, list...)
		}
	}
	discard := pipe.Do(ctx, "DISCARD")
	_, err = pipe.Exec(ctx)
	if !serverSaid(discard.Err()) && discard.Err() != nil {
		return nil, b.fail(op, err)
	}
	var denied []Denied
	for i, need := range needs {
		answer := exec
		switch {
		case answers[i] != nil:
			answer = answers[i].Err()
		case need.Command != "exec":
			continue // the transaction itself, which has begun
		}
		if serverSaid(answer) && refusal(answer.Error()) {
			denied = append(denied, Denied{need, strings.Contains(answer.Error(), "key")})
		}
	}
	return denied, nil
}

// refusal reports whether a reply refuses a command by the access list. What is
// refused to an EXEC comes as the reason of an abort.
func refusal(reply string) bool {
	reply = strings.TrimPrefix(reply, "EXECABORT Transaction discarded because of: ")
	return kindOf(clean(reply)) == broker.ErrNoPermission //nolint:errorlint // kinds are not wrapped
}

// node is a server to ask. In a cluster each has the whole access list.
func (b *Broker) node(ctx context.Context, needs []Need) (*redis.Client, error) {
	switch c := b.settle.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		key := probeKey
		for _, need := range needs {
			if need.Key != "" {
				key = need.Key
				break
			}
		}
		return c.MasterForKey(ctx, key)
	}
	return nil, fmt.Errorf("a client of the kind %T has no single node", b.settle)
}

// forms are the commands in a form that the server refuses, or that changes
// nothing: an id that is no id, one that no entry can have, too few values. "" is
// where the key stands.
var forms = map[string][]any{
	"xreadgroup":      {"XREADGROUP", "GROUP", checked, checked, "COUNT", 1, "STREAMS", "", "no-id"},
	"xclaim":          {"XCLAIM", "", checked, checked, "no-time", "0-0"},
	"xpending":        {"XPENDING", "", checked},
	"xack":            {"XACK", "", checked, "0-0"},
	"xadd":            {"XADD", "", "NOMKSTREAM", "0-0", "f", "v"},
	"xlen":            {"XLEN", ""},
	"xrange":          {"XRANGE", "", "0-0", "0-0", "COUNT", 1},
	"xtrim":           {"XTRIM", "", "MINID", "0-0"},
	"xdel":            {"XDEL", "", "0-0"},
	"xinfo|stream":    {"XINFO", "STREAM", ""},
	"xinfo|groups":    {"XINFO", "GROUPS", ""},
	"xinfo|consumers": {"XINFO", "CONSUMERS", "", checked},
	"xcfgset":         {"XCFGSET", "", "IDMP-DURATION", 0},
	createGroup:       {"XGROUP", "CREATE", "", checked, "no-id"},
	seekGroup:         {"XGROUP", "SETID", "", checked, "no-id"},
	removeConsumer:    {"XGROUP", "DELCONSUMER", "", checked, checked},
	"eval":            {"EVAL", "return 0", 1, ""},
	"evalsha":         {"EVALSHA", strings.Repeat("0", 40), 1, ""},
	"type":            {"TYPE", ""},
	"get":             {"GET", ""},
	"set":             {"SET", "", "v", "NX", "XX"},
	"del":             {"DEL", ""},
	"pexpire":         {"PEXPIRE", "", "no-time"},
	"unlink":          {"UNLINK", ""},
	"hget":            {"HGET", "", checked},
	"hmget":           {"HMGET", "", checked},
	"hset":            {"HSET", "", checked, "v", "no-value"},
	"hdel":            {"HDEL", "", checked},
	"hscan":           {"HSCAN", "", 0},
	"zadd":            {"ZADD", "", "no-score", checked},
	"zrem":            {"ZREM", "", checked},
	"zrangebyscore":   {"ZRANGEBYSCORE", "", 0, 0},
	"time":            {"TIME"},
	"info":            {"INFO", "server"},
	"client|id":       {"CLIENT", "ID"},
	"client|unblock":  {"CLIENT", "UNBLOCK", "no-id"},
	"client|setname":  {"CLIENT", "SETNAME", "not a name"},
	"command|docs":    {"COMMAND", "DOCS", "XADD"},
	"multi":           nil,
	"exec":            nil,
}

// OnKey reports whether the command is one on a key.
func (n Need) OnKey() bool { return slices.Contains(forms[n.Command], any("")) }

// trial is the command to queue; nil for the transaction's own.
func (n Need) trial() ([]any, error) {
	form, ok := forms[n.Command]
	if !ok {
		return nil, fmt.Errorf("the command %q has no form that changes nothing", n.Command)
	}
	if form == nil {
		return nil, nil
	}
	list := make([]any, len(form))
	for i, word := range form {
		if list[i] = word; word == "" {
			list[i] = n.Key
		}
	}
	return list, nil
}
