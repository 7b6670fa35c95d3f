package scaffold

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Pipeline is a whole pipeline: its file, a handler, entries to try it with, and
// its test.
func Pipeline(name string) []File {
	data := map[string]string{"Name": name}
	return []File{
		{name + ".hcl", render("pipeline.hcl", data)},
		{"handlers/" + name + ".lua", render("pipeline.lua", data)},
		{name + ".jsonl", render("pipeline.jsonl", data)},
		{name + "_test.hcl", render("pipeline_test.hcl", data)},
	}
}

// PipelineSteps are what to do with a new pipeline.
func PipelineSteps(directory, name string) []Step {
	path, input := quoted(directory), quoted(filepath.Join(directory, name+".jsonl"))
	return []Step{
		{"pipeline validate " + path, "check it"},
		{"pipeline test " + path, "run its tests, without a server"},
		{"pipeline dev " + path + " --input " + input, "run it on these entries, without a server"},
		{"pipeline dry-run " + path + " --input " + input, "see what each handler would do, once"},
		{"pipeline plan " + path, "see what it would create on the server of REDIS_URL"},
		{"pipeline publish " + path + " --input " + input, "add the entries to the server's streams"},
		{"pipeline run " + path, "run it there"},
	}
}

// Occupied is a pipeline file that a directory holds, "" without one. A second
// pipeline beside it would be merged with it.
func Occupied(directory string) string {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return "" // what cannot be read cannot be written either, and that is told
	}
	i := slices.IndexFunc(entries, func(e os.DirEntry) bool {
		return !e.IsDir() && strings.HasSuffix(e.Name(), ".hcl") && !strings.HasSuffix(e.Name(), "_test.hcl")
	})
	if i < 0 {
		return ""
	}
	return filepath.Join(directory, entries[i].Name())
}

// quoted is a path as a shell reads it. One that begins with a dash would be
// read as a flag.
func quoted(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%", r) || r > 0x7f
	}
	if path != "" && !strings.ContainsFunc(path, func(r rune) bool { return !plain(r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
