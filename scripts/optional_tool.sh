#!/usr/bin/env bash
# optional_tool.sh TOOL "INSTALL LINE" -- COMMAND...: runs COMMAND if TOOL is installed.
# Otherwise it prints how to install it and succeeds, or fails under REQUIRE_ALL=1.
set -u
tool=$1; line=$2; shift 3
if command -v "$tool" >/dev/null 2>&1; then exec "$@"; fi
if [ "${REQUIRE_ALL:-0}" = 1 ]; then
  echo "missing: $tool. Install it with: $line" >&2
  exit 1
fi
echo "skipped, because $tool is not installed. Install it with: $line" >&2
