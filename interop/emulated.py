#!/usr/bin/env python3
"""Kernel stacks of this host over an emulated network, beside the same scenario in the simulator.

Usage: interop/emulated.py [--quick] [--runs 3] [--out out/emulated] [--whimbrel FILE] [--realtime]

An item of each of the papers `confront`, `lda` and `reorder`: the kernel's TCP (and UDP) pass through
`whimbrel emulate`, which drives the scenario's network against the wall clock; `whimbrel run` has simulated
flows in the same network. Prints a table and writes runs.csv. The exit code is 1 if a kernel's figure is
further from the simulated one than the item allows. If namespaces or a compiler are missing, it prints the
reason and exits with 0, or with 1 under REQUIRE_ALL=1.
"""

from __future__ import annotations

import argparse
import copy
import csv
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import confront_cells
import machine
from confront_cells import CUBIC, RENO, SIZE, UDP, UDP_BPS, Cell, Protocol

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
PORT = 5001
START_S = 3.0
"""Time for the programs to start, before the network does."""
COLUMNS = ("paper", "item", "flow", "stack", "run", "throughput_bps", "loss")
EMULATED, SIMULATED = "kernel, emulated", "simulated"


@dataclass(frozen=True)
class Item:
    """A path, and the flows on it.

    Attributes:
        paper: its key.
        name: of the item.
        protocols: of the flows `flow0`, `flow1`, ..., from `s0` to `r0` and so on.
        seconds: duration.
        tolerance: largest deviation of the kernel's mean throughput from the simulated one, as a share of it;
            infinite where they are known to differ.
    """

    paper: str
    name: str
    protocols: tuple[Protocol, ...]
    seconds: float
    tolerance: float

    def offset_s(self, flow: int, run: int) -> float:
        """Start of a flow."""
        return Cell(0, (CUBIC, UDP), EMULATED, run).offset_s if flow else 0.0

    def scenario(self, run: int) -> dict[str, Any]:
        """The network with its simulated flows."""
        if self.paper == "confront":
            first, second = self.protocols
            return confront_cells.scenario((first, second), run)
        return single(self.protocols[0], self.seconds, IMPAIRMENTS[self.paper])


IMPAIRMENTS: dict[str, dict[str, Any]] = {
    # That of interop/tcp.py, as on the last hop of the paper: losses that are no congestion.
    "lda": {"queue": "200 packets", "loss": {"model": "bernoulli", "rate": "0.5 %"}},
    # The impairment of the paper's test bed as in interop/reorder_cells.py: 5 % are delayed by 50 ± 20 ms.
    "reorder": {
        "queue": "200 packets",
        "netem": {"delay": "50 ms", "jitter": "20 ms", "distribution": "normal", "reorder": "95 %", "gap": 1},
    },
}
ITEMS = (
    Item("confront", "TCP Cubic and UDP, hand-offs", (CUBIC, UDP), confront_cells.SECONDS, 0.15),
    Item("confront", "TCP Reno and UDP, hand-offs", (RENO, UDP), confront_cells.SECONDS, 0.15),
    Item("lda", "TCP Reno, 0.5 % random losses", (RENO,), 30.0, 0.25),
    Item("lda", "TCP Cubic, 0.5 % random losses", (CUBIC,), 30.0, 0.25),
    Item("reorder", "TCP Reno, 5 % reordered by 50 ± 20 ms", (RENO,), 30.0, math.inf),
    Item("reorder", "TCP Cubic, 5 % reordered by 50 ± 20 ms", (CUBIC,), 30.0, math.inf),
)
QUICK = (ITEMS[0],)


def single(protocol: Protocol, seconds: float, impairment: dict[str, Any]) -> dict[str, Any]:
    """A flow over 8 Mbit/s and 50 ms, with an impairment of its direction."""
    back = {"rate": "8 Mbit/s", "delay": "25 ms", "queue": "1000 packets"}
    forth = {"rate": "8 Mbit/s", "delay": "25 ms", **impairment}
    return {
        "simulation": {"duration": f"{seconds:g} s"},
        "node": [{"name": "s0"}, {"name": "r0"}],
        "link": [{"name": "bottleneck", "between": ["s0", "r0"], **forth, "reverse": back}],
        "flow": [{"name": "flow0", "from": "s0", "to": "r0", "payload": f"{SIZE} B", **protocol.flow()}],
    }


@dataclass(frozen=True)
class Row:
    """A flow of a run: the share of its packets that the network lost, and what arrived in bit/s."""

    item: Item
    flow: int
    stack: str
    run: int
    throughput_bps: float
    loss: float


def rows_of(flows: Any, item: Item, stack: str, run: int) -> list[Row]:  # noqa: ANN401 - a table of columns
    """The flows of an item, from the record's table."""
    found = []
    for flow in range(len(item.protocols)):
        at = list(flows["flow"]).index(f"flow{flow}")
        sent = float(flows["sent_packets"][at])
        lost = sum(float(flows[cause][at]) for cause in ("lost_queue", "lost_down", "lost_wireless"))
        size = float(flows["bottleneck_bytes"][at]) / float(flows["bottleneck_packets"][at])
        seconds = item.seconds - item.offset_s(flow, run)
        rate = float(flows["received_packets"][at]) * size * 8 / seconds
        found.append(Row(item, flow, stack, run, rate, lost / sent))
    return found


def sink(protocol: Protocol, ahead: str) -> str:
    """The command of a receiver."""
    return f"{ahead}{shlex.quote(str(machine.CACHE / 'flow'))} {protocol.transport}-sink {PORT} 2>/dev/null"


