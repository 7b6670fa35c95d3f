package cli

import (
	"net/url"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/doctor"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor PATH",
		Short: "Say what is wrong with the server, the login, the streams and the groups, and what to do about it",
		Long: "doctor looks at everything that plan and stats look at and at what only concerns operation: version, rights,\n" +
			"eviction, persistence, memory, connections, replicas, clocks, certificates, the slots of a cluster, keys of another\n" +
			"type, groups, positions, consumers, bodies that were trimmed, and dead letters. For each finding it says what was\n" +
			"found, why it matters, what to do, and what to type. It changes nothing; denied commands appear in the server's\n" +
			"ACL LOG.\n\n" +
			"It exits with 0 where nothing is worse than a notice, with 4 where run could not run, and else with 1. Give it the\n" +
			"login of the workers: their rights are looked at.",
		Example: "  pipeline doctor examples/payments.hcl\n" +
			"  pipeline doctor examples/payments.hcl --json | jq -r 'select(.event == \"finding\") | .code'",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.doctor(cmd, args[0]) },
	}
}

func (a *app) doctor(cmd *cobra.Command, path string) error {
	p, err := a.loadServed(cmd, path)
	if err != nil {
		return err
	}
	server, err := build.OpenRedis(p.Broker, a.clock, a.warned)
	if err != nil {
		return invalidBroker(err)
	}
	defer func() { _ = server.Close() }() // nothing was written
	ctx, stop := a.until(cmd)
	defer stop()
	found := doctor.Run(ctx, p, server, a.clock, a.examination(path, p))
	if ctx.Err() != nil {
		return fail(exitLeft, "interrupted", "doctor: stopped by a signal before everything was looked at")
	}
	exit := doctorExit(found)
	a.view.Findings(found, exit)
	return said(exit)
}

// examination is how to look, with what its commands need to act on the same pipeline and server.
func (a *app) examination(path string, p *spec.Pipeline) doctor.Options {
	return doctor.Options{Command: a.about(path), Server: redisFlags(p.Broker)}
}

// redisFlags are those by which redis-cli reaches the server of a broker, each with a space before
// it; none where it needs none, and where sentinels or the nodes of a cluster say which server it is.
func redisFlags(b spec.Broker) string {
	u, err := url.Parse(b.URL)
	switch {
	case err != nil || b.Cluster || b.Sentinel != nil:
		return ""
	case u.Scheme == "unix":
		return " -s " + shellWord(u.Path)
	}
	var flags string
	if host := u.Hostname(); host != "" && host != "localhost" && host != "127.0.0.1" {
		flags += " -h " + shellWord(host)
	}
	if port := u.Port(); port != "" && port != "6379" {
		flags += " -p " + port
	}
	if u.Scheme == "rediss" || b.TLS != nil {
		flags += " --tls"
	}
	return flags
}

// doctorExit is the exit code for what was found.
func doctorExit(found []doctor.Finding) int {
	switch worst, ill := doctor.Worst(found); {
	case doctor.Stops(found):
		return exitServer
	case ill && worst != diag.Notice:
		return exitFailed
	}
	return exitDone
}
