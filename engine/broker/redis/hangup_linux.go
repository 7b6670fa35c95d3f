package redis

import "golang.org/x/sys/unix"

// hungUp reports whether the other side of a socket has closed it: POLLRDHUP says so
// (poll(2)) before what it sent is read.
func hungUp(fd uintptr) bool {
	polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // descriptors are small
	n, err := unix.Poll(polled, 0)
	return err == nil && n > 0
}
