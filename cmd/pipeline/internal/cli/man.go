package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) manCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man --dir DIR",
		Short: "Write the manual pages into a folder",
		Long: "man writes a page for every command: pipeline.1, pipeline-validate.1 and so on. The same program writes the same\n" +
			"bytes; the pages have a date only if SOURCE_DATE_EPOCH gives one.",
		Example: "  pipeline man --dir /usr/local/share/man/man1\n" +
			"  pipeline man --dir man && man -l man/pipeline-run.1",
		Args: noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return usage(cmd, "man needs --dir DIR: the folder to write the pages to")
			}
			return a.man(cmd, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write the pages into the folder `DIR`; it is made if it does not exist")
	return cmd
}

func (a *app) man(cmd *cobra.Command, dir string) error {
	date, err := a.manDate(cmd)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("man: make %s: %s", dir, systemReason(err))
	}
	var names []string
	for _, page := range manPages(cmd.Root(), date) {
		if err := os.WriteFile(filepath.Join(dir, page.name), []byte(page.text), 0o644); err != nil {
			return fmt.Errorf("man: write %s: %s", filepath.Join(dir, page.name), systemReason(err))
		}
		names = append(names, page.name)
	}
	a.view.Pages(dir, names)
	return nil
}

// manDate is the date that SOURCE_DATE_EPOCH gives, or none.
func (a *app) manDate(cmd *cobra.Command) (string, error) {
	text, ok := a.process.Env("SOURCE_DATE_EPOCH")
	if !ok || text == "" {
		return "", nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", usage(cmd, "SOURCE_DATE_EPOCH is %q; it is a number of seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly), nil
}

// manPage is one file of the manual.
type manPage struct{ name, text string }

// manPages are the pages of all commands, root first.
func manPages(root *cobra.Command, date string) []manPage {
	var pages []manPage
	eachCommand(root, func(c *cobra.Command) {
		if c == root || c.IsAvailableCommand() {
			pages = append(pages, manPage{manName(c) + ".1", manText(c, date)})
		}
	})
	return pages
}

// manName is what man is asked for: pipeline-pending-list.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// exitDocs say what the exit codes mean, in every page.
var exitDocs = []struct {
	code  int
	means string
}{
	{exitDone, "done"},
	{exitFailed, "failed while running"},
	{exitUsage, "wrong usage or an invalid pipeline"},
	{3, "a difference was found"},
	{exitServer, "the server cannot be reached, refuses, or is unsuitable"},
	{exitLeft, "stopped before everything in flight was settled"},
	{exitSignal + 2, "stopped at once by a second SIGINT"},
	{exitSignal + 15, "stopped at once by a second SIGTERM"},
}

// envDocs say which environment variables matter, in every page.
var envDocs = [][2]string{
	{"PIPELINE_VAR_NAME", "The value of the pipeline's variable NAME, unless --var or --var-file sets it."},
	{"REDIS_URL", "The address of the server in pipelines that say so, as the examples do with env(\"REDIS_URL\")."},
	{"OTEL_EXPORTER_OTLP_ENDPOINT", "The collector to which run, dev and monitor export metrics, and run and dev traces, by OTLP. docs/operations.md lists the other variables OTEL_* that they take."},
	{"NO_COLOR", "Print without colours if it is set to anything. There are none either where TERM is dumb or the output is no terminal."},
}
