package broker

// Server is what a server says of itself.
type Server struct {
	// Software is "redis", "valkey", "memory" or what else it calls itself.
	Software string
	// Version is its own version, "8.6.3".
	Version  string
	Features Features
	// Clustered: it is one of a cluster, where keys of different slots (see Slot)
	// may be on different servers, which no atomic step can write together.
	Clustered bool
	// Eviction is what the server does when it is full, as its maxmemory-policy
	// says: "noeviction", "allkeys-lru", … ; empty where it does not tell.
	// MaxMemory is when that is, in bytes; 0 is never.
	Eviction  string
	MaxMemory int64
}

// Features are what a server can do. They are asked of the server, not read
// off its version: forks count versions of their own.
type Features struct {
	// ClaimingRead: XREADGROUP … CLAIM (Redis 8.4).
	ClaimingRead bool
	// AutoClaim: XAUTOCLAIM (Redis 6.2).
	AutoClaim bool
	// DeletedIDs: XAUTOCLAIM drops and names entries whose body is gone
	// (Redis 7.0).
	DeletedIDs bool
	// TrimAcknowledged: XTRIM … ACKED (Redis 8.2).
	TrimAcknowledged bool
	// Lag: XINFO GROUPS tells the lag (Redis 7.0).
	Lag bool
	// IdempotentAdd: XADD … IDMP (Redis 8.6).
	IdempotentAdd bool
}

// ClaimingReadSince is the first Redis version with claiming reads.
const ClaimingReadSince = "8.4.0"
