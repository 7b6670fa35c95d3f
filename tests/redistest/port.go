package redistest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
)

// FreeAddress is an address on loopback that nobody listens on, for a program of the test to listen on, later or
// again after it was ended. No two calls in a process get the same.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// given are the ports that were found free in this process: whoever asked may not listen yet.
var given sync.Map

// freePort is a loopback port that nobody listens on, below the range from which the system takes the ports
// of outgoing connections. A port of that range could be given to a client while the server restarts, even to
// the client that tries to reach it, which then talks to itself.
func freePort() (int, error) {
	const lowest = 10000
	for range 100 {
		port := lowest + rand.IntN(firstEphemeral()-lowest)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			return 0, err
		}
		if _, before := given.LoadOrStore(port, true); !before {
			return port, nil
		}
	}
	return 0, errors.New("find a free port: a hundred tries found none")
}

// firstEphemeral is the lowest port of the system's own range, at least 20000 so that enough is left below.
func firstEphemeral() int {
	first := 32768 // the kernel's default, where it cannot be read
	if content, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if _, err := fmt.Sscan(strings.TrimSpace(string(content)), &first); err != nil {
			first = 32768
		}
	}
	return max(first, 20000)
}
