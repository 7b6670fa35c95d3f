package redis

import (
	"testing"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
)

func TestKeysShareTheSlotOfTheirStream(t *testing.T) {
	for stream, want := range map[string]string{
		"payments": "{payments}:pipeline:ledger:records",
		"a{b}c":    "a{b}c:pipeline:ledger:records",
		"{}x":      "{19354}{}x:pipeline:ledger:records",
		"a{b":      "{a{b}:pipeline:ledger:records",
	} {
		got := newGroupKeys(stream, "ledger").records
		if Slot(got) != Slot(stream) || got != want {
			t.Errorf("%q: records are at %q (slot %d), want %q (slot %d)", stream, got, Slot(got), want, Slot(stream))
		}
	}
	key := rapid.StringOfN(rapid.RuneFrom([]rune("{}ab:é")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		stream, group := key.Draw(t, "stream"), key.Draw(t, "group")
		k := newGroupKeys(stream, group)
		marks := k.markKeys(key.Draw(t, "set"))
		for _, ours := range []string{k.records, k.floor, k.slotKey("sub-host", 3), marks[0], marks[1]} {
			if Slot(ours) != Slot(stream) {
				t.Fatalf("%q is not in the slot of %q", ours, stream)
			}
		}
		if other := key.Draw(t, "other"); other != group && *newGroupKeys(stream, other) == *k {
			t.Fatalf("groups %q and %q share keys", group, other)
		}
	})
}

func TestKindsOfErrors(t *testing.T) {
	for reply, want := range map[string]string{
		"ERR Error running script (call to f_0a): @user_script:14: @user_script: 14: -NOGROUP No such key 's'": "NOGROUP No such key 's'",
		"NOGROUP No such key 's' script: 0123456789012345678901234567890123456789, on @user_script:14.":        "NOGROUP No such key 's'",
		"-OOM command not allowed when used memory > 'maxmemory'.\r\n":                                         "OOM command not allowed when used memory > 'maxmemory'",
		"ERR ACL failure in script: no script: here":                                                           "ERR ACL failure in script: no script: here",
	} {
		if got := clean(reply); got != want {
			t.Errorf("%q is cleaned to %q", reply, got)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		x, y string
		want bool
	}{
		{"8.4.0", "8.4.0", false}, {"8.3.9", "8.4.0", true}, {"8.10.0", "8.4.0", false}, {"8.4", "8.4.0", false}, {"7.0.15", "8.4.0", true},
		{"255.255.255", "8.4.0", false}, {"", "6.2.0", true}, {"8.4.0-rc1", "8.4.0", false},
	} {
		if got := versionBefore(c.x, c.y); got != c.want {
			t.Errorf("%q before %q: %v", c.x, c.y, got)
		}
	}
	for _, c := range []struct {
		software, have, since string
		want                  bool
	}{
		{"redis", "7.0.15", "6.2.0", true}, {"redis", "7.0.15", "8.4.0", false}, {"redis", "", "6.2.0", false},
		{"valkey", "9.1.2", "6.2.0", true}, {"valkey", "9.1.2", "7.0.0", true}, {"valkey", "9.1.2", "8.2.0", false}, {"valkey", "", "6.2.0", true},
		{"dragonfly", "df-v1", "6.2.0", false}, {"", "", "6.2.0", false},
	} {
		if got := atLeast(&broker.Server{Software: c.software, Version: c.have}, c.since); got != c.want {
			t.Errorf("%s %s has what came with %s: %v", c.software, c.have, c.since, got)
		}
	}
	for info, want := range map[string][2]string{
		"# Server\r\nredis_version:8.6.3\r\ngcc_version:15.2.0\r\n":             {"redis", "8.6.3"},
		"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.0\r\n": {"valkey", "9.0.0"},
		"dragonfly_version:df-v1\r\nredis_version:7.4.0\r\n":                    {"dragonfly", "df-v1"},
		"nothing": {"", ""},
	} {
		if software, version := softwareOf(info); software != want[0] || version != want[1] {
			t.Errorf("%q is %s %s", info, software, version)
		}
	}
}
