package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pipeline/tests/program"
	"pipeline/tests/redistest"
)

// secret is in every password of these tests, in plain and in encoded ones.
const secret = "hunter2"

// invocations are the arguments to run every command with, by the name of its page
// in the manual, in which no command is missing. FILE is the pipeline, INPUT
// entries for it, URL the server's address with the password in it.
var invocations = map[string][][]string{
	"pipeline":                  {{}, {"--no-such-flag"}, {"__complete", "dlq", "list", "FILE", ""}},
	"pipeline-apply":            {{"apply", "FILE"}},
	"pipeline-bench":            {{"bench"}, {"bench", "--redis", "URL", "--scenario", "ack", "--entries", "200", "--rounds", "1"}},
	"pipeline-completion":       {{"completion", "bash"}},
	"pipeline-dev":              {{"dev", "FILE", "--input", "INPUT"}},
	"pipeline-dlq":              {{"dlq"}},
	"pipeline-dlq-drop":         {{"dlq", "drop", "FILE", "--all"}, {"dlq", "drop", "FILE", "--all", "--yes"}},
	"pipeline-dlq-export":       {{"dlq", "export", "FILE", "--all"}},
	"pipeline-dlq-list":         {{"dlq", "list", "FILE"}},
	"pipeline-dlq-replay":       {{"dlq", "replay", "FILE", "--all"}, {"dlq", "replay", "FILE", "--all", "--yes"}},
	"pipeline-dlq-show":         {{"dlq", "show", "FILE", "1-1"}},
	"pipeline-dlq-stats":        {{"dlq", "stats", "FILE"}},
	"pipeline-dry-run":          {{"dry-run", "FILE", "--input", "INPUT"}, {"dry-run", "FILE", "--live"}, {"dry-run", "FILE", "--live", "--against", "FILE"}},
	"pipeline-explain":          {{"explain"}, {"explain", "server_refuses"}, {"explain", "URL"}},
	"pipeline-export":           {{"export"}},
	"pipeline-export-acl":       {{"export", "acl", "FILE"}},
	"pipeline-export-alerts":    {{"export", "alerts", "FILE"}},
	"pipeline-export-dashboard": {{"export", "dashboard", "FILE"}},
	"pipeline-fmt":              {{"fmt", "--check", "FILE"}, {"fmt", "--diff", "FILE"}},
	"pipeline-graph":            {{"graph", "FILE"}, {"graph", "FILE", "--format", "json"}, {"graph", "FILE", "--live"}},
	"pipeline-help":             {{"help"}, {"help", "run"}},
	"pipeline-man":              {{"man", "--dir", "man"}},
	"pipeline-monitor":          {{"monitor", "FILE", "--ops-listen", "127.0.0.1:0", "--ui-listen", "127.0.0.1:0"}, {"monitor", "FILE", "--ops-listen", "off", "--ui-listen", "127.0.0.1:0"}},
	"pipeline-new":              {{"new"}},
	"pipeline-new-handler":      {{"new", "handler", "other"}},
	"pipeline-new-pipeline":     {{"new", "pipeline", "other"}},
	"pipeline-new-test":         {{"new", "test", "FILE"}},
	"pipeline-pending":          {{"pending"}},
	"pipeline-pending-list":     {{"pending", "list", "FILE"}},
	"pipeline-pending-show":     {{"pending", "show", "FILE", "1-1"}},
	"pipeline-plan":             {{"plan", "FILE"}, {"plan", "FILE", "--capacity", "--rate", "1", "--outage", "1h"}},
	"pipeline-publish":          {{"publish", "FILE", "--to", "in", "--input", "INPUT"}},
	"pipeline-run":              {{"run", "FILE", "--log-level", "debug"}, {"run", "FILE", "--ui-listen", "127.0.0.1:0", "--ui-write"}},
	"pipeline-seek":             {{"seek", "FILE", "g=0"}, {"seek", "FILE", "g=0", "--yes"}},
	"pipeline-schema":           {{"schema"}, {"schema", "--format", "jsonschema"}},
	"pipeline-stats":            {{"stats", "FILE"}},
	"pipeline-tail":             {{"tail", "FILE"}, {"tail", "FILE", "--from", "1h", "--json"}},
	"pipeline-test":             {{"test", "FILE"}, {"test", "FILE", "--redis", "URL"}},
	"pipeline-validate":         {{"validate", "FILE"}},
	"pipeline-version":          {{"version"}},

	"pipeline-consumers": {{"consumers"}},
	"pipeline-doctor":    {{"doctor", "FILE"}},
	"pipeline-top":       {{"top", "FILE"}},
	"pipeline-replay": {
		{"replay", "FILE", "s", "--from", "0", "--group", "again"},
		{"replay", "FILE", "s", "--from", "0", "--to", "1", "--group", "again", "--yes"},
	},
	"pipeline-consumers-list":  {{"consumers", "list", "FILE"}},
	"pipeline-consumers-prune": {{"consumers", "prune", "FILE", "--all"}, {"consumers", "prune", "FILE", "--all", "--idle", "0s", "--yes"}},
}

