package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipeline/lang"
)

// Completion reads no more of a pipeline than the names in it: it has to be
// quick, and to work while the file is half written. It knows a flag by its
// name and its value's, so that a command gets completion by calling its flags
// as the others do. A command that differs gives its own function: that one
// stays.

// completions gives every command below root, and every flag, its completion.
func completions(root *cobra.Command) {
	add := func(f *pflag.Flag) { completeFlag(root, f) }
	root.PersistentFlags().VisitAll(add)
	for _, cmd := range root.Commands() {
		eachCommand(cmd, func(c *cobra.Command) {
			if c.ValidArgsFunction == nil && c.ValidArgs == nil {
				c.ValidArgsFunction = argumentCompletion(c)
			}
			c.LocalFlags().VisitAll(func(f *pflag.Flag) { completeFlag(c, f) })
		})
	}
}

// eachCommand visits a command and all below it.
func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, visit)
	}
}

// argumentCompletion is what completes the arguments of a command.
func argumentCompletion(cmd *cobra.Command) cobra.CompletionFunc {
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	switch {
	case strings.HasPrefix(arguments, "PATH…"), strings.Contains(arguments, " PATH…"):
		return pipelineFiles
	case strings.HasPrefix(arguments, "PATH"):
		return firstOnly(pipelineFiles)
	}
	return cobra.NoFileCompletions
}

// complete gives a flag that means something else in this command its
// completion.
func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	// It fails only for a flag that the command lacks or that has one already,
	// which a test would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, f)
}

// completeFlag registers the completion of a flag, unless its command has.
func completeFlag(cmd *cobra.Command, f *pflag.Flag) {
	if f.Value.Type() == "bool" {
		return
	}
	if _, has := cmd.GetFlagCompletionFunc(f.Name); has {
		return
	}
	complete(cmd, f.Name, flagCompletion(f))
}

// flagCompletion is what completes the value of a flag, by its name or else by
// what its value is called.
func flagCompletion(f *pflag.Flag) cobra.CompletionFunc {
	if own := flagCompletions[f.Name]; own != nil {
		return own
	}
	switch value, _ := pflag.UnquoteUsage(f); value {
	case "FILE":
		return anyFile
	case "DIR":
		return folders
	}
	return cobra.NoFileCompletions
}

// flagCompletions are the flags that mean the same in every command.
var flagCompletions = map[string]cobra.CompletionFunc{
	"to":           labels("", "stream"),
	"stream":       labels("", "stream"),
	"group":        labels("", "group"),
	"seek":         labels("=", "group"),
	"subscription": labels("", "subscription"),
	"consumer":     consumerNames,
	"handler":      labels("", "handler"),
	"var":          labels("=", "variable"),
	"var-file":     extensions("hcl", "json"),
	"log-level":    words("debug", "info", "warn", "error"),
}

// words completes a flag that has a few words as its values.
func words(list ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// pipelineFiles completes pipeline files and directories.
func pipelineFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hcl"}, cobra.ShellCompDirectiveFilterFileExt
}

func extensions(ext ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return ext, cobra.ShellCompDirectiveFilterFileExt
	}
}

func anyFile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// firstOnly completes the first argument alone.
func firstOnly(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, toComplete)
	}
}

// labels completes the names of blocks of the pipeline that is the command's
// first argument. What follows a name, such as "=", ends every completion, and
// nothing more is completed behind it.
func labels(after string, block string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		if after != "" {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		if after != "" && strings.Contains(toComplete, after) {
			return nil, directive
		}
		var out []string
		for _, l := range labelsAt(args, block) {
			out = offer(out, l.Name+after, l.Given, toComplete)
		}
		return out, directive
	}
}

// consumerNames completes the first part of consumer names.
func consumerNames(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, l := range labelsAt(args, "subscription") {
		name := l.Given
		if name == "" {
			name = l.Name
		}
		out = offer(out, name, "", toComplete)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// labelsAt are the blocks of a type in the pipeline that the arguments name.
func labelsAt(args []string, block string) []lang.Label {
	if len(args) == 0 {
		return nil
	}
	return slices.DeleteFunc(lang.Labels(lang.OS(), args[0]), func(l lang.Label) bool { return l.Block != block })
}

// maxOffers is how many completions are offered: nobody reads more.
const maxOffers = 500

// offer adds a completion that begins as what was typed, once, with a text to
// tell it from others.
func offer(out []string, name, doc, typed string) []string {
	if len(out) == maxOffers || !strings.HasPrefix(name, typed) || strings.ContainsAny(name, "\t\n\r") {
		return out
	}
	if doc != "" && !strings.ContainsAny(doc, "\t\n\r") {
		name = cobra.CompletionWithDesc(name, doc)
	}
	if slices.Contains(out, name) {
		return out
	}
	return append(out, name)
}
