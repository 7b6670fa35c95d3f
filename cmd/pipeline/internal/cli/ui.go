package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/netip"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/doctor"
	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/cmd/pipeline/internal/web"
	"pipeline/engine/broker"
	"pipeline/engine/broker/readonly"
)

// uiFlags say where people can look at a process, and what they may do there.
type uiFlags struct {
	listen string
	write  bool
	hosts  []string
	// config is a file of TLS and users; secured is what it says, nil without one.
	config  string
	secured *ops.Secured
	// asked: the address was given, so that it must be had.
	asked bool
}

// uiOff is the address that means no page.
const uiOff = "off"

func (f *uiFlags) register(cmd *cobra.Command, listen string) {
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "ui-listen", listen, "serve a page for people on this `ADDRESS`, of this machine alone unless --ui-web-config says who may look; \"off\" serves none")
	flags.BoolVar(&f.write, "ui-write", false, "let the page put dead letters back")
	flags.StringArrayVar(&f.hosts, "ui-host", nil, "answer also to the host `NAME`, of a proxy with a login on this machine, or of this machine where others reach it; may repeat")
	flags.StringVar(&f.config, "ui-web-config", "", "serve the page with the TLS and the users of this `FILE`, which has the format of Prometheus' exporters")
}

// check reads the flags once they are set. An address that others could reach is
// refused unless the page has TLS and a login.
func (f *uiFlags) check(cmd *cobra.Command) error {
	f.asked = cmd.Flags().Changed("ui-listen")
	if f.listen == uiOff {
		if f.write || len(f.hosts) > 0 || f.config != "" {
			return usage(cmd, "--ui-write, --ui-host and --ui-web-config are about a page, and none is served; say where with --ui-listen %s", web.Default)
		}
		return nil
	}
	var err error
	if f.secured, err = secure("--ui-web-config", f.config, f.listen); err != nil {
		return err
	}
	err = web.CheckAddress(f.listen, f.secured)
	if exposed, ok := errors.AsType[*web.ExposedError](err); ok {
		return fail(exitUsage, "ui_exposed", "--ui-listen: "+exposed.Error())
	}
	if err != nil {
		return usage(cmd, "--ui-listen: %v", err)
	}
	return f.name(cmd)
}

// name makes the page answer to the name that it is reached under by other machines.
func (f *uiFlags) name(cmd *cobra.Command) error {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil || ops.OfThisMachine(f.listen) {
		return err
	}
	ip, err := netip.ParseAddr(host)
	if named := host != "" && (err != nil || !ip.IsUnspecified()); named {
		f.hosts = append(f.hosts, host)
	}
	if len(f.hosts) == 0 {
		return usage(cmd, "--ui-listen %s: say with --ui-host under which NAME or address browsers ask for the page; it answers to no other, "+
			"so that no site can have a name of its own lead here", f.listen)
	}
	return nil
}

// secure reads a file of TLS and users for a listener; without one there are none.
func secure(flag, path, address string) (*ops.Secured, error) {
	if path == "" {
		return nil, nil
	}
	s, err := ops.Secure(path, address)
	if err != nil {
		return nil, fail(exitUsage, "web_config", flag+": "+err.Error())
	}
	return s, nil
}

// uiOf is what the page of a process is about.
type uiOf struct {
	flags uiFlags
	// path is the pipeline's, for the commands that the page shows.
	path, mode string
	// server is asked for entries, and written to where that is allowed.
	server broker.Broker
	// engine and handlers are nil where nothing works.
	engine   metrics.Engine
	handlers *build.Handlers
	journal  *web.Journal
}

// page begins to serve the page of a process; stop ends it. Where none is served,
// stop does nothing.
func (o *observed) page(ctx context.Context, of uiOf, ready []ops.Check) (stop func(), err error) {
	if of.flags.listen == uiOff {
		return func() {}, nil
	}
	options := web.Options{
		Pipeline: o.pipeline, Poller: o.poller, Metrics: o.Metrics, Engine: of.engine, Reader: readonly.New(of.server), Checks: ready,
		Build: o.app.versionOf(), Mode: of.mode, Journal: of.journal, Hosts: of.flags.hosts, Clock: o.app.clock, Log: o.log,
		Command: o.app.about(of.path),
	}
	if server, ok := of.server.(doctor.Server); ok {
		// A monitor's login is that of a viewer: rights that workers need are no matter of it.
		how := o.app.examination(of.path, o.pipeline)
		how.Looks = of.engine == nil
		if how.Server != "" { // no page shows the address of the server
			how.Server = " -h … -p …"
		}
		options.Examine = func(ctx context.Context) []view.Finding { return doctor.Run(ctx, o.pipeline, server, o.app.clock, how) }
	}
	if of.flags.write {
		options.Writer = of.server
	}
	if of.handlers != nil {
		options.Sum = func(label string) string {
			sum, known := of.handlers.Sum(label)
			if !known {
				return ""
			}
			return hex.EncodeToString(sum[:])
		}
	}
	site := web.New(options)
	l, err := ops.Listen(ctx, of.flags.listen, site, of.flags.secured, o.log)
	switch {
	case err == nil:
	case errors.Is(err, ops.ErrInUse) && !of.flags.asked:
		o.log.Warn("no page for people here: "+web.Default+" is in use, by another process of this program perhaps; "+
			"set --ui-listen to another address, or to off", slog.String("event", "ui.not_listening"))
		site.Close()
		return func() {}, nil
	case errors.Is(err, ops.ErrInUse):
		site.Close()
		return nil, fail(exitFailed, "ui_listen", err.Error()+"; set --ui-listen to another address, or to 127.0.0.1:0 for any free port")
	default:
		site.Close()
		return nil, fail(exitUsage, "ui_listen", err.Error()+"; --ui-listen wants HOST:PORT of this machine, or off")
	}
	o.log.Info("a page for people at "+l.URL(), slog.String("event", "ui.listening"), slog.String("page", l.Addr()), slog.Bool("write", of.flags.write))
	return func() {
		if err := l.Close(); err != nil {
			o.log.Warn("the page's listener did not end well", slog.String("event", "ui.closed"), slog.String("error", err.Error()))
		}
		site.Close()
	}, nil
}
