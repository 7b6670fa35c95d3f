//go:build race

package sandboxtest

// slowness stretches time bounds; the race detector makes everything slower
// and larger.
const slowness = 10
