package view

import "testing"

func TestPasswordsOfURLsAreHidden(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"no file redis://:pw@host:1/0 here":           "no file redis://(masked)@host:1/0 here",
		`there is no "rediss://user:p@ss/w#rd@host"`:  `there is no "rediss://(masked)@host"`,
		"redis://host?password=pw&db=1":               "redis://host?password=(masked)&db=1",
		"redis://host/0 and user@host":                "redis://host/0 and user@host",
		"`a://b:c@d` and `e://f:g@h`":                 "`a://(masked)@d` and `e://(masked)@h`",
		"nothing to hide: 7.0 ?x=1 payments@ledger":   "nothing to hide: 7.0 ?x=1 payments@ledger",
		"unix:///run/redis.sock?db=0&Password=secret": "unix:///run/redis.sock?db=0&Password=(masked)",
	} {
		if got := hideLogins(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
