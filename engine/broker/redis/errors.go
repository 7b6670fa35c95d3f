package redis

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

// serverError is an error reply, in the server's own words.
type serverError string

func (e serverError) Error() string { return string(e) }

// RedisError marks it as an error reply for the client library, which then
// follows a redirection.
func (serverError) RedisError() {}

// kinds are the first words of error replies whose meaning is ours to know.
var kinds = map[string]error{
	"NOGROUP":     broker.ErrNoGroup,
	"WRONGTYPE":   broker.ErrWrongType,
	"NOPERM":      broker.ErrNoPermission,
	"NOAUTH":      broker.ErrAuth,
	"WRONGPASS":   broker.ErrAuth,
	"OOM":         broker.ErrOutOfMemory,
	"LOADING":     broker.ErrUnavailable,
	"READONLY":    broker.ErrUnavailable,
	"MASTERDOWN":  broker.ErrUnavailable,
	"CLUSTERDOWN": broker.ErrUnavailable,
	"TRYAGAIN":    broker.ErrUnavailable,
	"NOREPLICAS":  broker.ErrUnavailable,
	"MOVED":       broker.ErrUnavailable,
	"ASK":         broker.ErrUnavailable,
	"BUSY":        broker.ErrUnavailable,
	"UNKILLABLE":  broker.ErrUnavailable,
	"MISCONF":     broker.ErrUnavailable,
}

// phrases are error replies that begin with a word too general to tell. They
// are the servers' texts: 7.0 says UNBLOCKED where later ones say NOGROUP when
// a stream goes away under a blocked reader.
var phrases = []struct {
	text string
	kind error
}{
	{"UNBLOCKED the stream key no longer exists", broker.ErrNoGroup},
	{"UNBLOCKED", broker.ErrUnavailable},
	{"requires the key to exist", broker.ErrNoGroup},
	{"max number of clients reached", broker.ErrUnavailable},
	{"unknown command", broker.ErrUnsupported},
	{"Unknown Redis command", broker.ErrUnsupported}, // the same, inside a script
	{"unknown subcommand", broker.ErrUnsupported},
	{"ACL failure in script", broker.ErrNoPermission},  // NOPERM inside a script
	{"can't run this command", broker.ErrNoPermission}, // the same before 7.0
	{"can't access at least one of the keys", broker.ErrNoPermission},
	{"invalid username-password pair", broker.ErrAuth},
	{"Client sent AUTH, but no password is set", broker.ErrAuth},
	{"AUTH <password> called without any password configured", broker.ErrAuth},
}

// kindOf is the kind of an error reply, nil for one that is not known.
func kindOf(reply string) error {
	word, _, _ := strings.Cut(reply, " ")
	if kind, ok := kinds[word]; ok {
		return kind
	}
	for _, p := range phrases {
		if strings.Contains(reply, p.text) {
			return p.kind
		}
	}
	return nil
}

// clean cuts off what scripts put around an error: before 7.0 "ERR Error
// running script (…): @user_script:1: " in front, later " script: …" behind. And
// what stands before the reason for which a transaction was refused as a whole.
func clean(reply string) string {
	reply = strings.TrimRight(reply, "\r\n")
	reply = strings.TrimPrefix(reply, "EXECABORT Transaction discarded because of: ")
	if at := strings.LastIndex(reply, "@user_script: "); at >= 0 && strings.HasPrefix(reply, "ERR Error running script") {
		if _, rest, found := strings.Cut(reply[at+len("@user_script: "):], ": "); found {
			reply = rest
		}
	}
	const behind, digest = " script: ", 40
	if at := strings.LastIndex(reply, behind); at >= 0 && strings.IndexByte(reply[at+len(behind):], ',') == digest {
		reply = reply[:at]
	}
	reply = strings.TrimPrefix(reply, "-")
	return strings.TrimSuffix(reply, ".")
}

// operation is what an error says was being done, and to what. Besides the
// stream and our keys beside it, it may touch others.
type operation struct {
	name, stream, group string
	others              []string
}

func on(o broker.Owner, name string) operation {
	return operation{name: name, stream: o.Stream, group: o.Group}
}