def emulate(item: Item, run: int, out: Path, whimbrel: str, *, realtime: bool) -> list[Row]:
    """Lets the kernel's flows through the item's network once."""
    scenario = copy.deepcopy(item.scenario(run))
    for node in scenario["node"]:
        # Real senders take real time.
        node.pop("host", None)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{item.paper}-{item.protocols[0].law}-{run}.json"
    path.write_text(json.dumps(scenario, indent=1), encoding="utf-8")
    program = machine.CACHE / "flow"
    command = [
        whimbrel,
        "emulate",
        str(path),
        "--json",
        "--quiet",
        "--seed",
        str(run + 1),
        "--wait",
        f"{START_S:g}s",
    ]
    command += ["--realtime"] if realtime else []
    # The children of a program of the real-time class have normal priority, whatever its own was.
    ahead = "nice -n -10 " if realtime else ""
    sending: list[str] = []
    for flow, protocol in enumerate(item.protocols):
        command += ["--end", f"r{flow}={sink(protocol, ahead)}"]
        offset = item.offset_s(flow, run)
        words = [str(program), f"{protocol.transport}-send", f"$WHIMBREL_ADDRESS_R{flow}", str(PORT)]
        words += [str(SIZE), f"{item.seconds - offset:g}", protocol.law or str(UDP_BPS)]
        # Senders beside the main one do not listen: the network starts after the whole wait.
        before = offset + (START_S if flow else 0)
        sending.append(f"sleep {before:g}; {ahead}{' '.join(words)}")
    for flow, words_of in enumerate(sending[1:], 1):
        command += ["--end", f"s{flow}={words_of}"]
    command += ["--at", "s0", "--for", f"{item.seconds + 5:g}s", "--", "sh", "-c", sending[0]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"emulated: {item.name}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    late = report["emulation"]["events"]["p99_s"]
    print(f"{item.name}, run {run}: events at most {1e3 * late:.2f} ms late (99 %)", file=sys.stderr)
    return rows_of(report["tables"]["flows"], item, EMULATED, run)


def simulate(item: Item, run: int) -> list[Row]:
    """The same with simulated flows."""
    import whimbrel

    return rows_of(whimbrel.run(item.scenario(run), seed=run + 1).flows, item, SIMULATED, run)


def table(found: Sequence[Row], items: Sequence[Item]) -> tuple[list[str], int]:
    """The table as Markdown, and the number of deviations that are too large."""
    lines = [
        "| paper | item | flow | kernel, Mbit/s | simulated, Mbit/s | deviation | lost, % | simulated, % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    failed = 0
    for item in items:
        for flow, protocol in enumerate(item.protocols):
            own = [row for row in found if row.item == item and row.flow == flow]
            kernel, model = ([row for row in own if row.stack == stack] for stack in (EMULATED, SIMULATED))
            rates = [[row.throughput_bps / 1e6 for row in part] for part in (kernel, model)]
            losses = [100 * fmean(row.loss for row in part) for part in (kernel, model)]
            deviation = fmean(rates[0]) / fmean(rates[1]) - 1
            is_off = abs(deviation) > item.tolerance
            failed += is_off
            shown = [
                f"{fmean(each):.2f}" + (f" ± {stdev(each):.2f}" if len(each) > 1 else "") for each in rates
            ]
            mark = " (!)" if is_off else ""
            lines.append(
                f"| {item.paper} | {item.name} | {protocol.name} | {shown[0]} | {shown[1]} | "
                f"{100 * deviation:+.1f} %{mark} | {losses[0]:.2f} | {losses[1]:.2f} |"
            )
    return lines, failed


def missing(whimbrel: str | None) -> str | None:
    """Reason why nothing can be measured, or None."""
    if whimbrel is None:
        return "no whimbrel next to this Python: expected --whimbrel FILE"
    laws = AVAILABLE.read_text(encoding="ascii").split() if AVAILABLE.exists() else []
    if absent := [law for law in ("reno", "cubic") if law not in laws]:
        return f"this kernel has no TCP {', '.join(absent)}"
    if shutil.which("cc") is None:
        return "no C compiler"
    machine.build_c(HERE / "guest" / "flow.c", machine.CACHE / "flow")
    out = machine.CACHE / "probe.json"
    out.write_text(json.dumps(single(RENO, 1.0, {})), encoding="utf-8")
    command = [whimbrel, "emulate", str(out), "--quiet", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return (done.stderr.strip().splitlines() or ["whimbrel emulate failed"])[-1] if done.returncode else None


def main() -> int:
    """Measures the items; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one item of confront, once")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "emulated")
    parser.add_argument("--whimbrel", default=shutil.which("whimbrel", path=str(Path(sys.executable).parent)))
    parser.add_argument("--realtime", action="store_true", help="emulate before all other programs")
    options = parser.parse_args()
    if reason := missing(options.whimbrel):
        required = os.environ.get("REQUIRE_ALL") == "1"
        print(f"emulated: {'cannot run' if required else 'skipped'}: {reason}", file=sys.stderr)
        return int(required)
    items = QUICK if options.quick else ITEMS
    found: list[Row] = []
    for run in range(1 if options.quick else options.runs):
        for item in items:
            found += emulate(item, run, options.out, options.whimbrel, realtime=options.realtime)
            found += simulate(item, run)
    with (options.out / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in found:
            rate = round(row.throughput_bps)
            writer.writerow(
                [row.item.paper, row.item.name, row.flow, row.stack, row.run, rate, f"{row.loss:.5f}"]
            )
    lines, failed = table(found, items)
    print("\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
