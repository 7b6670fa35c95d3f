#!/bin/sh
# Builds payments.wasm. Needs asc: npm install --global assemblyscript, or
# ASC=path/to/asc.
set -eu
cd "$(dirname "$0")"
out=${1:-payments.wasm}
${ASC:-asc} payments.ts --optimizeLevel 3 --shrinkLevel 1 --noAssert --runtime incremental --exportStart _initialize --outFile "$out"
