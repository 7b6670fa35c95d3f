package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipeline/lang/diag"
)

// usageError is a mistake in the arguments.
type usageError struct{ diag.Diagnostic }

// Error is the summary.
func (e *usageError) Error() string { return e.Summary }

// usage is a mistake in the arguments of cmd, with what to do about it.
func usage(cmd *cobra.Command, format string, args ...any) *usageError {
	return &usageError{diag.Diagnostic{
		Severity: diag.Error, Code: codeUsage, Summary: fmt.Sprintf(format, args...),
		Detail: "Usage: " + strings.TrimSpace(cmd.UseLine()),
	}}
}

// near adds the word that was probably meant.
func (e *usageError) near(word string) *usageError {
	e.Suggest(word)
	return e
}

// flagError words the errors of the flags library.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	text := strings.TrimPrefix(err.Error(), "pflag: ")
	if name, ok := strings.CutPrefix(text, "unknown flag: --"); ok {
		var names []string
		add := func(f *pflag.Flag) { names = append(names, f.Name) }
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		e := usage(cmd, "%s has no flag --%s", cmd.CommandPath(), name)
		if near := diag.Nearest(name, names); near != "" {
			return e.near("--" + near)
		}
		return e
	}
	return usage(cmd, "%s", text)
}

// unknownCommand checks the arguments of the root: none of them is a command.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	e := usage(cmd, "there is no command %q; `%s --help` lists them", args[0], cmd.CommandPath())
	return e.near(diag.Nearest(args[0], names))
}

// onePath checks that there is one argument, the pipeline.
func onePath(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usage(cmd, "%s needs a PATH: a pipeline file, or a directory of *.hcl files", cmd.CommandPath())
	case len(args) > 1:
		return usage(cmd, "%s takes one PATH, here are %d: %s", cmd.CommandPath(), len(args), strings.Join(args, " "))
	}
	return nil
}

// noArgument checks that there is no argument.
func noArgument(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, "%s takes no argument, here is %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// oneOf checks a flag that has a few words as its values.
func oneOf(cmd *cobra.Command, flag, given string, words ...string) error {
	if slices.Contains(words, given) {
		return nil
	}
	return usage(cmd, "--%s is %q; it is one of %s", flag, given, strings.Join(words, ", ")).near(diag.Nearest(given, words))
}

// systemReason is the part of an error of the file system that a path beside
// it makes complete.
func systemReason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
