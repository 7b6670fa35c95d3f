package redis

// Rights are the commands that a login has to be allowed to run, as they stand
// in a rule of the server's access list; a user needs them on its streams and
// on {stream}:pipeline:* beside each. Without one of them an operation ends in
// broker.ErrNoPermission, whose detail names it.
func Rights() []string {
	return []string{
		"xreadgroup", "xautoclaim", "xclaim", "xpending", "xack", "xadd", "xlen", "xrange", "xtrim", "xdel", "xgroup", "xinfo",
		"eval", "evalsha", "multi", "exec", "type", "time", "get", "set", "del", "pexpire",
		"hget", "hmget", "hset", "hdel", "hscan",
	}
}

// OptionalRights are commands that are used where the login may. Without them
// canceled reads end only with their block, connections have no name, and what
// the server can do is told by its version.
func OptionalRights() []string {
	return []string{"client|id", "client|unblock", "client|setname", "info", "command|docs"}
}
