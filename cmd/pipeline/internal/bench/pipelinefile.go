package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pipeline/examples"
	"pipeline/plugins"
)

// Native is the handler that is a Go function in the process: what is left of an
// entry's cost without any sandbox. No pipeline file can name one.
const Native = "none"

// Handlers are what --handler may name: the native one, Lua, and the languages
// of the guests that come with the program.
func Handlers() []string { return append([]string{Native, "lua"}, plugins.Languages...) }

// The files beside the pipeline file. The handlers are those of the worked
// example, in each language.
const (
	pipelineName = "bench.hcl"
	ackScript    = "function handle() return ack() end\n"
)

// WriteHandlers writes the handlers into a folder, where pipeline files name
// them.
func WriteHandlers(dir string) error {
	files := map[string][]byte{"ack.lua": []byte(ackScript), "lua.lua": []byte(examples.PaymentsScript)}
	for _, language := range plugins.Languages {
		code, err := plugins.Built.ReadFile(language + "/payments.wasm")
		if err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		files[language+".wasm"] = code
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	return nil
}

// handlerSource is the file and the function of a job's handler.
func (j *Job) handlerSource() (file, function string) {
	switch {
	case j.Reply == "", j.Handler == Native:
		return "ack.lua", "handle"
	case j.Handler == "lua":
		return "lua.lua", "screen_payment"
	}
	return j.Handler + ".wasm", "screen_payment"
}

// file is the pipeline file of a job, as a user would write it. The address of
// the server is a variable, so that it is in no file.
func (j *Job) file() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("pipeline \"bench\" {\n  language = 1\n}\n")
	p("variable \"url\" {\n  type = string\n  sensitive = true\n}\nbroker \"redis\" {\n  url = var.url\n}\n")
	source, function := j.handlerSource()
	p("handler \"screen\" {\n  source = %q\n  function = %q\n}\n", source, function)
	reply := ""
	if j.Reply != "" {
		p("stream \"replies\" {\n  name = %q\n}\n", j.Reply)
		reply = "    reply {\n      to = stream.replies\n    }\n"
	}
	for i, name := range j.Streams {
		p("stream \"in_%d\" {\n  name = %q\n", i, name)
		p("  entry = object({ id = number, account = string, amount_cents = number })\n}\n")
		p("group \"g_%d\" {\n  name = %q\n  stream = stream.in_%d\n  start = \"beginning\"\n", i, j.Group, i)
		p("  subscription \"s_%d\" {\n    handler = handler.screen\n    batch = %d\n", i, j.Batch)
		p("    claim {\n      min_idle = \"%dms\"\n    }\n    workers {\n      count = %d\n    }\n%s  }\n}\n",
			j.MinIdle.Milliseconds(), j.Workers, reply)
	}
	return b.String()
}

// writeFile writes the pipeline file under a name of its own, for several
// processes may share the folder, and returns its path.
func (j *Job) writeFile() (string, error) {
	dir, err := os.MkdirTemp(j.Dir, "run-")
	if err != nil {
		return "", fmt.Errorf("bench: %w", err)
	}
	source, _ := j.handlerSource()
	code, err := os.ReadFile(filepath.Join(j.Dir, source))
	if err != nil {
		return "", fmt.Errorf("bench: %w", err)
	}
	path := filepath.Join(dir, pipelineName)
	for name, content := range map[string][]byte{path: []byte(j.file()), filepath.Join(dir, source): code} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return "", fmt.Errorf("bench: %w", err)
		}
	}
	return path, nil
}
