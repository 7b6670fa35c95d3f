package redistest

// Option configures a server of [Start].
type Option func(*settings)

type settings struct {
	directives         [][]string        // name and values, as in redis.conf
	files              map[string]string // name in the server's folder -> content
	username, password string            // what clients log in with
	sentinel           bool              // it is a sentinel and holds no data
	secure             *secure           // it speaks TLS alone; nil for none
}

func newSettings(options []Option) *settings {
	s := &settings{files: map[string]string{}}
	for _, option := range options {
		option(s)
	}
	return s
}

// Config adds a directive of redis.conf, after the defaults of [Start], which it so overrides:
// Config("appendonly", "yes"), Config("maxmemory", "64mb").
func Config(name string, values ...string) Option {
	return func(s *settings) {
		s.directives = append(s.directives, append([]string{name}, values...))
	}
}

// Password protects the server with requirepass; the clients of [Server] send it.
func Password(password string) Option {
	return func(s *settings) {
		s.password = password
		s.directives = append(s.directives, []string{"requirepass", password})
	}
}

// Login makes the clients of [Server] log in as this user. The user itself comes from Config("user", …) or an
// access list in a [File].
func Login(username, password string) Option {
	return func(s *settings) { s.username, s.password = username, password }
}

// File puts a file into the server's folder before it starts. Directives name it by its bare name:
// File("users.acl", "user default on nopass ~* +@all\n"), Config("aclfile", "users.acl").
func File(name, content string) Option {
	return func(s *settings) { s.files[name] = content }
}
