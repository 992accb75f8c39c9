#!/usr/bin/env bash
# fuzz.sh [SECONDS]: runs every fuzz target for SECONDS (60) each, starting from the committed corpus.
set -eu
seconds=${1:-60}
if ! command -v cargo-fuzz >/dev/null 2>&1; then
  echo "missing: cargo-fuzz. Install it with: cargo install cargo-fuzz --locked   (and: rustup toolchain install nightly)" >&2
  exit 1
fi
cd "$(dirname "$0")/../fuzz"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
for target in $(cargo +nightly fuzz list); do
  echo "== fuzz $target for $seconds s"
  mkdir -p "$work/$target"
  # The first directory receives new inputs; the committed corpus is only read.
  cargo +nightly fuzz run --fuzz-dir . "$target" "$work/$target" "corpus/$target" -- -max_total_time="$seconds" -print_final_stats=0 -verbosity=0
done
