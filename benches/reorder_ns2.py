#!/usr/bin/env python3
"""Compares paper reorder with ns-2: the rate of a flow over the paths of Table I, 5 % of it delayed.

Usage: benches/reorder_ns2.py [--seeds 3] [--json]

Prints the rate behind the bottleneck in kbit/s, the mean and the range over the seeds, for agents of ns-2 and
for Whimbrel's CCID 3 with the same number of later packets to prove a loss.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import whimbrel
from whimbrel.papers.reorder import topology
from whimbrel.papers.reorder.topology import DELAYED, NETEM_MS, Lane

SCRIPT = Path(__file__).resolve().parent / "peers" / "reorder.tcl"
RTTS = ("50", "100", "200", "300", "400")
DURATION_S, WARM_UP_S = 200.0, 20.0
"""As in the script."""


@dataclass(frozen=True)
class Flow:
    """A flow in one of the two simulators.

    Attributes:
        name: displayed.
        payload: bytes of data in a packet.
        agent: of ns-2, and its number of later packets that prove a loss; None for Whimbrel.
        dccp: settings of Whimbrel's flow.
    """

    name: str
    payload: int
    agent: tuple[str, int] | None = None
    dccp: Mapping[str, str] | None = None


ONE = {"loss_detection": "first-packet"}
FLOWS = (
    Flow("ns-2, Agent/TFRC, numPkts_ 1 (its default)", 1460, ("TFRC", 1)),
    Flow("Whimbrel, one later packet", 1460, dccp=ONE),
    Flow("ns-2, Agent/TFRC, numPkts_ 2", 1460, ("TFRC", 2)),
    Flow("ns-2, Agent/TFRC, numPkts_ 3", 1460, ("TFRC", 3)),
    Flow("ns-2, Agent/DCCP/TFRC, num_dup_acks_ 3 (its default)", 1460, ("DCCP", 3)),
    Flow("Whimbrel, three later packets", 1460),
    Flow("ns-2, Agent/TFRC, numPkts_ 1", 500, ("TFRC", 1)),
    Flow("Whimbrel, one later packet", 500, dccp=ONE),
    Flow("ns-2, Agent/DCCP/TFRC, num_dup_acks_ 3", 500, ("DCCP", 3)),
    Flow("Whimbrel, three later packets", 500),
)


def rate_kbps(flow: Flow, rtt: str, seed: int, delay_ms: tuple[float, float] | None = None) -> float:
    """The rate behind the bottleneck, in kbit/s.

    Args:
        flow: the flow.
        rtt: in ms.
        seed: of the run.
        delay_ms: mean and half width of the delays of 5 % of the packets; None: Table I's.
    """
    delay, jitter = delay_ms or NETEM_MS[rtt]
    if flow.agent is None:
        assumed = replace(DELAYED, payload=flow.payload, delay_ms=(delay, jitter), dccp=flow.dccp or {})
        made = topology.scenario("beside ns-2", [Lane("flow", rtt, assumed)], DURATION_S, WARM_UP_S)
        row = whimbrel.run(made, seed).links.where(link="flow-bottleneck")
        return float(row["throughput_bps"][0]) / 1e3
    agent, enough = flow.agent
    seconds = [f"{number / 1e3:g}" for number in (float(rtt), delay, jitter)]
    command = ["ns", str(SCRIPT), agent, str(flow.payload), *seconds, str(enough), str(seed)]
    # ns-2's DCCP reports packets too late for its Ack Vector on standard error.
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.strip().splitlines()[-1])["kbps"])


def measured(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """All flows at all round-trip times."""
    return [
        {
            "flow": flow.name,
            "payload": flow.payload,
            "rtt_ms": int(rtt),
            "kbps": [rate_kbps(flow, rtt, seed) for seed in seeds],
        }
        for flow in FLOWS
        for rtt in RTTS
    ]


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="number of runs of each (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    if not shutil.which("ns"):
        print("ns-2 is not installed (Debian: apt-get install ns2)", file=sys.stderr)
        return 1
    rows = measured(range(1, given.seeds + 1))
    if given.json:
        print(json.dumps(rows))
        return 0
    cells = {(row["flow"], row["payload"], row["rtt_ms"]): row["kbps"] for row in rows}
    print("| | bytes |" + "".join(f" {rtt} ms |" for rtt in RTTS))
    print("|---|---|" + "---|" * len(RTTS))
    for flow in FLOWS:
        columns = []
        for rtt in RTTS:
            found = cells[flow.name, flow.payload, int(rtt)]
            columns.append(f" {statistics.mean(found):.0f} ({min(found):.0f} to {max(found):.0f}) |")
        print(f"| {flow.name} | {flow.payload} |" + "".join(columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
