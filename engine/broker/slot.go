package broker

import "strings"

// slots is how many hash slots a cluster has.
const slots = 16384

// Slot is the cluster slot of a key: CRC16 (XMODEM) of its hash tag, or of the
// whole key where it has none. Keys of one slot are on one server, where one
// atomic step can write them all.
func Slot(key string) int {
	if tag, ok := HashTag(key); ok {
		key = tag
	}
	return int(crc16(key)) % slots
}

// HashTag is what stands between the first { and the first } after it, unless
// that is nothing (Redis cluster specification).
func HashTag(key string) (string, bool) {
	_, after, found := strings.Cut(key, "{")
	if !found {
		return "", false
	}
	tag, _, found := strings.Cut(after, "}")
	return tag, found && tag != ""
}

// crc16 is CRC-16/XMODEM: polynomial 0x1021, starting at 0.
func crc16(s string) uint16 {
	var crc uint16
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
