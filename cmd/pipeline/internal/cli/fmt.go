package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/source"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/lang"
	"pipeline/lang/diag"
	"pipeline/lang/format"
)

// fmtFlags are the flags of fmt.
type fmtFlags struct{ check, diff bool }

func (a *app) fmtCommand() *cobra.Command {
	var flags fmtFlags
	cmd := &cobra.Command{
		Use:   "fmt PATH…",
		Short: "Lay out pipeline files and their tests, changing white space only",
		Long: "fmt lays out the .hcl files that the paths name, and those in directories and all below them. It changes white\n" +
			"space only, prints the names of the files it has changed, and leaves a file with an error of syntax as it is.\n" +
			"With - it reads stdin and writes stdout.",
		Args: somePaths,
		RunE: func(cmd *cobra.Command, args []string) error { return a.fmt(cmd, args, flags) },
	}
	cmd.Flags().BoolVar(&flags.check, "check", false, "write nothing, list the files that fmt would change, and exit with 3 if there are any")
	cmd.Flags().BoolVar(&flags.diff, "diff", false, "write nothing, print what fmt would change")
	return cmd
}

// somePaths checks the arguments of fmt.
func somePaths(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(cmd, "fmt needs a PATH: a .hcl file, a directory of them, or - for stdin")
	}
	for _, arg := range args {
		if arg == "-" && len(args) > 1 {
			return usage(cmd, "- is stdin, and stands alone")
		}
	}
	return nil
}

// fmtRun is one run of fmt.
type fmtRun struct {
	a      *app
	flags  fmtFlags
	finder source.Finder
	// differ counts the files that are laid out differently; failed and invalid
	// tell that one could not be written, or not be laid out.
	differ          int
	failed, invalid bool
}

func (a *app) fmt(cmd *cobra.Command, paths []string, flags fmtFlags) error {
	r := &fmtRun{a: a, flags: flags}
	if paths[0] == "-" {
		if err := r.stdin(); err != nil {
			return err
		}
		return r.result("-")
	}
	for _, path := range paths {
		r.path(cmd, path)
	}
	return r.result("PATH")
}

// result is how the run ends. What could not be written is graver than what is
// wrong with a file, and that than a difference.
func (r *fmtRun) result(what string) error {
	switch {
	case r.failed:
		return said(exitFailed)
	case r.invalid:
		return said(exitUsage)
	case r.flags.check && r.differ > 0:
		are := fmt.Sprintf("%d files are", r.differ)
		if r.differ == 1 {
			are = "1 file is"
		}
		return fail(exitDifference, "not_formatted", are+" not laid out as fmt does; `pipeline fmt "+what+"` does it")
	}
	return nil
}

// path formats what one argument names.
func (r *fmtRun) path(cmd *cobra.Command, path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		r.unreadable(path, err)
	case info.IsDir():
		files, found := r.finder.Below(path, r.unreadable)
		if found == 0 {
			r.refuse(diag.Diagnostic{
				Code: diag.NoFiles, Range: diag.Range{File: path},
				Summary: "the directory holds no .hcl file", Detail: "fmt lays out the .hcl files in it and in the directories below.",
			})
		}
		for _, file := range files {
			r.file(file)
		}
	case filepath.Ext(path) != source.Extension:
		e := usage(cmd, "%s is no .hcl file", path)
		e.Detail = "fmt lays out files of the pipeline language, whose names end in .hcl; `pipeline fmt -` lays out what it reads from stdin."
		r.refuse(e.Diagnostic)
	default:
		file, ok, err := r.finder.Named(path)
		if err != nil {
			r.unreadable(path, err)
		}
		if ok {
			r.file(file)
		}
	}
}

// refuse prints why something is not formatted.
func (r *fmtRun) refuse(d diag.Diagnostic) {
	r.invalid = true
	d.Severity = diag.Error
	r.a.view.Diagnostic(d)
}

// unreadable prints why a path leads nowhere.
func (r *fmtRun) unreadable(path string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		_, report := lang.ReadFile(path)
		r.report(report)
		return
	}
	r.refuse(diag.Diagnostic{
		Code: diag.FileUnreadable, Range: diag.Range{File: path},
		Summary: "it cannot be read", Detail: "The system says: " + systemReason(err) + ".",
	})
}

// report prints what is wrong with a file.
func (r *fmtRun) report(report *diag.Report) {
	r.invalid = true
	r.a.view.Report(report)
}

// file formats one file.
func (r *fmtRun) file(file source.File) {
	if info, err := os.Stat(file.Path); err != nil || !info.Mode().IsRegular() {
		r.unreadable(file.Name, errors.Join(err, errors.New("it is not a regular file")))
		return
	}
	text, report := lang.ReadFile(file.Name)
	if report.HasErrors() {
		r.report(report)
		return
	}
	out, report := format.Format(file.Name, text)
	if report.HasErrors() {
		r.report(report)
		return
	}
	f := r.formatted(file.Name, text, out, report)
	if f.Changed && !r.flags.check && !r.flags.diff {
		if err := source.Replace(file, text, out); err != nil {
			r.failed = true
			r.a.view.Failure(view.Failure{Exit: exitFailed, Code: "not_written", Message: err.Error()})
			return
		}
		f.Written = true
	}
	r.a.view.Formatted(f)
}

// formatted is what there is to tell about a file.
func (r *fmtRun) formatted(name string, before, after []byte, report *diag.Report) view.Formatted {
	f := view.Formatted{File: name, Changed: !bytes.Equal(before, after), ShowDiff: r.flags.diff}
	if !f.Changed {
		return f
	}
	r.differ++
	if r.flags.diff {
		f.Before = report.Masked(before)
		f.After = report.Masked(after)
	}
	return f
}

// stdin formats stdin to stdout.
func (r *fmtRun) stdin() error {
	const name = "stdin"
	text, err := io.ReadAll(io.LimitReader(r.a.process.Stdin, lang.MaxFile+1))
	if err != nil {
		return fail(exitFailed, "input_unreadable", "stdin cannot be read: "+systemReason(err))
	}
	out, report := format.Format(name, text)
	if report.HasErrors() {
		r.report(report)
		return nil
	}
	f := r.formatted(name, text, out, report)
	if !r.flags.check && !r.flags.diff {
		f.Text = out
	}
	r.a.view.Formatted(f)
	return nil
}
