#!/usr/bin/env bash
# Prints the name of each missing tool and the command that installs it.
set -u
missing=0
need() { # command, purpose, install line
  command -v "$1" >/dev/null 2>&1 && return
  echo "missing: $1 ($2). Install it with: $3" >&2
  missing=1
}
python=${PYTHON:-python3}
rust_line="curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh   (or your system's rustup package)"
if [ "$(uname)" = Darwin ]; then
  python_line="brew install python"; cc_line="xcode-select --install"
else
  python_line="sudo apt-get install python3 python3-venv"; cc_line="sudo apt-get install build-essential"
fi
need cargo "builds the Rust parts" "$rust_line"
need rustc "builds the Rust parts" "$rust_line"
need "$python" "runs the laboratory's Python parts" "$python_line"
need cc "links" "$cc_line"
[ $missing = 0 ] || exit 1
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "$python is $("$python" -V): Python 3.11 or newer is needed. Install it with: $python_line, or name one: make PYTHON=python3.12" >&2
  exit 1
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  echo "missing: Python's venv module. Install it with: $python_line" >&2
  exit 1
fi
rustc_minor=$(rustc --version | sed -E 's/^rustc 1\.([0-9]+).*/\1/')
if [ "$rustc_minor" -lt 89 ]; then
  echo "rustc is $(rustc --version): 1.89 or newer is needed. Update it with: rustup update" >&2
  exit 1
fi
