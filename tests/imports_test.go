// Package tests holds what is tested across packages: here the rules of the house, which package may import
// which, and what no file may do.
package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// module is the path that begins every import of a package of ours.
const module = "pipeline"

// The libraries that only some packages may know. Everything else can then be used without them: the engine
// from Go without HCL, the language in an editor without Redis.
const (
	hcl       = "github.com/hashicorp/hcl"
	goRedis   = "github.com/redis/go-redis"
	gopherLua = "github.com/yuin/gopher-lua"
	wazero    = "github.com/tetratelabs/wazero"
	telemetry = "go.opentelemetry.io"
)

// rule says what packages may import. Patterns are paths within the module or of a library; "a/..." is a and
// all below it, "a/*" all below it without a itself.
type rule struct {
	packages string
	// may lists the packages of ours that may stand in an import declaration of the package.
	may []string
	// never lists what the package may not reach, not even through others. Test files are exempt from both.
	never []string
}

// rules are tried from the top; the first that matches a package holds for it. A package that none matches
// needs a line here: where it belongs is a decision.
var rules = []rule{
	{"engine/spec", nil, []string{hcl, goRedis, gopherLua, wazero}},
	{"engine/value", nil, []string{hcl, goRedis, gopherLua, wazero}},
	{"engine/clock", nil, []string{hcl, goRedis, gopherLua, wazero}},
	{"lang/diag", nil, []string{goRedis, gopherLua, wazero}},
	{"engine/outcome", []string{"engine/value"}, []string{hcl, goRedis, gopherLua, wazero}},
	{
		"engine/broker", []string{"engine/clock"},
		[]string{"engine", "lang/...", "sandbox/...", hcl, goRedis},
	},
	{
		"engine/broker/redis/...", []string{"engine/broker", "engine/broker/redis/...", "engine/clock"},
		[]string{"engine", "lang/...", "sandbox/...", hcl},
	},
	{
		"engine/broker/*", []string{"engine/broker/...", "engine/clock"},
		[]string{"engine", "lang/...", "sandbox/...", hcl, goRedis},
	},
	{
		"engine/codec", []string{"engine/spec", "engine/value"},
		[]string{"engine/broker/...", "sandbox/...", "lang/...", hcl, goRedis},
	},
	{
		"engine/observe", []string{"engine/spec", "engine/outcome", "engine/value", "engine/clock", "engine/broker", "sandbox"},
		[]string{"engine", "engine/broker/*", "lang/...", hcl, goRedis, gopherLua, wazero, telemetry},
	},
	{
		"engine/harness",
		[]string{
			"engine", "engine/spec", "engine/outcome", "engine/value", "engine/clock", "engine/codec", "engine/observe",
			"engine/broker", "engine/broker/memory", "sandbox",
		},
		[]string{"lang/...", hcl, goRedis},
	},
	{
		"engine/backlog", []string{"engine/broker", "engine/clock"},
		[]string{"engine", "engine/broker/*", "lang/...", "sandbox/...", hcl, goRedis},
	},
	{
		"engine/poll", []string{"engine/broker", "engine/clock", "engine/spec"},
		[]string{"engine", "engine/broker/*", "lang/...", "sandbox/...", hcl, goRedis, gopherLua, wazero},
	},
	{"engine", engineMay, engineNever},
	{"engine/internal/*", append(slices.Clone(engineMay), "engine/internal/*"), engineNever},
	{
		"sandbox", []string{"engine/outcome", "engine/value", "engine/clock"},
		[]string{"engine", "engine/broker/...", "lang/...", hcl, goRedis, gopherLua, wazero},
	},
	{
		"sandbox/*", []string{"engine/outcome", "engine/value", "engine/clock", "sandbox/..."},
		[]string{"engine", "engine/broker/...", "lang/...", hcl, goRedis},
	},
	{
		"lang/...", []string{"engine/spec", "engine/value", "lang/..."},
		[]string{"engine", "engine/broker/...", "sandbox/...", goRedis, gopherLua, wazero, telemetry},
	},
	{"cmd/...", []string{"..."}, nil},
	{"tests/...", []string{"..."}, nil},
	{"plugins/...", nil, nil},
	{"examples/...", []string{"..."}, nil},
}

var (
	engineMay = []string{
		"engine/spec", "engine/outcome", "engine/value", "engine/clock", "engine/broker", "engine/codec",
		"engine/observe", "engine/backlog", "engine/internal/*", "sandbox",
	}
	engineNever = []string{"engine/broker/*", "sandbox/*", "lang/...", "cmd/...", hcl, goRedis, gopherLua, wazero, telemetry}
)

// graph holds the imports of every package, test files left out. Packages of ours are named by their path
// within the module, others by their import path.
type graph map[string][]string

// matches says whether a package falls under a pattern. A library's pattern covers its versions and folders.
func matches(pattern, pkg string) bool {
	switch folder, kind := cutLast(pattern); {
	case pattern == "...":
		return true
	case kind == "...":
		return pkg == folder || strings.HasPrefix(pkg, folder+"/")
	case kind == "*":
		return strings.HasPrefix(pkg, folder+"/")
	case strings.Contains(pattern, "."):
		return pkg == pattern || strings.HasPrefix(pkg, pattern+"/")
	default:
		return pkg == pattern
	}
}

func cutLast(pattern string) (folder, last string) {
	i := strings.LastIndexByte(pattern, '/')
	if i < 0 {
		return "", pattern
	}
	return pattern[:i], pattern[i+1:]
}

