#!/bin/sh
# Runs two programs over the networks of a folder, some times each: sh bad_networks.sh PROGRAMS RESULTS [NETWORK...]
#
# PROGRAMS is a file of shell that sets SEND and RECEIVE, the commands at the two ends. The names `sender` and
# `receiver` resolve there. Environment: NETWORKS (folder of scenarios), RUNS (3), TIME (10s), WHIMBREL (whimbrel).
set -eu
if [ $# -lt 2 ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
networks=${NETWORKS:-$here/../networks}
programs=$1
results=$2
shift 2
case $programs in */*) ;; *) programs=./$programs ;; esac
. "$programs"
: "${SEND:?$programs does not set SEND}" "${RECEIVE:?$programs does not set RECEIVE}"
if [ $# -eq 0 ]; then
  set -- "$networks"/*.toml
  for file; do
    shift
    set -- "$@" "$(basename "$file" .toml)"
  done
fi
failed=0
for network; do
  for seed in $(seq "${RUNS:-3}"); do
    echo "$network, run $seed"
    # The network lasts longer than the programs need to start.
    if ! "${WHIMBREL:-whimbrel}" emulate "$networks/$network.toml" --seed "$seed" --for "${TIME:-10s}" --out "$results" \
      --end receiver="$RECEIVE" -- sh -c "$SEND" >"$results.log" 2>&1; then
      cat "$results.log" >&2
      echo "$network, run $seed: the sending program failed" >&2
      failed=1
    fi
  done
done
exit $failed