// passwordFile is a pipeline whose entries fail in every way; BROKER is its broker.
const passwordFile = `
pipeline "secret" {
  language = 1
}
variable "redis_url" {
  type      = string
  default   = env("REDIS_URL", "redis://localhost:1")
  sensitive = true
}
variable "password" {
  type      = string
  default   = ""
  sensitive = true
}
broker "redis" {
  BROKER
}
stream "in" {}
stream "dead" {}
handler "h" {
  source = "h.lua"
  grant "log" {}
}
group "g" {
  stream = stream.in
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "s" {
    handler    = handler.h
    on_failure = "dead"
    claim {
      min_idle = "60s"
    }
  }
}
`

// passwordScript logs all that it can reach, and fails with it where it is told to.
const passwordScript = `
local function reach(name, v, seen, all)
  all[#all + 1] = name .. "=" .. tostring(v)
  if type(v) == "table" and not seen[v] then
    seen[v] = true
    for k, x in pairs(v) do reach(name .. "." .. tostring(k), x, seen, all) end
  end
end
function handle(e, ctx)
  local all, seen = {}, {}
  reach("entry", e, seen, all)
  reach("ctx", ctx, seen, all)
  for name, v in pairs({ globals = _G, os = os, io = io, package = package, debug = debug, log = log, string = string, require = require }) do
    reach(name, v, seen, all)
  end
  local text = table.concat(all, " ")
  for i = 1, #text, 1000 do log.info("all of it", { part = text:sub(i, i + 999), env = tostring(os and os.getenv) }) end
  if e.fail then error("it failed: " .. text) end
  return ack()
end
`

const passwordTest = `
test "one" {
  step "one" {
    publish {
      to    = stream.in
      entry = {}
    }
    assert {
      condition = subscription.s.outcomes == ["retry"]
    }
  }
}
`

// place is where a password stands. HOST is the server's address.
type place struct {
	name string
	// broker is the broker block; url is in REDIS_URL; vars are --var arguments; file
	// is a file of variables.
	broker, url, file string
	vars              []string
	// works: the server accepts it.
	works bool
}

const byURL = "url = var.redis_url"

var places = []place{
	{name: "environment", broker: byURL, url: "redis://:hunter2-right@HOST", works: true},
	{name: "user and password", broker: byURL, url: "redis://worker:p%40ss%2Fhunter2@HOST", works: true},
	{name: "argument", broker: byURL, vars: []string{"redis_url=redis://:hunter2-right@HOST"}, works: true},
	{name: "file of variables", broker: byURL, file: `redis_url = "redis://:hunter2-right@HOST"`, works: true},
	{
		name: "argument of the block", broker: "url = \"redis://HOST\"\n  username = \"worker\"\n  password = var.password",
		vars: []string{"password=p@ss/hunter2"}, works: true,
	},
	{name: "in the file", broker: `url = "redis://:hunter2-right@HOST/0"`, works: true},
	{name: "wrong", broker: byURL, url: "redis://worker:hunter2-wrong@HOST"},
	{name: "wrong port", broker: byURL, url: "redis://:hunter2-right@127.0.0.1:1"},
	{name: "wrong host", broker: byURL, url: "redis://:hunter2-right@host.invalid:6379"},
	{name: "no TLS", broker: byURL, url: "rediss://:hunter2-right@HOST"},
	{name: "query", broker: byURL, url: "redis://HOST?password=hunter2-right"},
	{name: "no URL", broker: byURL, url: "redis://worker:hunter2%zz@HOST:port"},
	{name: "scheme", broker: byURL, url: "http://:hunter2-right@HOST"},
	{name: "badly escaped", broker: byURL, url: "redis://:hunter2#right@HOST"},
	{
		name: "sentinel", vars: []string{"password=hunter2-sentinel"}, url: "redis://:hunter2-right@HOST",
		broker: "url = var.redis_url\n  sentinel {\n    master    = \"m\"\n    addresses = [\"127.0.0.1:1\"]\n    password  = var.password\n  }",
	},
	{name: "beside mistakes", broker: "url = \"redis://:hunter2-right@HOST\"\n  password = \"hunter2-too\"\n  usrname = \"hunter2\""},
	{name: "of the wrong type", broker: "url = var.redis_url\n  password = [var.password]", vars: []string{"password=hunter2-list"}},
}

// desk is a folder with a pipeline, for one place of a password.
type desk struct {
	place
	dir, url string
}

