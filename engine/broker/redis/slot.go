package redis

import (
	"strconv"
	"strings"
)

// slots is how many hash slots a cluster has.
const slots = 16384

// Slot is the cluster slot of a key: CRC16 (XMODEM) of its hash tag, or of the
// whole key where it has none.
func Slot(key string) int {
	if tag, ok := hashTag(key); ok {
		key = tag
	}
	return int(crc16(key)) % slots
}

// hashTag is what stands between the first { and the first } after it, unless
// that is nothing (Redis cluster specification).
func hashTag(key string) (string, bool) {
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

// tagged is a prefix for keys of ours that share the slot of key and are
// different for different keys.
func tagged(key string) string {
	if _, ok := hashTag(key); ok {
		return key
	}
	if key != "" && !strings.Contains(key, "}") {
		return "{" + key + "}"
	}
	want := Slot(key)
	for n := 0; ; n++ { // each number hits with 1 in 16,384; the result is cached
		if tag := strconv.Itoa(n); int(crc16(tag))%slots == want {
			return "{" + tag + "}" + key
		}
	}
}
