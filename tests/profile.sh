#!/usr/bin/env bash
# Writes a CPU profile and an allocation profile of the product answering payments: the scenario reply of
# `pipeline bench`, on a server of its own.
#
#   tests/profile.sh FOLDER [ARGUMENTS OF BENCH...]
#
# The server is the one of the tests, which `make servers` unpacks.
set -euo pipefail

folder=${1:?usage: tests/profile.sh FOLDER [ARGUMENTS OF BENCH...]}
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
server=${PIPELINE_CACHE:-$root/.cache}/servers/redis-server-8.6
if [[ ! -x $server ]]; then
	echo "profile: no $server; run make servers" >&2
	exit 1
fi
work=$(mktemp -d)
pid=
cleanup() {
	local status=$?
	if [[ -n $pid ]]; then
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	rm -rf "$work"
	exit "$status"
}
trap cleanup EXIT

mkdir -p "$folder"
(cd "$root" && go build -o "$work/pipeline" ./cmd/pipeline)
"$server" --port 0 --unixsocket "$work/redis.sock" --save '' --dir "$work" >"$work/log" 2>&1 &
pid=$!
for _ in $(seq 200); do
	[[ -S $work/redis.sock ]] && break
	kill -0 "$pid" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
	sleep 0.05
done
"$work/pipeline" bench --redis "unix://$work/redis.sock" --scenario reply --profile "$folder" "$@"
echo "look at them with: go tool pprof -http : $folder/cpu.pprof, or allocs.pprof beside it"
