#!/bin/sh
# Builds payments.wasm. Needs rustc with the target wasm32-unknown-unknown
# (Debian: rustc, libstd-rust-dev-wasm32, lld).
set -eu
cd "$(dirname "$0")"
out=${1:-payments.wasm}
${RUSTC:-rustc} --edition 2021 --target wasm32-unknown-unknown --crate-type cdylib \
  -C opt-level=2 -C panic=abort -C lto -C strip=symbols -C link-arg=-zstack-size=65536 \
  ${RUST_LINKER:+-C linker="$RUST_LINKER"} -o "$out" payments.rs