// fail turns err into a *broker.Error; nil stays nil.
func (b *Broker) fail(op operation, err error) error {
	if err == nil {
		return nil
	}
	e := &broker.Error{Op: op.name, Stream: op.stream, Group: op.group}
	var known *broker.Error
	var reply redis.Error
	switch {
	case errors.As(err, &known):
		e.Kind, e.Detail = known.Kind, known.Detail
	case strings.HasPrefix(err.Error(), noSentinel):
		e.Kind, e.Detail = b.sentinelError(err)
	case errors.As(err, &reply):
		e.Detail = clean(reply.Error())
		e.Kind = kindOf(e.Detail)
		if demoted(e.Detail) {
			b.leave()
		}
		switch {
		case errors.Is(e.Kind, broker.ErrNoPermission):
			e.Detail = permission(e.Detail, op)
		case errors.Is(e.Kind, broker.ErrWrongType) && !strings.Contains(e.Detail, " holds a "):
			e.Detail = b.wrongType(e.Detail, op)
		}
	default:
		e.Kind, e.Detail = b.connectionError(err)
	}
	return e
}

// noSentinel is how the library's error begins when no sentinel told where the
// master is. It holds what each of them answered.
const noSentinel = "redis: all sentinels specified in configuration are unreachable: "

// sentinelError is the kind and text of such an error. All of it may pass: a
// sentinel may come back, its password may be rotating, and a master that it does
// not know may be made known to it.
func (b *Broker) sentinelError(err error) (kind error, detail string) { //nolint:revive,staticcheck // the kind is a result like the text, not a failure
	answers := strings.ReplaceAll(strings.TrimPrefix(err.Error(), noSentinel), "\n", "; ")
	switch {
	case strings.Contains(answers, "NOAUTH"), strings.Contains(answers, "WRONGPASS"):
		return broker.ErrAuth, "the sentinels: " + answers
	case errors.Is(err, redis.Nil):
		return broker.ErrUnavailable, "no sentinel that answers knows a master called " + strconv.Quote(b.master)
	}
	return broker.ErrUnavailable, "no sentinel tells where the master is: " + answers
}

// leave drops every connection, after an answer that shows that they lead to a
// server which is no master any more.
func (b *Broker) leave() {
	b.pinned.drop()
	b.sockets.drop()
}

// demoted reports whether a reply says that the server is no master any more:
// READONLY, or what a blocked reader is told when the roles change. A replica
// still answers what only reads, so that its connections must not be kept.
func demoted(detail string) bool {
	return strings.HasPrefix(detail, "READONLY") ||
		strings.HasPrefix(detail, "UNBLOCKED") && strings.Contains(detail, "instance state changed")
}

// connectionError is the kind and text of an error that is no reply.
func (b *Broker) connectionError(err error) (kind error, detail string) { //nolint:revive,staticcheck // the kind is a result like the text, not a failure
	if b.closed.Load() || errors.Is(err, redis.ErrClosed) {
		return broker.ErrClosed, ""
	}
	if secure, ok := errors.AsType[*tlsError](err); ok {
		return broker.ErrUnavailable, secure.Error()
	}
	switch {
	case errors.Is(err, errProtocol):
		return nil, err.Error()
	case errors.Is(err, redis.ErrPoolTimeout):
		return broker.ErrUnavailable, "no free connection"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return broker.ErrUnavailable, "the connection was closed"
	case errors.Is(err, context.DeadlineExceeded):
		return broker.ErrUnavailable, "no answer in time"
	}
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		return broker.ErrUnavailable, "no answer in time"
	}
	return broker.ErrUnavailable, err.Error()
}

// permission adds the rule that is missing to what the server says: it names
// a command but not always a key.
func permission(detail string, op operation) string {
	if _, after, found := strings.Cut(detail, "'"); found {
		if command, _, found := strings.Cut(after, "'"); found && strings.Contains(detail, "command") {
			return detail + " (the user needs the rule +" + command + ")"
		}
	}
	if strings.Contains(detail, "can't run this command") { // in a script, before 7.2: it does not say which
		return detail + " (the user needs +" + strings.Join(Rights(), " +") + ")"
	}
	if strings.Contains(detail, "key") && op.stream != "" {
		keys := append([]string{op.stream, tagged(op.stream) + ":pipeline:*"}, op.others...)
		return detail + " (the user needs the rules ~" + strings.Join(keys, " ~") + ")"
	}
	return detail
}
