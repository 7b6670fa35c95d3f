#!/bin/sh
# Builds payments.wasm. Needs clang and wasm-ld (Debian: clang, lld); no C library.
set -eu
cd "$(dirname "$0")"
out=${1:-payments.wasm}
${CLANG:-clang} --target=wasm32 -std=c11 -O2 -fno-builtin -Wall -Wextra -Werror -Wno-unused-function -nostdlib \
  -Wl,--no-entry -Wl,--strip-debug -Wl,-z,stack-size=65536 -o "$out" payments.c
