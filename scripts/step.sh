#!/usr/bin/env bash
# Runs a command and prints one line for it: its title and its time. The command's output goes to a log, which is printed if
# it fails. On a terminal the line shows the time so far, and the last line of the log.
# Usage: scripts/step.sh TITLE LOG COMMAND [ARGUMENT...]
set -u
title=$1 log=$2
shift 2
mkdir -p "$(dirname "$log")"
: >"$log"
started=$SECONDS
# A process group of its own: an interruption must end the command's children, too, which otherwise ignore it.
set -m
"$@" >"$log" 2>&1 </dev/null &
child=$!
trap 'kill -- "-$child" 2>/dev/null; wait "$child" 2>/dev/null; echo; exit 130' INT TERM
if [ -t 1 ]; then
  columns=$(tput cols 2>/dev/null || echo 80)
  while kill -0 "$child" 2>/dev/null; do
    latest=$(tail -n 1 "$log" | tr -d '\r' | sed 's/^ *//')
    line="== $title: $((SECONDS - started)) s  $latest"
    printf '\r\033[K%s' "${line:0:$((columns - 1))}"
    sleep 0.5
  done
  printf '\r\033[K'
fi
wait "$child"
status=$?
if [ $status -ne 0 ]; then
  cat "$log" >&2
  echo "== $title: failed after $((SECONDS - started)) s; its output is above and in $log" >&2
  exit $status
fi
echo "== $title: $((SECONDS - started)) s"
