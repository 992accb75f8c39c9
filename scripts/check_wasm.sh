#!/usr/bin/env bash
# Checks the sans-IO crates and the simulator for a target without an operating system: they must not need one.
set -eu
target=wasm32-unknown-unknown
if ! rustc --print target-libdir --target $target 2>/dev/null | xargs -I{} test -d {}; then
  echo "wasm guard: the $target target is not installed. Install it with: rustup target add $target" >&2
  [ "${REQUIRE_ALL:-0}" = 1 ] && exit 1
  exit 0
fi
cargo check --quiet --target $target -p whimbrel-units -p whimbrel-wire -p whimbrel-control -p whimbrel-proto -p whimbrel-rtp -p whimbrel-repair -p whimbrel-wifi -p whimbrel-cell -p whimbrel-netsim -p whimbrel-scenario
# The simulator, without the cryptography of encrypted flows, which is C.
cargo check --quiet --target $target -p whimbrel-lab --no-default-features
echo "wasm guard: ok"
