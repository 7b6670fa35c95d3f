package cli

import (
	"log/slog"
	"os"
	"os/user"
	"strconv"

	"pipeline/engine/spec"
)

// auditAttrs are the attributes of a line that says who did something: the event, the
// pipeline, the user and the machine.
func (a *app) auditAttrs(event string, p *spec.Pipeline) []any {
	attrs := []any{slog.String("event", event), slog.String("pipeline", p.Name), slog.String("user", osUser())}
	if before, ok := a.process.Env("SUDO_USER"); ok && before != "" {
		attrs = append(attrs, slog.String("sudo_user", before))
	}
	host, _ := os.Hostname() // without one it is empty
	return append(attrs, slog.String("host", host))
}

// osUser is the name of the user of this process, or its number.
func osUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}
