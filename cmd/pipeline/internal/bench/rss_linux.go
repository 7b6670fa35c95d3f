package bench

import (
	"os"
	"strconv"
	"strings"
)

// residentMemory is the memory of this process that is in RAM, in bytes.
func residentMemory() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
