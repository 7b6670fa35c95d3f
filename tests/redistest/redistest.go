// Package redistest gives tests real Redis servers.
//
// [Shared] is the ordinary way: one server for each version and test binary, and an empty database of it
// for each test, so that tests may run in parallel. [Start] gives a test a server of its own, to
// configure, pause, kill and restart.
//
//	for _, version := range redistest.Versions {
//		t.Run(version, func(t *testing.T) {
//			s := redistest.Shared(t, version)
//			s.Client().XAdd(t.Context(), …)
//		})
//	}
//
// Servers are the ones that `make servers` unpacks into the cache folder: .cache in the project, or where
// PIPELINE_CACHE points. A user with servers of his own names them instead, one variable a version:
// PIPELINE_TEST_REDIS_7_0=redis://host:6379. Of such a server only databases that are found empty are
// used, and [Start] does not work with it: a test never stops what it did not start.
//
// Without a server a test is skipped and says how to get one; with PIPELINE_TEST_REQUIRE_SERVERS=1, as
// `make test` sets it, it fails.
package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Versions are the server versions that every test of server behaviour runs on, oldest first: the last one
// before claiming reads, and one with them. A test may ask [Shared] and [Start] for others that
// tests/servers.sh knows ("8.0", "valkey") or that a variable names ("6.2"); without a server of these a test
// is skipped in any case.
var Versions = []string{"7.0", "8.6"}

// addressVariable names the environment variable that holds the address of a user's own server.
func addressVariable(version string) string {
	return "PIPELINE_TEST_REDIS_" + strings.ToUpper(strings.ReplaceAll(version, ".", "_"))
}

// startFolder is the package's folder: the go command starts a test binary there. It is taken before any
// test can change the working directory.
var startFolder = func() string {
	folder, err := os.Getwd()
	if err != nil {
		return "."
	}
	return folder
}()

// moduleRoot is the folder above startFolder that holds go.mod, or startFolder without one.
var moduleRoot = func() string {
	for folder := startFolder; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			return startFolder
		}
	}
}()

// launcher is the path of a program that tests/servers.sh has put into the cache: "redis-server" or
// "redis-cli" of a version. It is "" where there is none.
func launcher(program, version string) string {
	cache := os.Getenv("PIPELINE_CACHE")
	if cache == "" {
		cache = filepath.Join(moduleRoot, ".cache")
	}
	path := filepath.Join(cache, "servers", program+"-"+version)
	if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 {
		return ""
	}
	return path
}

// missing ends the test because there is no server of version: as a failure where servers are required.
func missing(t testing.TB, version string) {
	t.Helper()
	message := fmt.Sprintf("no Redis %s: run `make servers` (%s), or set %s=redis://HOST:PORT",
		version, "tests/servers.sh "+version, addressVariable(version))
	if os.Getenv("PIPELINE_TEST_REQUIRE_SERVERS") == "1" && slices.Contains(Versions, version) {
		t.Fatal(message)
	}
	t.Skip(message)
}
