package lang

import (
	"fmt"
	"strings"

	"pipeline/lang/diag"
)

// schemes are what the address of a Redis server may begin with.
var schemes = []string{"redis", "rediss", "unix"}

// checkURL reports an address of a Redis server that begins with something
// else. It shows the scheme only: the rest may hold a password.
func (l *loader) checkURL(n *node) {
	v := n.val("url")
	if !v.set || !v.ok || v.text == "" || n.args["url"].Name != "url" {
		return
	}
	scheme, _, found := strings.Cut(v.text, "://")
	for _, s := range schemes {
		if found && scheme == s {
			return
		}
	}
	if !found && !isConstant(v.expr) {
		return // what a variable holds is seen when the server is dialled
	}
	v.ok = false
	const help = "It begins with redis://, rediss:// (over TLS) or unix://, as in redis://host:6379/0."
	if !found || strings.ContainsAny(scheme, ":/@. ") {
		l.fail(diag.InvalidValue, v.rng, "url has no scheme", help).Suggest("redis://…")
		return
	}
	d := l.fail(diag.InvalidValue, v.rng, fmt.Sprintf("url cannot begin with %s://", scheme), help)
	meant := "redis"
	if near := diag.Nearest(scheme, schemes); near != "" {
		meant = near
	} else if strings.HasSuffix(scheme, "s") && scheme != "redis" {
		meant = "rediss"
	}
	d.Suggest(meant + "://…")
}
