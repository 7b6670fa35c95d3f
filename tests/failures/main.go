// Command failures reads what `go test -json` prints, shows it as `go test` would, and says at the end which
// tests failed and why, in a few lines: a log of CI is long, and often no more than its end is kept. With -v it
// shows every test's output, else that of the ones that failed. It exits with 1 when anything failed, and with 2
// when it cannot read or write. What is no event of `go test` is shown as it is.
//
//	go test -json ./... | failures [-v]
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
)

func main() {
	verbose := flag.Bool("v", false, "show the output of every test")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	r := newReport(out, *verbose)
	err := r.read(os.Stdin)
	failed := r.end()
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "failures: %v\n", err)
		os.Exit(2)
	case failed:
		os.Exit(1)
	}
}
