#!/usr/bin/env bash
# relay_idle.sh [CONNECTIONS]: memory and processor time of a listening relay with CONNECTIONS (10000) idle ones.
set -eu
cd "$(dirname "$0")/.."
IDLE_CONNECTIONS=${1:-10000} IDLE_SECONDS=60 cargo test --release -p whimbrel-cli --test all relay_idle -- --nocapture
