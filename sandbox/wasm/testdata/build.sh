#!/bin/sh
# Builds contract.wasm with the SDK of plugins/c. Needs clang and wasm-ld.
set -eu
cd "$(dirname "$0")"
${CLANG:-clang} --target=wasm32 -std=c11 -O2 -fno-builtin -Wall -Wextra -Werror -Wno-unused-function -nostdlib \
  -I ../../../plugins/c -Wl,--no-entry -Wl,--strip-debug -Wl,-z,stack-size=65536 -o "${1:-contract.wasm}" contract.c
