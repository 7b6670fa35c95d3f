#!/bin/sh
# Builds payments.wasm. Needs Go 1.24 or later.
set -eu
cd "$(dirname "$0")"
out=${1:-payments.wasm}
GOOS=wasip1 GOARCH=wasm ${GO:-go} build -trimpath -buildvcs=false -buildmode=c-shared -ldflags='-s -w' -o "$out" .
