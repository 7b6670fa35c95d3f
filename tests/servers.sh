#!/usr/bin/env bash
# Puts the Redis servers that the tests need into a cache folder, unpacked and not installed.
#
#   tests/servers.sh [VERSION...]      default: 7.0 8.6      also known: 8.0 valkey
#
# Packages come from the package archive this machine already uses: its own apt source is copied, the
# suite replaced, and apt pointed at the copy with lists and caches of its own, so that nothing of the
# machine changes and root is not needed. Every server carries its own C library and loader, because a
# server built for a newer Debian does not start on an older one's.
#
# Results, in ${PIPELINE_CACHE:-.cache}/servers:
#   redis-server-VERSION, redis-cli-VERSION    start these
#   redis-VERSION/                             what they need
#
# A version named by PIPELINE_TEST_REDIS_7_0 (8_6, ...) is somebody's own server: nothing is fetched for it.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${PIPELINE_CACHE:-$root/.cache}/servers
work=

say() { printf 'servers: %s\n' "$*" >&2; }

# own_server VERSION: the variable that names a user's own server of that version.
own_server() {
	echo "PIPELINE_TEST_REDIS_$(tr 'a-z.' 'A-Z_' <<<"$1")"
}

# give_up VERSION REASON...: ends the script with the reason and the way round it.
give_up() {
	local version=$1
	shift
	say "$version: $*"
	say "$version: a server of your own does as well: set $(own_server "$version")=redis://HOST:PORT and run this again"
	exit 1
}

cleanup() {
	local status=$?
	if [[ -n $work ]]; then rm -rf "$work"; fi
	exit "$status"
}

# recipe VERSION: sets suites, product and prefix (what the found version must begin with).
recipe() {
	product=redis
	prefix=$1
	case $1 in
	7.0) suites=bookworm ;;
	8.0) suites=sid ;;
	8.6) suites='experimental sid' ;;
	valkey)
		suites=sid
		product=valkey
		prefix=
		;;
	*)
		say "$1: unknown version; known are 7.0, 8.0, 8.6 and valkey"
		exit 2
		;;
	esac
}

# sources: copies every apt source of this machine into $work/candidates/N.{sources,list}, with its
# suites replaced by $suites. One source a file: the first that serves what we want is used.
sources() {
	local n=0 file
	mkdir -p "$work/candidates"
	for file in /etc/apt/sources.list.d/*.sources; do
		[[ -r $file ]] || continue
		awk -v suites="$suites" -v out="$work/candidates/$n" '
			function flush() {
				if (body != "" && !disabled && components ~ /(^| )main( |$)/ && uses !~ /-security/)
					print "Types: deb\nSuites: " suites "\nComponents: main\n" body > (out "." ++count ".sources")
				body = components = uses = ""; disabled = 0
			}
			/^#/ { next }
			/^[[:space:]]*$/ { flush(); next }
			/^[^[:space:]]/ { field = tolower($1) }
			field == "types:" { next }
			field == "suites:" { uses = uses " " $0; next }
			field == "components:" { components = components " " $0; next }
			field == "enabled:" && tolower($2) == "no" { disabled = 1 }
			{ body = body $0 "\n" }
			END { flush() }' "$file"
		n=$((n + 1))
	done
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[[ -r $file ]] || continue
		awk -v suites="$suites" -v out="$work/candidates/$n" '
			$1 != "deb" || / [^ ]*-security/ { next }
			!match($0, /^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?[^[:space:]]+/) { next }
			{
				head = substr($0, 1, RLENGTH); rest = substr($0, RLENGTH + 1)
				if (rest !~ /[[:space:]]main([[:space:]]|$)/ || seen[head]++) next
				count++; m = split(suites, list, " ")
				for (i = 1; i <= m; i++) print head, list[i], "main" > (out "." count ".list")
			}' "$file"
		n=$((n + 1))
	done
}

# use_source FILE: gives apt a state of its own in $work/apt with FILE as the only source.
use_source() {
	rm -rf "$work/apt"
	mkdir -p "$work/apt/sources.d" "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/apt/debs"
	: >"$work/apt/preferences"
	cp "$1" "$work/apt/sources.d/"
	apt_options=(
		-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/apt/sources.d"
		-o "Dir::Etc::Preferences=$work/apt/preferences" -o Dir::Etc::PreferencesParts=/dev/null
		-o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache"
		-o Dir::Cache::pkgcache=pkgcache.bin -o Dir::Cache::srcpkgcache=srcpkgcache.bin
		-o APT::Update::Error-Mode=any -o APT::Update::Post-Invoke-Success::= -o Acquire::Languages=none
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
		-o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false
		-o Acquire::Retries=2 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30
		-o "APT::Sandbox::User=$(id -un)"
	)
}

# find_version: prints the newest version of $product-server in the source in use that begins with $prefix.
find_version() {
	apt-cache "${apt_options[@]}" madison "$product-server" |
		awk -F'|' -v prefix="$prefix" '
			{ gsub(/ /, "", $2); upstream = $2; sub(/^[0-9]+:/, "", upstream) }
			!found && (prefix == "" || index(upstream, prefix ".") == 1) { print $2; found = 1 }'
}

# pin VERSION: makes $product's packages of that version the ones apt chooses.
pin() {
	printf 'Package: %s-server %s-tools\nPin: version %s\nPin-Priority: 1001\n' "$product" "$product" "$1" \
		>"$work/apt/preferences"
}

# closure: prints the server's packages and every library package they need, the C library included.
closure() {
	local seen=" " todo=("$product-server" "$product-tools") found package
	while ((${#todo[@]} > 0)); do
		found=()
		for package in "${todo[@]}"; do
			[[ $seen == *" $package "* ]] && continue
			seen+="$package "
			found+=("$package")
		done
		((${#found[@]} > 0)) || break
		mapfile -t todo < <(apt-cache "${apt_options[@]}" depends --important "${found[@]}" |
			awk '$1 ~ /^(Pre)?Depends:$/ && $2 ~ /^(lib|zlib)/ { print $2 }' | sort -u)
	done
	echo "$seen"
}

# fetch VERSION: downloads and unpacks into $work/tree, or ends the script.
fetch() {
	local version=$1 candidate exact='' packages deb
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
		give_up "$version" "this machine has no apt, so the server cannot be fetched"
	sources
	for candidate in "$work"/candidates/*; do
		[[ -e $candidate ]] || break
		use_source "$candidate"
		say "$version: looking for $product in ${suites// / and } of this machine's package archive"
		apt-get "${apt_options[@]}" -qq update >"$work/apt.log" 2>&1 </dev/null || continue
		exact=$(find_version)
		[[ -z $exact ]] || break
	done
	if [[ -z $exact ]]; then
		if [[ -s $work/apt.log ]]; then sed 's/^/  apt: /' "$work/apt.log" >&2; fi
		give_up "$version" "no apt source of this machine serves $product $prefix in ${suites// / or } (no network, or not a Debian?)"
	fi
	pin "$exact"
	read -ra packages <<<"$(closure)"
	say "$version: fetching $exact and its ${#packages[@]} packages"
	(cd "$work/apt/debs" && apt-get "${apt_options[@]}" -qq download "${packages[@]}") >"$work/apt.log" 2>&1 </dev/null || {
		sed 's/^/  apt: /' "$work/apt.log" >&2
		give_up "$version" "the download of $product $exact broke off"
	}
	for deb in "$work"/apt/debs/*.deb; do dpkg-deb -x "$deb" "$work/tree"; done
	rm -rf "$work"/tree/usr/share/{man,locale,lintian,bug,gdb} "$work"/tree/{etc,var}
}

# launcher TARGET PROGRAM TREE: writes an executable that starts PROGRAM of the folder TREE with TREE's own
# loader. It expects TREE beside itself, so the cache can be moved; exec keeps the process id.
launcher() {
	local target=$1 program=$2 tree=$3 loader folders
	loader=$(cd "$tree" && find . -type f -name 'ld-linux*.so.*' | sort | head -n 1)
	folders=$(cd "$tree" && find . -name '*.so.*' -exec dirname {} + | sort -u | sed "s|^\.|\$tree|" | paste -sd:)
	cat >"$target.new" <<-LAUNCHER
		#!/bin/sh
		tree=\$(cd "\$(dirname "\$0")" && pwd)/${tree##*/}
		exec "\$tree/${loader#./}" --library-path "$folders" "\$tree/usr/bin/$program" "\$@"
	LAUNCHER
	chmod 755 "$target.new"
	mv -f "$target.new" "$target"
}

