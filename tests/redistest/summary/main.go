// Command summary prints how many test cases ran on which server, from the ledger that tests write with
// [redistest.Record]: "412 cases on Redis 8.6.3, 398 on Redis 7.0.15, 405 on memory". It exits with 1 when one
// of [redistest.Versions] saw no case: a test run without its servers has not tested the product.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"pipeline/tests/redistest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: summary LEDGER")
		os.Exit(2)
	}
	content, err := os.ReadFile(os.Args[1])
	if err != nil && !os.IsNotExist(err) {
		fmt.Fprintf(os.Stderr, "summary: %v\n", err)
		os.Exit(1)
	}
	counts := redistest.CountCases(string(content))
	fmt.Println(line(counts))
	if missing := unseen(counts); len(missing) > 0 {
		fmt.Fprintf(os.Stderr, "summary: no case ran on Redis %s\n", strings.Join(missing, " and "))
		os.Exit(1)
	}
}

// line puts real servers first, the newest at the head, and what is no server at the end.
func line(counts map[string]int) string {
	servers := make([]string, 0, len(counts))
	for server := range counts {
		servers = append(servers, server)
	}
	slices.Sort(servers)
	slices.Reverse(servers)
	isServer := func(server string) bool { return strings.Contains(server, " ") }
	slices.SortStableFunc(servers, func(a, b string) int {
		switch {
		case isServer(a) == isServer(b):
			return 0
		case isServer(a):
			return -1
		default:
			return 1
		}
	})
	parts := make([]string, len(servers))
	for i, server := range servers {
		parts[i] = fmt.Sprintf("%d on %s", counts[server], server)
	}
	if len(parts) == 0 {
		return "0 cases on any server"
	}
	cases := " cases on "
	if counts[servers[0]] == 1 {
		cases = " case on "
	}
	return strings.Replace(strings.Join(parts, ", "), " on ", cases, 1)
}

// unseen are the required versions that no case ran on.
func unseen(counts map[string]int) []string {
	return slices.DeleteFunc(slices.Clone(redistest.Versions), func(version string) bool {
		for server := range counts {
			if strings.HasPrefix(server, "Redis "+version+".") {
				return true
			}
		}
		return false
	})
}
