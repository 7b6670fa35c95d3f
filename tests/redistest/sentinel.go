package redistest

import (
	"net"
	"path/filepath"
	"strconv"
	"testing"
)

// StartSentinel starts a sentinel that watches a primary under a name and takes
// it for gone after a second when that many sentinels agree. Its clients log in
// with its own password, which all sentinels of a primary have in common; to the
// primary and its replicas it logs in with the primary's.
func StartSentinel(t testing.TB, primary *Server, name string, quorum int, options ...Option) *Server {
	t.Helper()
	host, port, _ := net.SplitHostPort(primary.Addr)
	s := newSettings(options)
	s.sentinel = true
	conf := "sentinel monitor " + name + " " + host + " " + port + " " + strconv.Itoa(quorum) + "\n" +
		"sentinel down-after-milliseconds " + name + " 1000\n" +
		"sentinel failover-timeout " + name + " 5000\n"
	if password := primary.login.Password; password != "" {
		conf += "sentinel auth-pass " + name + " " + password + "\n"
	}
	if s.password != "" {
		conf += "sentinel sentinel-pass " + s.password + "\n"
	}
	s.files[sentinelFile] = conf
	return startServer(t, primary.Version, s)
}

// sentinelFile is the configuration of a sentinel, which it writes to.
const sentinelFile = "sentinel.conf"

// sentinelArguments is the command line of a sentinel.
func (p *process) sentinelArguments() []string {
	arguments := []string{filepath.Join(p.folder, sentinelFile), "--sentinel"}
	for _, directive := range append(append(p.settings.ports(p.port), [][]string{
		{"bind", "127.0.0.1"},
		{"dir", p.folder},
		{"logfile", p.logFile()},
	}...), p.settings.directives...) {
		arguments = append(append(arguments, "--"+directive[0]), directive[1:]...)
	}
	return arguments
}
