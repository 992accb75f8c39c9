#!/usr/bin/env bash
# Format, lints and tests of the GStreamer elements. Without GStreamer's headers, or with an older Rust, it prints the reason and is
# skipped; under REQUIRE_ALL=1 it fails.
set -eu
cd "$(dirname "$0")/../gst"
skip() {
  if [ "${REQUIRE_ALL:-0}" = 1 ]; then echo "missing: $1" >&2; exit 1; fi
  echo "the GStreamer elements: skipped, because $1" >&2
  exit 0
}
if ! command -v pkg-config >/dev/null || ! pkg-config --exists 'gstreamer-1.0 >= 1.14' 'gstreamer-base-1.0 >= 1.14'; then
  skip "GStreamer's headers are not installed. Install them with: sudo apt-get install libgstreamer1.0-dev pkg-config"
fi
command -v gst-launch-1.0 >/dev/null || skip "gst-launch-1.0 is not installed. Install it with: sudo apt-get install gstreamer1.0-tools"
least=$(sed -n 's/^rust-version = "1\.\(.*\)"/\1/p' Cargo.toml)
minor=$(rustc --version | sed -E 's/^rustc 1\.([0-9]+).*/\1/')
[ "$minor" -ge "$least" ] || skip "rustc is older than 1.$least. Update it with: rustup update"
cargo=${CARGO:-cargo}
# Half of the dependencies have been compiled for the main workspace.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../target}"
$cargo fmt --check
if command -v cargo-deny >/dev/null; then
  $cargo fetch --quiet --locked
  $cargo deny --offline --log-level error --config ../deny.toml check bans licenses sources
fi
$cargo clippy --quiet --locked --all-targets -- -D warnings
$cargo test --quiet --locked
