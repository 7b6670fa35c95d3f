package scaffold

import (
	"bytes"
	"fmt"
	"slices"

	"pipeline/plugins"
)

// Lua is the language of handlers that are not built.
const Lua = "lua"

// Languages are what a handler can be written in.
func Languages() []string { return append([]string{Lua}, plugins.Languages...) }

// language is how a handler is written in a language that is built.
type language struct {
	// extension is of its sources, sdk the name of the SDK file.
	extension, sdk string
	// template is that of the source; more are files besides, by their
	// templates. None is named as a file of this program's own language.
	template string
	more     map[string]string
}

var languages = map[string]language{
	"c":              {".c", "pipeline.h", "handler.c", nil},
	"rust":           {".rs", "pipeline.rs", "handler.rs", nil},
	"assemblyscript": {".ts", "pipeline.ts", "handler.ts", nil},
	"go":             {".go", "pipeline.go", "handler.golang", map[string]string{"handler.gomod": "go.mod"}},
}

// sources are the files of a handler, and the name of the one that the pipeline
// file names. What is built has a folder of its own.
func sources(lang, name string, data any) (files []File, source string, err error) {
	if lang == Lua {
		source = "handlers/" + name + ".lua"
		return []File{{source, render("handler.lua", data)}}, source, nil
	}
	if !slices.Contains(plugins.Languages, lang) {
		return nil, "", fmt.Errorf("there is no language %q", lang)
	}
	l, folder := languages[lang], "handlers/"+name+"/"
	files = []File{{folder + name + l.extension, render(l.template, data)}}
	for from, to := range map[string]string{l.sdk: l.sdk, "build.sh": "build.sh"} {
		text, err := plugins.SDK.ReadFile(lang + "/" + from)
		if err != nil {
			return nil, "", fmt.Errorf("the SDK of %s: %w", lang, err)
		}
		if from == "build.sh" {
			text = bytes.ReplaceAll(text, []byte("payments"), []byte(name))
		}
		files = append(files, File{folder + to, text})
	}
	for from, to := range l.more {
		files = append(files, File{folder + to, render(from, data)})
	}
	slices.SortFunc(files[1:], func(a, b File) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return files, folder + name + ".wasm", nil
}
