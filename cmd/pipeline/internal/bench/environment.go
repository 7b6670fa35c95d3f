package bench

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Environment is what a run was measured in. Figures of two environments differ
// for reasons that are not the product's; ratios do so less.
type Environment struct {
	// CPU is the processor's name, "" where the system does not tell it.
	CPU      string `json:"cpu"`
	CPUs     int    `json:"cpus"`
	Platform string `json:"platform"`
	Go       string `json:"go"`
	Pipeline string `json:"pipeline"`
	Server   string `json:"server"`
	// ServerVersion is its own.
	ServerVersion string `json:"server_version"`
	// Load is the load average of the last minute before the start; nil where the
	// system does not tell it.
	Load *float64 `json:"load"`
	// Clients is how many connections others had to the server.
	Clients int64 `json:"other_clients"`
	Settings
}

// BusyLoad is the load average from which a machine is not idle: half of a
// processor is busy with something else.
const BusyLoad = 0.5

// Look is the environment of a run with these settings.
func Look(s *Server, version string, settings *Settings) Environment {
	cpu := ""
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		cpu = cpuName(string(text))
	}
	var load *float64
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = loadOf(string(text))
	}
	return Environment{
		CPU: cpu, CPUs: runtime.NumCPU(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Pipeline: version,
		Server: s.Software, ServerVersion: s.Version, Load: load, Clients: s.Clients, Settings: *settings,
	}
}

// cpuName finds the processor in Linux's list.
func cpuName(text string) string {
	for l := range strings.Lines(text) {
		if name, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// loadOf is the first number of Linux's load averages.
func loadOf(text string) *float64 {
	first, _, _ := strings.Cut(text, " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return nil
	}
	return &load
}
