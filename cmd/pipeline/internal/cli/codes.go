package cli

import (
	"maps"
	"slices"

	"pipeline/cmd/pipeline/internal/doctor"
	"pipeline/cmd/pipeline/internal/findings"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/lang/diag"
)

// The codes of diagnostics about the command line and its files. Those about
// pipeline files are in lang/diag.
const (
	codeUsage     diag.Code = "wrong_usage"
	codeInput     diag.Code = "input_unreadable"
	codeInputLine diag.Code = "input_line"
	codeUnread    diag.Code = "stream_unread"
	// codeNotAvailable: the language has it, this version's engine does not.
	codeNotAvailable diag.Code = "not_available"
	// codeServerAway: a command that goes on for long waits for the server.
	codeServerAway diag.Code = "server_away"
)

// codeDoc documents a code of the command line: one of a diagnostic, or the
// word that an error carries which ends a command.
type codeDoc struct {
	// exits are the exit codes that it comes with; none where the command goes on.
	exits           []int
	meaning, action string
}

// codeDocs are all codes of the command line. Like those of pipeline files they
// are a closed list: they are never renamed.
var codeDocs = map[diag.Code]codeDoc{
	codeUsage: {
		[]int{exitUsage}, "The arguments are not those that the command takes.",
		"Read the usage line below the message, or the command's --help.",
	},
	codeInput: {
		[]int{exitFailed, exitUsage}, "The file of entries, or standard input, cannot be read; entries that were read before were used.",
		"Check the path and its permissions. What was read before the failure is counted in the summary.",
	},
	codeInputLine: {
		[]int{exitFailed}, "A line of the input is no entry: not JSON, not an envelope, for an unknown stream, or not of the stream's type.",
		"Correct the line; the others were used. Without --stream or --to each line is an envelope {\"stream\":…,\"entry\":…}.",
	},
	codeUnread: {
		nil, "Entries of the input are for a stream that no enabled subscription reads, so nothing was tried with them.",
		"Enable a subscription of the stream, or leave the entries out.",
	},
	codeNoEntries: {
		nil, "A stream that dry-run --live reads has no entry in the range, or the sample took none, so nothing was tried with it.",
		"Check the server and the name of the stream, widen --from and --to, or take a larger --sample.",
	},
	"versions_differ": {
		[]int{exitDifference}, "With --against: an entry comes to something else in the other version, or the versions have not the same subscriptions or streams.",
		"The lines above say what differs; without a difference the exit code is 0.",
	},
	codeNotAvailable: {
		[]int{exitUsage}, "The file is valid, and this version of the program cannot run what it asks for.",
		"Do without what the message names, or use a later version.",
	},
	"bad_lines": {
		[]int{exitFailed}, "Lines of the input could not be used; each was reported. The others were used.",
		"Correct these lines and give them again, alone.",
	},
	"strict": {
		[]int{exitFailed}, "With --strict: a handler failed, or an entry was invalid.",
		"The outcomes above say which; without --strict the exit code is 0 whatever the outcomes.",
	},
	"memory_broker": {
		[]int{exitUsage}, "The command needs a server, and the pipeline declares broker \"memory\" or none.",
		"Declare broker \"redis\", or use dev, which runs without a server.",
	},
	"invalid_broker": {
		[]int{exitUsage}, "The settings of the broker cannot be used: its URL, a certificate, a key.",
		"Correct what the message names. The URL itself is not shown, because it may hold a password.",
	},
	"interrupted": {
		[]int{exitLeft}, "A signal stopped the command before the end of its input, or of the streams.",
		"The message says how far it came; publish names the last line that was added, dry-run --live the id to go on from.",
	},
	codeBacklogFull: {
		[]int{exitLeft}, "A stream that publish adds to has reached its max_backlog, and for the time of --wait nothing could be added. What was added is counted.",
		"See why the group that the message names is behind: `pipeline pending list`, or whether its workers run. Then go on from the line in the message; --wait has it wait longer.",
	},
	"entries_left": {
		[]int{exitLeft}, "The service stopped before everything in flight was settled. Nothing is lost: what was not settled stays pending.",
		"Nothing, if another worker claims; for a complete stop raise drain_timeout or shorten the handlers' timeouts.",
	},
	"ops_listen": {
		[]int{exitFailed, exitUsage}, "The address for health checks and metrics cannot be had: another process listens there, or it is no address of this machine.",
		"Set --ops-listen to another HOST:PORT, to 127.0.0.1:0 for any free port, or, for run, to off. Without the flag run only warns of an address that is taken.",
	},
	"ui_listen": {
		[]int{exitFailed, exitUsage}, "The address for the page cannot be had: another process listens there, or it is no address of this machine.",
		"Set --ui-listen to another HOST:PORT of this machine, to 127.0.0.1:0 for any free port, or to off. Without the flag dev and monitor only warn of an address that is taken.",
	},
	"ui_exposed": {
		[]int{exitUsage}, "The page was to be served where other machines can reach it, and it has no login, or no TLS.",
		"Listen on 127.0.0.1 and reach it through a tunnel, or through a proxy with a login on the same machine; or give it both with --ui-web-config. docs/web.md shows all three.",
	},
	"web_config": {
		[]int{exitUsage}, "The file of TLS and users for a listener cannot be read, names a certificate that cannot, or would not keep strangers out.",
		"Correct what the message names. docs/web.md has an example; the format is that of Prometheus' exporters, with passwords hashed by bcrypt (`htpasswd -nB NAME`).",
	},
	"all_failed": {
		[]int{exitFailed}, "Every subscription has stopped, each for its own reason, and none of them can go on.",
		"The message names the reasons; on_failure or on_invalid = \"stop\" is one that was asked for.",
	},
	"stopped": {
		nil, "A second signal ended the process at once; the exit code is 128 and the signal's number. What was in flight stays pending.",
		"Send one signal and wait for draining, at most drain_timeout.",
	},
	"server_unavailable": {
		[]int{exitServer}, "The server cannot be reached, or broke off the connection.",
		"Check that it runs, its address and the network between; with TLS the message says what to set. run waits for a server by itself.",
	},
	codeServerAway: {
		nil, "tail --follow or stats --watch has lost the server and asks it again, or has it back.",
		"Nothing, if the server comes back; otherwise see why it is away. What was trimmed meanwhile is not shown.",
	},
	"server_refuses": {
		[]int{exitServer}, "The server refuses the login, or the login lacks a right.",
		"Check username and password; the message names the command and the key that were refused. docs/rights.md has the rule that each command needs.",
	},
	"server_full": {
		[]int{exitServer}, "The server is out of memory and refuses to write. Nothing was acknowledged that was not written.",
		"Give it memory, or trim streams with a retention block.",
	},
	"server_unsuitable": {
		[]int{exitServer}, "The server lacks a command that the pipeline needs.",
		"Use a newer server, or do without what the message names.",
	},
	"server_wrong_type": {
		[]int{exitServer}, "A key that should be a stream holds something else on the server.",
		"Give the stream another name, or remove the key.",
	},
	"claiming_read_unsupported": {
		[]int{exitServer}, "A subscription claims with its reads, using = \"read\", and the server is too old for that.",
		"Use using = \"auto\", which claims with XAUTOCLAIM on such a server, or a server of the version in the message.",
	},
	"autoclaim_unsupported": {
		[]int{exitServer}, "A subscription claims pending entries, and the server has no command for it.",
		"Use a server of the version in the message.",
	},
	"not_formatted": {
		[]int{exitDifference}, "With --check: files are not laid out as fmt does it. Nothing was written.",
		"Run fmt on the same paths; --diff shows what it would change.",
	},
	"not_written": {
		[]int{exitFailed}, "A file cannot be written. It is as it was, or is not there: no part of a file is left.",
		"Check the permissions of the file and its directory, and the space on the disk.",
	},
	"file_exists": {
		[]int{exitUsage}, "A file that would be created is there already. Nothing was written.",
		"Choose another name or directory, or move the file away.",
	},
	"pipeline_exists": {
		[]int{exitUsage}, "The directory for a new pipeline holds one already; they would be merged. Nothing was written.",
		"Name another directory with --dir, or add to the pipeline that is there.",
	},
	"pipeline_incomplete": {
		[]int{exitUsage}, "The pipeline lacks what a handler or a test is made for. Nothing was written.",
		"Declare what the message names.",
	},
	"name_taken": {
		[]int{exitUsage}, "The pipeline has a block of that name already. Nothing was written.",
		"Choose another name.",
	},
	"tests_failed": {
		[]int{exitFailed}, "A test failed, or could not be carried out.",
		"Read what stands below its line: the assert, both its sides, the deliveries that led there.",
	},
	"no_test_matches": {
		[]int{exitUsage}, "The pipeline has tests, and --run matches the name of none of them. Nothing was run.",
		"Correct the expression; a test with for_each is called by its label, a slash and its key.",
	},
	"tests_interrupted": {
		nil, "A signal stopped the tests before all were run; the exit code is 128 and the signal's number. What was run is told.",
		"Run them again.",
	},
	"bench_interrupted": {
		nil, "A signal stopped bench before all was measured; the exit code is 128 and the signal's number. What it had written on the server is removed.",
		"Run it again; --scenario, --rounds and --entries make it shorter.",
	},
	"bench_worse": {
		[]int{exitDifference}, "With --compare: figures are worse than those of the earlier run by more than --tolerance.",
		"The message names each with both values. Measure again on an idle machine before you believe it; a tolerance below the spread of the ratios finds chance.",
	},
	"bench_incomparable": {
		[]int{exitUsage}, "With --compare: the earlier run and this one have measured nothing in common.",
		"Run the scenarios that the file has.",
	},
	"machine_busy": {
		nil, "bench measures on a machine that has other work: the load average of the last minute is above 0.5.",
		"Wait until the machine is idle, or take the figures for no more than a sign that it works.",
	},
	"server_shared": {
		nil, "Others are connected to the server that bench measures on; what they ask for counts as the cost of entries.",
		"Measure on a server of its own.",
	},
	codeLetterNotFound: {
		[]int{exitFailed}, "No dead letter of the pipeline has the id, and none is of an entry with it.",
		"`pipeline dlq list` shows the letters there are; somebody may have replayed or dropped it.",
	},
	codeLettersLeft: {
		[]int{exitFailed}, "Some letters of the selection could not be replayed or dropped, each for a reason that was told. They are where they were.",
		"Read the lines above; `pipeline dlq show` tells more about each. The others were done.",
	},
	codeSelection: {
		[]int{exitUsage}, "The file in --selection is no selection, is cut off or changed, or was made for another command or pipeline. Nothing was done.",
		"Make a new one: the command without --selection and --yes writes it and prints its path.",
	},
	codeGroupAbsent: {
		[]int{exitServer}, "The group that buried the letters, or that is to be moved, does not exist on the server. Created later, it may begin behind what is replayed and never read it.",
		"Run `pipeline apply`, or start the pipeline once, and give the command again.",
	},
	codeGroupUnread: {
		nil, "No enabled subscription reads for the group that replayed entries are for, or the login may not see who reads the stream.",
		"Enable a subscription of the group; what is replayed waits in the stream until then. Give the login +xinfo|groups to see the readers.",
	},
	codeSensitive: {
		[]int{exitUsage}, "The letters to export are of a stream that declares sensitive fields, and an export masks nothing.",
		"Add --show-sensitive where the file may hold them, and delete it when it has served.",
	},
	codeSeekBeyond: {
		[]int{exitUsage}, "The position for a group is beyond the last id of its stream: entries that are added later would be passed over. Nothing was changed.",
		"Give a position within the stream, or $ for its end.",
	},
	codeSeekSkips: {
		[]int{exitUsage}, "run --seek would move a group past entries that nobody was given, and that nobody would be then. Nothing was changed and nothing runs.",
		"Look with `pipeline seek` at what it comes to; --yes has run --seek pass over them.",
	},
	codeGroupInUse: {
		[]int{exitFailed}, "A group is to be moved back over entries that are pending, and consumers of it are alive that may be working on them.",
		"Stop the workers of the group and give the command again. A worker that died counts until the time in the message.",
	},
	codeGroupMoved: {
		[]int{exitFailed}, "A group is no longer where it was when it was looked at, and moving it would deliver again, or pass over, more than was shown.",
		"Stop the group's workers, give the command without --at and --yes, and look at what it shows.",
	},
	codeReplayName: {
		[]int{exitFailed}, "The name of a replay's group is that of another replay, or of a group that is none. Nothing was changed.",
		"Give --group a name that is free; to go on with a replay, give the very command that began it.",
	},
	codeConsumersKept: {
		[]int{exitFailed}, "Some consumers of a selection were not removed: since they were chosen they were given entries, a process took their name, or they have read.",
		"Nothing: they are in use. The lines above say why each stays.",
	},
	codePendingNotFound: {
		[]int{exitFailed}, "No group of the pipeline has an entry of this id pending: it was settled, never delivered, or is somewhere else.",
		"`pipeline pending list` shows what is pending; `pipeline dlq show` looks among the dead letters.",
	},
	findings.CodeGroupMissing: {
		nil, "A group that the pipeline reads with does not exist on the server: its entries are not handled.",
		"Run `pipeline apply`, or start a worker. A group that was there before is created where it was.",
	},
	findings.CodeUnattended: {
		nil, "Entries wait in a group, and no consumer of it has read, claimed or renewed for as long as one that lives never is silent: three times block + 2 s, or min_idle.",
		"Start a worker; where one runs, read its log: its subscription may have failed.",
	},
	findings.CodeTrimGap: {
		nil, "Entries are pending whose bodies were trimmed away. They are lost.",
		"Keep the stream longer, or trim with protect = \"unacknowledged\".",
	},
	findings.CodeStuck: {
		nil, "An entry has been pending for far longer than min_idle: it is retried again and again, or held back.",
		"`pipeline pending list` says which and why.",
	},
	findings.CodeRetried: {
		nil, "Entries of a group were delivered more than once and are still pending: their handler fails, or the worker that had them stopped.",
		"`pipeline pending list` says which, with the last error; correct the handler, or what it depends on.",
	},
	findings.CodeBehind: {
		nil, "An entry waits for ten seconds or more to be delivered, while consumers of the group are alive: they are behind.",
		"See whether it gets better; otherwise add workers or processes, or see what holds them up: `pipeline pending list`.",
	},
	findings.CodeNoClaim: {
		nil, "An entry has been pending for long in a group of which no subscription claims.",
		"Add a claim block, so that what a stopped worker left is taken over.",
	},
	findings.CodeStale: {
		nil, "Consumers of a group are idle for ten minutes and hold entries: their processes are gone.",
		"Nothing, if a subscription claims; `pipeline consumers prune` removes those that hold nothing any more.",
	},
	findings.CodeLetters: {
		nil, "A dead-letter stream that no group of the pipeline reads holds letters.",
		"`pipeline dlq stats` says why they were set aside.",
	},
	findings.CodeLagUnknown: {
		nil, "The server does not know how far a group is behind: an undelivered entry was deleted, or it is older than 7.0.",
		"Look at the age of the oldest undelivered entry instead.",
	},
	findings.CodeUnseen: {
		nil, "A stream or group cannot be looked at.",
		"The message says why; `pipeline export acl` prints the rule of a login that may.",
	},
	plan.CodeTrimsBefore: {
		nil, "With plan --capacity: more entries arrive in the outage than the stream's retention keeps, so that some would be trimmed unread.",
		"Raise max_length or max_age, or set protect = \"unacknowledged\".",
	},
	plan.CodeStopsBefore: {
		nil, "With plan --capacity: a stream reaches its max_backlog before the outage ends, and publishers wait from then on.",
		"Raise max_backlog where the server has the memory, or see to it that producers can wait.",
	},
	plan.CodeKeepsAll: {
		nil, "With plan --capacity: a stream has no retention, so that it only grows; the sum counts what arrives in the outage alone.",
		"Give it a retention block.",
	},
	doctor.CodeClock: {
		[]int{exitFailed}, "The clocks of this machine and of the server differ by more than two seconds. Ages, times in the queue and positions that are given as a time are wrong by that.",
		"Have both machines keep time by NTP.",
	},
	doctor.CodeMemory: {
		[]int{exitFailed}, "The server uses 85 % of its maxmemory or more. A full one refuses replies, dead letters and retries.",
		"Raise maxmemory, or trim streams with a retention block.",
	},
	doctor.CodeClients: {
		[]int{exitFailed}, "85 % of the server's maxclients are connected, or more: a worker that starts may be refused.",
		"Find out with CLIENT LIST who holds them, or raise maxclients.",
	},
	doctor.CodeSaving: {
		[]int{exitFailed}, "The server's last snapshot, or last write of its append-only file, failed.",
		"Read the server's log, and see whether its disk is full.",
	},
	doctor.CodeFewReplicas: {
		[]int{exitServer}, "The server demands more replicas for a write than are well, and refuses every write.",
		"Bring the replicas back, or lower min-replicas-to-write.",
	},
	doctor.CodeLagging: {
		[]int{exitFailed}, "Replicas of the server are not online, or ten seconds behind or more: a failover to one loses writes.",
		"See why: the network between, or their disks.",
	},
	doctor.CodeUnheeded: {
		nil, "The server has replicas and confirms writes before any of them has them: a failover loses what was confirmed.",
		"Set min-replicas-to-write, if the server may then refuse writes without a replica.",
	},
	doctor.CodeReplica: {
		[]int{exitServer}, "The server of the broker block is a replica and refuses every write.",
		"Name its master, or the sentinels that know it.",
	},
	doctor.CodeFloor: {
		[]int{exitFailed}, "A group exists, and from where it would be read again if it were lost is not written down.",
		"Start a worker: it writes that down within seconds.",
	},
	doctor.CodeAbandoned: {
		nil, "Consumers of a group hold nothing, and nobody is behind them any more.",
		"`pipeline consumers prune` removes them.",
	},
	doctor.CodeGrowing: {
		[]int{exitFailed}, "A dead letter was written within the last ten minutes.",
		"`pipeline dlq stats` says by which error entries fail.",
	},
	doctor.CodeCertificate: {
		[]int{exitFailed}, "A certificate by which the server is reached, or the client's, ends within two weeks.",
		"Write another one in time; a new connection takes it up.",
	},
	doctor.CodeUnknown: {
		nil, "The login may not run INFO, so that eviction, persistence, memory, connections and replicas were not looked at.",
		"Examine the server with a login that may.",
	},
	plan.CodeUnexpected: {
		[]int{exitServer}, "The server, or what answers in its place, gave an answer that no server should.",
		"The message has its words; check that the address is that of a Redis server.",
	},
	plan.CodeRights: {
		[]int{exitServer}, "The login lacks commands, or keys, that run needs for this pipeline.",
		"Give it the rules that the message names; plan prints the whole rule of a worker's login, and docs/rights.md tells what the other commands need.",
	},
	plan.CodeCreateRight: {
		[]int{exitServer}, "A group is absent, and the login may not create it.",
		"Run `pipeline apply` once, with a login that may; workers then need no right to change groups.",
	},
	plan.CodeRightsUnknown: {
		[]int{exitServer}, "The login may not run multi, without which nothing can be found out about its rights.",
		"Give it +multi, which run needs too.",
	},
	plan.CodeForeign: {
		nil, "A group stands on a stream of the pipeline, and no file declares it. With protect = \"unacknowledged\" it holds back trimming.",
		"Leave it to whoever reads it; if nobody does any more, remove it with XGROUP DESTROY.",
	},
	plan.CodeDisabled: {
		nil, "A group exists whose subscriptions are all disabled. With protect = \"unacknowledged\" it holds back trimming.",
		"Enable one of them, or remove the group with XGROUP DESTROY.",
	},
	plan.CodeLost: {
		nil, "A group was there before and is gone, with its stream or alone.",
		"Nothing: run and apply create it at the position that was written down. Find out who removed it.",
	},
	plan.CodeFloor: {
		[]int{exitServer}, "The key that holds the position of a group for the case of its loss holds something else.",
		"Remove the key that the message names, to have the group created at its start.",
	},
	plan.CodeEviction: {
		nil, "The server's maxmemory-policy removes keys when it is full: streams with their groups, or leases of consumer names.",
		"Set maxmemory-policy noeviction on a server that holds streams.",
	},
	plan.CodePersistence: {
		nil, "The server writes neither an append-only file nor snapshots: a restart loses its streams.",
		"Set appendonly yes, in the server's file too (CONFIG REWRITE): a restart goes by that. Or accept losing them.",
	},
	plan.CodeCluster: {
		[]int{exitServer}, "The server is one of a Redis Cluster, and the broker block does not say so.",
		"Set cluster = true in the broker block.",
	},
	plan.CodeNoCluster: {
		[]int{exitServer}, "The broker block says cluster = true, and the server is not one of a cluster.",
		"Remove cluster = true, or name a server of the cluster.",
	},
}

// codeNames are the codes of the command line, sorted.
func codeNames() []diag.Code { return slices.Sorted(maps.Keys(codeDocs)) }
