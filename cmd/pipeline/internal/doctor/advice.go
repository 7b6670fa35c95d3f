package doctor

import (
	"strings"

	"pipeline/cmd/pipeline/internal/findings"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/lang/diag"
)

// The codes of what only an examination finds. What a plan or a poll finds has their
// codes.
const (
	// CodeClock: the clocks of this machine and of the server differ.
	CodeClock diag.Code = "clock_skew"
	// CodeMemory: the server's memory is nearly full.
	CodeMemory diag.Code = "memory_nearly_full"
	// CodeClients: the server takes few more connections.
	CodeClients diag.Code = "clients_nearly_full"
	// CodeSaving: what the server writes to disk fails.
	CodeSaving diag.Code = "persistence_failing"
	// CodeFewReplicas: fewer replicas are well than the server demands for a write.
	CodeFewReplicas diag.Code = "replicas_missing"
	// CodeLagging: replicas are behind.
	CodeLagging diag.Code = "replicas_lagging"
	// CodeUnheeded: a write is confirmed before any replica has it.
	CodeUnheeded diag.Code = "replicas_unheeded"
	// CodeReplica: the server is a replica.
	CodeReplica diag.Code = "server_replica"
	// CodeFloor: nothing is written down from where a group would be read again.
	CodeFloor diag.Code = "floor_missing"
	// CodeAbandoned: consumers that hold nothing have no process.
	CodeAbandoned diag.Code = "consumers_abandoned"
	// CodeGrowing: dead letters have been written lately.
	CodeGrowing diag.Code = "dead_letters_growing"
	// CodeCertificate: a certificate ends soon.
	CodeCertificate diag.Code = "certificate_ending"
	// CodeUnknown: the login may not ask how the server is configured.
	CodeUnknown diag.Code = "settings_unknown"
)

// reasons are why findings matter.
var reasons = map[diag.Code]string{
	plan.CodeUnavailable:   "Nothing is read, handled or acknowledged until it answers.",
	plan.CodeRefuses:       "Nothing is read, handled or acknowledged until it lets the login in.",
	plan.CodeUnexpected:    "What answers may be no Redis server; nothing can be relied on.",
	plan.CodeWrongType:     "The subscriptions that use the stream stop, and replies and dead letters for it cannot be written.",
	plan.CodeRights:        "The subscription that needs it stops at the first entry that takes it; its entries stay pending.",
	plan.CodeCreateRight:   "No subscription of the group can begin.",
	plan.CodeRightsUnknown: "What else is lacking shows only when an entry needs it.",
	plan.CodeForeign:       "It gets every entry too; nobody of this pipeline acknowledges for it.",
	plan.CodeDisabled:      "It gets every entry and nobody handles them.",
	plan.CodeLost:          "Its pending entries were lost with it; what lies behind the position that was written down comes again.",
	plan.CodeFloor:         "A group that is lost cannot be created where it was.",
	plan.CodeEviction:      "A stream that is evicted takes its entries and groups with it; nobody is told.",
	plan.CodePersistence:   "Entries, groups and what is pending exist in its memory alone.",
	plan.CodeCluster:       "Commands for keys of other nodes are refused.",
	plan.CodeNoCluster:     "The commands of a cluster are refused.",

	"server_unsuitable":         "The subscription cannot do what the file asks for and does not start.",
	"claiming_read_unsupported": "The subscription does not start.",
	"autoclaim_unsupported":     "The subscription does not start: entries of a worker that stops would wait for ever.",
	diag.SlotsDiffer:            "No atomic step reaches two nodes of a cluster.",

	findings.CodeGroupMissing: "Entries that are added now are handled only if the group is created where it begins at the beginning, or was before.",
	findings.CodeUnattended:   "Nothing is handled.",
	findings.CodeTrimGap:      "These entries were delivered, never acknowledged, and are gone: data is lost.",
	findings.CodeStuck:        "Something fails again and again, or holds others back.",
	findings.CodeNoClaim:      "Nobody takes over what a stopped worker held.",
	findings.CodeRetried:      "An entry that fails for good becomes a dead letter in the end; until then each attempt costs a worker's time.",
	findings.CodeBehind:       "What comes waits longer and longer, and retention may remove it before it is handled.",
	findings.CodeStale:        "Their entries wait until somebody claims them, and for ever where no subscription of the group claims.",
	findings.CodeLetters:      "Each is an entry that was not handled.",
	findings.CodeLagUnknown:   "Alerts on the lag are silent, and a scaler that goes by it does not see the work.",
	findings.CodeUnseen:       "What is wrong with it cannot be told.",

	CodeClock:       "Ages and times in the queue are the difference of both clocks; so are positions that are given as a time, and whether a certificate is valid.",
	CodeMemory:      "A full server refuses replies, dead letters and retries: finished work waits, and reading stops.",
	CodeClients:     "A worker that starts, or comes back after an outage, is refused.",
	CodeSaving:      "A restart loses all that came since, and the server refuses writes meanwhile if it is told to.",
	CodeFewReplicas: "The server refuses every write (NOREPLICAS): nothing is acknowledged.",
	CodeLagging:     "A failover to one of them loses what it does not have: acknowledgements, so that entries come again, and replies.",
	CodeUnheeded:    "A failover loses writes that were confirmed: an entry may come again, and its reply may be published twice.",
	CodeReplica:     "It refuses every write, and what is added here is lost with the next copy of its master.",
	CodeFloor:       "A group that is lost without it is created at its start: with start = \"new\" it passes over all that was not handled.",
	CodeAbandoned:   "They do no harm but in numbers: every look at the group lists them.",
	CodeGrowing:     "Entries fail at this moment; each letter is one that was not handled.",
	CodeCertificate: "From then on no connection can be made; the ones that are open go on.",
	CodeUnknown:     "Eviction, persistence, memory, connections and replicas were not looked at.",
}

// remedies are what to do where what was found does not say it.
var remedies = map[diag.Code]string{
	plan.CodeRefuses:            "Check the user and the password in the broker block, and what the user may do.",
	plan.CodeUnexpected:         "Check that the address is that of a Redis server.",
	"server_unsuitable":         "Use a newer server, or do without what the message names.",
	"claiming_read_unsupported": "Set using = \"auto\" in the claim block, or use a newer server.",
	"autoclaim_unsupported":     "Use a newer server.",
}

// command is what to type about a finding that is of no single group or stream.
func (e *examination) command(code diag.Code, rules []string) string {
	cli := "redis-cli" + e.options.Server
	if len(rules) > 0 {
		return "ACL SETUSER " + e.user + " " + strings.Join(rules, " ")
	}
	switch code {
	case plan.CodeEviction:
		return setting(cli, "maxmemory-policy noeviction")
	case plan.CodePersistence:
		return setting(cli, "appendonly yes")
	case plan.CodeLost:
		return e.options.Command("apply")
	case CodeFloor:
		return e.options.Command("run")
	case CodeMemory, CodeSaving, CodeFewReplicas, CodeLagging, CodeReplica:
		return cli + " INFO"
	case CodeUnheeded:
		return setting(cli, "min-replicas-to-write 1")
	case CodeClients:
		return cli + " CLIENT LIST"
	case CodeUnknown:
		return "ACL SETUSER " + e.user + " +info +config|get"
	}
	return ""
}

// setting changes a setting of the server and writes it to its file: without the second, a
// restart begins with the old one, and with appendonly it then reads nothing of what was kept.
func setting(cli, words string) string {
	return cli + " CONFIG SET " + words + " && " + cli + " CONFIG REWRITE"
}
