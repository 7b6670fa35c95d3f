// Command pipeline runs declared pipelines over Redis streams: it validates
// them, tries them on files of entries, runs them with or without a server, and
// shows what waits.
package main

import (
	"os"
	"runtime"

	"pipeline/cmd/pipeline/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.Process{
		Args:       os.Args[1:],
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
		Env:        os.LookupEnv,
		Processors: runtime.GOMAXPROCS,
	}))
}