// at fills in the server's address.
func (p place) at(t *testing.T, host string) *desk {
	t.Helper()
	fill := func(text string) string { return strings.ReplaceAll(text, "HOST", host) }
	d := &desk{place: p, dir: t.TempDir(), url: fill(p.url)}
	if d.url == "" {
		d.url = fill("redis://:hunter2-right@HOST")
	}
	files := map[string]string{
		"secret.hcl": strings.ReplaceAll(passwordFile, "BROKER", fill(p.broker)), "h.lua": passwordScript,
		"secret_test.hcl": passwordTest, "in.jsonl": "{}\n{\"fail\":true}\nnonsense\n", "vars.hcl": fill(p.file) + "\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// command is one run of the program at the desk, with all that is printed in output.
func (d *desk) command(ctx context.Context, host string, args ...string) (cmd *exec.Cmd, output *program.Output) {
	args = slices.Clone(args)
	whole := false
	for i, arg := range args {
		whole = whole || arg == "FILE"
		args[i] = strings.NewReplacer("FILE", "secret.hcl", "INPUT", "in.jsonl", "URL", d.url).Replace(arg)
	}
	if whole {
		for _, v := range d.vars {
			args = append(args, "--var", strings.ReplaceAll(v, "HOST", host))
		}
		if d.file != "" {
			args = append(args, "--var-file", "vars.hcl")
		}
	}
	cmd = exec.CommandContext(ctx, "pipeline", args...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "GOTRACEBACK=all", "REDIS_URL="+d.url,
		// Nobody listens there, so that the failure is told.
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TIMEOUT=200", "OTEL_BSP_SCHEDULE_DELAY=50",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20"+secret+",broken"+secret)
	output = &program.Output{}
	cmd.Stdout, cmd.Stderr = output, output
	return cmd, output
}

// pages are the commands, as the manual has them.
func pages(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("pipeline", "man", "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".1"))
	}
	return names
}

// Every command, with the password of its server in every place where it may stand,
// right and wrong, in text and as JSON: none prints any of it.
func TestNoCommandPrintsThePassword(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "8.6", redistest.Password("hunter2-right"),
		redistest.Config("user", "worker", "on", ">p@ss/hunter2", "~*", "&*", "+@all"))
	names := pages(t)
	for _, name := range names {
		if invocations[name] == nil {
			t.Errorf("%s: say in this test how to run it", name)
		}
	}
	for i, p := range places {
		t.Run(p.name, func(t *testing.T) {
			d := p.at(t, s.Addr)
			var all sync.WaitGroup
			defer all.Wait()
			atOnce := make(chan struct{}, 8)
			for j, args := range everyInvocation(names, i == 0) {
				// Each form of the output for half of the places.
				if (i+j)%2 == 0 {
					args = append(slices.Clone(args), "--json")
				}
				atOnce <- struct{}{}
				all.Go(func() {
					defer func() { <-atOnce }()
					if len(args) > 1 && (args[0] == "run" || args[0] == "monitor") {
						d.dump(t, s.Addr, args)
					} else {
						d.try(t, s.Addr, args)
					}
				})
			}
		})
	}
}

// everyInvocation is all that is run; confused adds the URL where the path of the
// pipeline belongs.
func everyInvocation(names []string, confused bool) (all [][]string) {
	for _, name := range names {
		for _, args := range invocations[name] {
			all = append(all, args)
			if at := slices.Index(args, "FILE"); at >= 0 && confused {
				args = slices.Clone(args)
				args[at] = "URL"
				all = append(all, args)
			}
		}
	}
	return all
}

// try runs a command to its end.
func (d *desk) try(t *testing.T, host string, args []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd, output := d.command(ctx, host, args...)
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ctx.Err() != nil {
		t.Errorf("%v: %v", args, errors.Join(err, ctx.Err()))
		return
	}
	if slices.Equal(args[:min(2, len(args))], []string{"plan", "FILE"}) && !slices.Contains(args, "--capacity") && d.works != (err == nil) {
		t.Errorf("plan: %v, want that it works: %v\n%s", err, d.works, output)
	}
	expectNoSecret(t, args, output.String())
}

// dump runs a pipeline until it reads or waits for its server, and then has it say
// what every goroutine is about.
func (d *desk) dump(t *testing.T, host string, args []string) {
	t.Helper()
	cmd, output := d.command(t.Context(), host, args...)
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	limit := time.After(patience)
	for begun := false; !begun; {
		select {
		case <-ended:
			expectNoSecret(t, args, output.String())
			return // it refused the pipeline
		case <-look.C:
			text := output.String()
			begun = strings.Contains(text, "subscription.reading") || strings.Contains(text, "redis.lost") ||
				args[0] == "monitor" && strings.Contains(text, "process.started")
		case <-limit:
			_ = cmd.Process.Kill()
			<-ended
			t.Errorf("%v neither reads nor waits:\n%s", args, output)
			return
		}
	}
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	<-ended
	if !strings.Contains(output.String(), "goroutine ") {
		t.Errorf("%v: no dump:\n%s", args, output)
	}
	expectNoSecret(t, args, output.String())
}

func expectNoSecret(t *testing.T, args []string, output string) {
	t.Helper()
	for line := range strings.Lines(output) {
		if strings.Contains(line, secret) {
			t.Errorf("%v prints the password: %s", args, line)
		}
	}
}
