package cli

import (
	"log/slog"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// openServer opens the server that the pipeline names; it connects when it is
// used first.
func (a *app) openServer(p *spec.Pipeline) (broker.Broker, error) {
	server, err := build.OpenRedis(p.Broker, a.clock, a.warned)
	if err != nil {
		return nil, invalidBroker(err)
	}
	return server, nil
}

// invalidBroker is a broker block that cannot be used.
func invalidBroker(err error) error {
	return fail(exitUsage, "invalid_broker", "broker \"redis\": "+err.Error())
}

// warned logs what is wrong with a connection that goes on all the same.
func (a *app) warned(err error) {
	a.view.Logger(slog.LevelInfo).Warn("the client certificate was not read again", slog.String("event", "tls.certificate_kept"), slog.String("error", err.Error()))
}