# verify VERSION SERVER CLI: starts the server on a socket of its own, asks it, and ends it again.
verify() {
	local version=$1 server=$2 cli=$3 socket=$work/s pid answer=
	"$server" --port 0 --unixsocket "$socket" --save '' --dir "$work" --logfile "$work/log" >"$work/log.out" 2>&1 </dev/null 9>&- &
	pid=$!
	for _ in {1..100}; do
		answer=$("$cli" -s "$socket" ping 2>/dev/null || true)
		[[ $answer == PONG ]] && break
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	if [[ $answer == PONG ]]; then
		answer=$("$cli" -s "$socket" info server | tr -d '\r' | sed -n "s/^${product}_version://p")
	fi
	kill -KILL "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	if [[ $answer != "$prefix"* || $answer != [0-9]* ]]; then
		cat "$work/log" "$work/log.out" >&2 || true
		give_up "$version" "the server was unpacked but does not answer as version $version (it said: ${answer:-nothing})"
	fi
	say "$version: $product $answer is ready"
}

# present VERSION: whether the cache holds a server of VERSION that starts.
present() {
	"$cache/redis-server-$1" --version >/dev/null 2>&1 && "$cache/redis-cli-$1" --version >/dev/null 2>&1
}

# install VERSION: the whole way for one version. The tree is moved into place whole and the launchers
# come last, so a run that is broken off leaves nothing that looks finished.
install() {
	local version=$1 tree=redis-$1
	work=$(mktemp -d "$cache/.new.XXXXXX")
	fetch "$version"
	launcher "$work/server" "$product-server" "$work/tree"
	launcher "$work/cli" "$product-cli" "$work/tree"
	verify "$version" "$work/server" "$work/cli"
	rm -rf "${cache:?}/$tree"
	mv -T "$work/tree" "$cache/$tree"
	launcher "$cache/redis-cli-$version" "$product-cli" "$cache/$tree"
	launcher "$cache/redis-server-$version" "$product-server" "$cache/$tree"
	rm -rf "$work"
	work=
}

main() {
	local version variable
	if (($# == 0)); then set -- 7.0 8.6; fi
	mkdir -p "$cache"
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	exec 9>"$cache/.lock"
	if command -v flock >/dev/null; then flock 9; fi
	for version; do
		recipe "$version"
		variable=$(own_server "$version")
		if [[ -n ${!variable:-} ]]; then
			say "$version: using the server that $variable names"
		elif ! present "$version"; then
			install "$version"
		fi
	done
}

main "$@"