func anyMatches(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, pkg) })
}

// violations returns a line for every import of ours that breaks a rule, sorted.
func violations(g graph, ours []string, rules []rule) []string {
	var found []string
	for _, pkg := range ours {
		i := slices.IndexFunc(rules, func(r rule) bool { return matches(r.packages, pkg) })
		if i < 0 {
			found = append(found, pkg+": no rule says what it may import; add one")
			continue
		}
		for _, imported := range g[pkg] {
			if slices.Contains(ours, imported) && !anyMatches(rules[i].may, imported) {
				found = append(found, fmt.Sprintf("%s: may not import %s", pkg, imported))
			}
		}
		for _, path := range reached(g, pkg, rules[i].never) {
			found = append(found, fmt.Sprintf("%s: must not reach %s", pkg, strings.Join(path, " -> ")))
		}
	}
	slices.Sort(found)
	return found
}

// reached returns, for every package that matches one of the patterns and can be reached from start, the
// shortest way to it. It does not look behind such a package.
func reached(g graph, start string, patterns []string) [][]string {
	var found [][]string
	seen := map[string]bool{start: true}
	for ways := [][]string{{start}}; len(ways) > 0; ways = ways[1:] {
		way := ways[0]
		for _, next := range g[way[len(way)-1]] {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := append(slices.Clone(way), next)
			if anyMatches(patterns, next) {
				found = append(found, longer[1:])
			} else {
				ways = append(ways, longer)
			}
		}
	}
	return found
}

// load reads the graph of this module with the go command. Packages that do not compile are read as far as
// their imports.
func load(t *testing.T) (g graph, ours []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-deps", "-json=ImportPath,Imports,Standard", "./...")
	cmd.Dir = ".."
	output, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	g = graph{}
	within := func(path string) string { return strings.TrimPrefix(path, module+"/") }
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var listed struct {
			ImportPath string
			Imports    []string
			Standard   bool
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return g, ours
		} else if err != nil {
			t.Fatalf("read go list's output: %v", err)
		}
		if listed.Standard {
			continue
		}
		name := within(listed.ImportPath)
		if name != listed.ImportPath {
			ours = append(ours, name)
		}
		for _, imported := range listed.Imports {
			g[name] = append(g[name], within(imported))
		}
	}
}

func TestImportsFollowTheRules(t *testing.T) {
	t.Parallel()
	g, ours := load(t)
	if !slices.Contains(ours, "engine/clock") {
		t.Fatalf("go list does not see this module's packages: %v", ours)
	}
	for _, violation := range violations(g, ours, rules) {
		t.Error(violation)
	}
}

// TestViolationsAreFound proves that the check can fail: each graph breaks the rules in one way.
func TestViolationsAreFound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		graph graph
		want  []string
	}{
		"allowed": {
			graph{
				"engine": {"engine/spec", "sandbox", "fmt"}, "engine/spec": {"time"},
				"sandbox": {"engine/outcome"}, "engine/outcome": {"engine/value"}, "engine/value": nil,
				"cmd/pipeline/internal/build": {"engine", "lang", "engine/broker/redis"}, "lang": {"engine/spec", hcl + "/v2"},
				"engine/broker/redis": {"engine/broker", goRedis + "/v9"}, "engine/broker": {"engine/clock"}, "engine/clock": nil,
			},
			nil,
		},
		"a leaf imports one of ours": {
			graph{"engine/spec": {"engine/value"}, "engine/value": nil},
			[]string{"engine/spec: may not import engine/value"},
		},
		"a direct import": {
			graph{"lang/schema": {"engine/broker"}, "engine/broker": nil},
			[]string{"lang/schema: may not import engine/broker", "lang/schema: must not reach engine/broker"},
		},
		"only through another": {
			graph{
				"engine": {"engine/internal/reader"}, "engine/internal/reader": {"example.com/a"},
				"example.com/a": {"example.com/b"}, "example.com/b": {goRedis + "/v9/internal"},
			},
			[]string{
				"engine/internal/reader: must not reach example.com/a -> example.com/b -> " + goRedis + "/v9/internal",
				"engine: must not reach engine/internal/reader -> example.com/a -> example.com/b -> " + goRedis + "/v9/internal",
			},
		},
		"the engine takes interfaces, not engines": {
			graph{"engine": {"sandbox/lua"}, "sandbox/lua": {gopherLua}},
			[]string{"engine: may not import sandbox/lua", "engine: must not reach sandbox/lua"},
		},
		"a broker that is not Redis knows no Redis": {
			graph{"engine/broker/memory": {goRedis + "/v9"}},
			[]string{"engine/broker/memory: must not reach " + goRedis + "/v9"},
		},
		"a package of no rule": {
			graph{"helpers": nil},
			[]string{"helpers: no rule says what it may import; add one"},
		},
		"a cycle through others ends": {
			graph{"cmd/pipeline": {"example.com/a"}, "example.com/a": {"example.com/b"}, "example.com/b": {"example.com/a"}},
			nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ours []string
			for pkg := range test.graph {
				if !strings.Contains(pkg, ".") {
					ours = append(ours, pkg)
				}
			}
			if got := violations(test.graph, ours, rules); !slices.Equal(got, test.want) {
				t.Errorf("got:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(test.want, "\n  "))
			}
		})
	}
}
