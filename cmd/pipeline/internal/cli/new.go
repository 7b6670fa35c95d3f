package cli

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/scaffold"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/spec"
)

func (a *app) newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Write a working start: a pipeline, a handler or a test",
		Long: "new writes a start that works, with its test beside it. It never writes over a file: all of its files are new, or\n" +
			"none is written.",
		Example: "  pipeline new pipeline shop\n  pipeline new handler audit --dir shop",
		Args:    unknownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	handler := a.newKind(newKind{
		name: "handler", dir: ".", dirUsage: beside, run: a.newHandler,
		short: "Write a handler for the pipeline in a directory, and its test",
		long: "new handler writes handlers/NAME.lua and NAME_test.hcl beside a pipeline, and prints the blocks that make the\n" +
			"handler part of it. In another language it writes the folder handlers/NAME with the source, the SDK file and\n" +
			"build.sh. The pipeline's own files are yours: they are never changed.",
		example: "  pipeline new handler audit --dir shop\n  pipeline new handler audit --dir shop --lang rust",
	})
	handler.Flags().String("lang", scaffold.Lua, "write it in `LANG`: "+strings.Join(scaffold.Languages(), ", "))
	cmd.AddCommand(
		a.newKind(newKind{
			name: "pipeline", dirUsage: "write to the directory `DIR` instead of NAME", run: a.newPipeline,
			short: "Write a pipeline with a handler, entries to try it with, and its test",
			long: "new pipeline writes NAME.hcl, handlers/NAME.lua, NAME.jsonl and NAME_test.hcl into a directory that holds no\n" +
				"pipeline yet: NAME itself, or the one of --dir.",
			example: "  pipeline new pipeline shop\n  pipeline new pipeline shop --dir services/shop",
		}),
		handler,
		a.newKind(newKind{
			name: "test", dir: ".", dirUsage: beside, run: a.newTest,
			short: "Write a test for the pipeline in a directory",
			long: "new test writes NAME_test.hcl beside a pipeline, with a case for every group and entries made from the\n" +
				"declared types.",
			example: "  pipeline new test limits --dir shop",
		}),
	)
	return cmd
}

// beside is what --dir means where there is a pipeline already.
const beside = "the directory `DIR` that holds the pipeline"

// newKind is one of the commands below new.
type newKind struct {
	name, short, long, example string
	// dir is the default of --dir; "" takes the name.
	dir, dirUsage string
	run           func(cmd *cobra.Command, directory, name string) error
}

func (a *app) newKind(k newKind) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: k.name + " NAME", Short: k.short, Long: k.long, Example: k.example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, "%s needs a NAME", cmd.CommandPath())
			}
			if len(args) > 1 {
				return usage(cmd, "%s takes one NAME, here are %d: %s", cmd.CommandPath(), len(args), strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("dir") && dir == "" {
				return usage(cmd, "--dir is empty")
			}
			if err := scaffold.CheckName(args[0]); err != nil {
				return badName(cmd, err)
			}
			if dir == "" {
				dir = args[0]
			}
			return k.run(cmd, filepath.Clean(dir), args[0])
		},
	}
	cmd.Flags().StringVar(&dir, "dir", k.dir, k.dirUsage)
	return cmd
}

// badName is a name that cannot be used, with what to do.
func badName(cmd *cobra.Command, err error) error {
	e := usage(cmd, "%v", err)
	if bad, ok := errors.AsType[*scaffold.NameError](err); ok {
		e.Detail = bad.Remedy
		return e.near(bad.Suggestion)
	}
	return e
}

func (a *app) newPipeline(_ *cobra.Command, directory, name string) error {
	// Files of its own are told with the others that exist.
	if file := scaffold.Occupied(directory); file != "" && file != filepath.Join(directory, name+".hcl") {
		return fail(exitUsage, "pipeline_exists", file+" is a pipeline already, and the .hcl files of one directory are one pipeline; "+
			"name another directory with --dir, or add to this one with `pipeline new handler`")
	}
	return a.create(directory, scaffold.Pipeline(name), nil, scaffold.PipelineSteps(directory, name))
}

func (a *app) newHandler(cmd *cobra.Command, directory, name string) error {
	lang, err := cmd.Flags().GetString("lang")
	if err != nil {
		return usage(cmd, "--lang: %v", err)
	}
	if err := oneOf(cmd, "lang", lang, scaffold.Languages()...); err != nil {
		return err
	}
	p, err := a.loadBeside(cmd, directory)
	if err != nil {
		return err
	}
	files, paste, err := scaffold.Handler(name, lang, p)
	if taken, ok := errors.AsType[*scaffold.TakenError](err); ok {
		return fail(exitUsage, "name_taken", taken.Error()+"; choose another name")
	}
	if err != nil {
		return incomplete(err)
	}
	return a.create(directory, files, &paste, scaffold.HandlerSteps(directory, name, lang))
}

func (a *app) newTest(cmd *cobra.Command, directory, name string) error {
	p, err := a.loadBeside(cmd, directory)
	if err != nil {
		return err
	}
	files, err := scaffold.Test(name, p)
	if err != nil {
		return incomplete(err)
	}
	return a.create(directory, files, nil, scaffold.TestSteps(directory, name))
}

// incomplete is a pipeline that lacks what is to be built on.
func incomplete(err error) error {
	return fail(exitUsage, "pipeline_incomplete", err.Error()+"; add one first")
}

// loadBeside loads the pipeline of a directory that something is to be written
// to.
func (a *app) loadBeside(cmd *cobra.Command, directory string) (*spec.Pipeline, error) {
	if filepath.Ext(directory) == ".hcl" {
		return nil, usage(cmd, "--dir names the directory that holds the pipeline, not %s", directory)
	}
	return a.load(cmd, directory)
}

// create writes the files and prints what there is now.
func (a *app) create(directory string, files []scaffold.File, paste *scaffold.Paste, steps []scaffold.Step) error {
	created, err := scaffold.Create(directory, files)
	if exists, ok := errors.AsType[*scaffold.ExistsError](err); ok {
		return fail(exitUsage, "file_exists", exists.Error()+"; nothing was written")
	}
	if err != nil {
		return fail(exitFailed, "not_written", err.Error())
	}
	for _, file := range created {
		a.view.Created(file)
	}
	if paste != nil {
		a.view.Paste(paste.Into, paste.Text)
	}
	next := make([]view.Step, len(steps))
	for i, s := range steps {
		next[i] = view.Step(s)
	}
	a.view.Next(next)
	return nil
}
