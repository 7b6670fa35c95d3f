//go:build !race

package sandboxtest

const slowness = 1
