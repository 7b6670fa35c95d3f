package lang

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
	scheme, rest, found := strings.Cut(v.text, "://")
	if found && slices.Contains(schemes, scheme) {
		if scheme != "unix" && isConstant(v.expr) {
			l.checkAddress(v, rest)
		}
		return
	}
	if !found && !isConstant(v.expr) {
		return // what a variable holds is seen when the server is dialled
	}
	v.ok = false
	if name := shellName.FindStringSubmatch(v.text); name != nil && !found {
		l.shellURL(v, name[1])
		return
	}
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

// shellName is a string that is nothing but the name of an environment variable,
// as a shell has it.
var shellName = regexp.MustCompile(`^\$\{?([A-Za-z_]\w*)\}?$`)

// shellURL reports an address that a shell would have filled in.
func (l *loader) shellURL(v *value, name string) {
	d := l.fail(diag.InvalidValue, v.rng, "a variable of a shell is not filled in here", fmt.Sprintf("Declare a variable with default = env(%q), and write url = var.NAME.", name))
	if lower := strings.ToLower(name); l.named["variable"][lower] != nil {
		d.Suggest("var."+lower).Edit(v.rng, "var."+lower)
	}
}

// checkAddress reports what stands where the port and the database of an
// address belong, and is no number. Neither is shown: with an unencoded password
// they may be a part of it.
func (l *loader) checkAddress(v *value, address string) {
	const help = "An address is redis://host:6379/0; in a password : is written %3A, / is %2F and @ is %40."
	address, _, _ = strings.Cut(address, "?")
	host, path, _ := strings.Cut(address[strings.LastIndex(address, "@")+1:], "/")
	if colon := strings.LastIndex(host, ":"); colon >= 0 && !strings.HasSuffix(host, "]") && colon+1 < len(host) {
		if port, err := strconv.ParseUint(host[colon+1:], 10, 16); err != nil || port == 0 {
			v.ok = false
			l.fail(diag.InvalidValue, v.rng, "the port of url is no number from 1 to 65535", help)
			return
		}
	}
	if path = strings.Trim(path, "/"); path != "" {
		if _, err := strconv.ParseUint(path, 10, 31); err != nil {
			v.ok = false
			l.fail(diag.InvalidValue, v.rng, "the database of url is no number", help)
		}
	}
}
