#!/usr/bin/env python3
"""Kernel stacks of this host over an emulated network, compared with the same scenario in the simulator.

Usage: interop/stacks/emulated.py [--quick] [--runs 3] [--out out/emulated] [--whimbrel FILE] [--realtime]

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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import emulated_peers
import machine
from confront_cells import RENO, SIZE, UDP_BPS, Protocol
from emulated_items import HOST, ITEMS, QUICK, Item, single

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parent
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
PORT = 5001
START_S = 3.0
"""Time for the programs to start, before the network does."""
ATTEMPTS = 3
COLUMNS = ("paper", "item", "flow", "stack", "run", "throughput_bps", "loss")
EMULATED, SIMULATED = "kernel, emulated", "simulated"


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
    """Lets the real flows through the item's network once."""
    scenario = copy.deepcopy(item.scenario(run))
    for node in scenario["node"]:
        # Real senders take real time.
        node.pop("host", None)
    out.mkdir(parents=True, exist_ok=True)
    name = (
        f"{item.paper}-{'-'.join(each.law or each.transport for each in item.protocols)}-{item.source}-{run}"
    )
    path = out / f"{name}.json"
    path.write_text(json.dumps(scenario, indent=1), encoding="utf-8")
    command = [whimbrel, "emulate", str(path), "--json", "--quiet", "--seed", str(run + 1)]
    command += ["--realtime"] if realtime else []
    command += ["--at", "s0", "--for", f"{item.seconds + 5:g}s"]
    # The children of a program of the real-time class have normal priority, and do not inherit its own.
    ahead = "nice -n -10 " if realtime else ""
    guest = None
    if HOST in (item.source, item.sink):
        command += host_ends(item, run, ahead)
    else:
        guest = emulated_peers.guest(item, run, out / name)
        command += emulated_peers.ends(item, run, guest, ahead)
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"emulated: {item.name}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    late = report["emulation"]["events"]["p99_s"]
    said = f"{item.name}, run {run}: events at most {1e3 * late:.2f} ms late (99 %)"
    if guest is not None:
        emulated_peers.check(item, guest)
        said += f", the guest's processor busy for {100 * guest.busy():.0f} % of the time"
    print(said, file=sys.stderr, flush=True)
    return rows_of(report["tables"]["flows"], item, EMULATED, run)


def attempt(item: Item, run: int, out: Path, whimbrel: str, *, realtime: bool) -> list[Row]:
    """As `emulate`, again if the guest of a busy machine has not come to its end."""
    for number in range(1, ATTEMPTS + 1):
        try:
            return emulate(item, run, out, whimbrel, realtime=realtime)
        except machine.MachineError as error:
            print(f"emulated: {error}", file=sys.stderr, flush=True)
            if number == ATTEMPTS:
                raise SystemExit(f"emulated: {item.name}: {ATTEMPTS} runs were incomplete") from error
    raise AssertionError("it returns or raises before")


def host_ends(item: Item, run: int, ahead: str) -> list[str]:
    """Options and main command for the stacks of this host."""
    program = machine.CACHE / "flow"
    words_of: list[str] = ["--wait", f"{START_S:g}s"]
    sending: list[str] = []
    for flow, protocol in enumerate(item.protocols):
        words_of += ["--end", f"r{flow}={sink(protocol, ahead)}"]
        offset = item.offset_s(flow, run)
        words = [str(program), f"{protocol.transport}-send", f"$WHIMBREL_ADDRESS_R{flow}", str(PORT)]
        words += [str(SIZE), f"{item.seconds - offset:g}", protocol.law or str(UDP_BPS)]
        # Only the main sender listens: for the others, the network starts after the whole wait.
        before = offset + (START_S if flow else 0)
        sending.append(f"sleep {before:g}; {ahead}{' '.join(words)}")
    for flow, command in enumerate(sending[1:], 1):
        words_of += ["--end", f"s{flow}={command}"]
    return [*words_of, "--", "sh", "-c", sending[0]]


def simulate(item: Item, run: int) -> list[Row]:
    """The same with simulated flows."""
    import whimbrel

    return rows_of(whimbrel.run(item.scenario(run), seed=run + 1).flows, item, SIMULATED, run)


def table(found: Sequence[Row], items: Sequence[Item]) -> tuple[list[str], int]:
    """The table as Markdown, and the number of deviations that are too large."""
    lines = [
        "| flow | real, Mbit/s | simulated, Mbit/s | deviation |",
        "|---|---|---|---|",
    ]
    failed = 0
    for item in items:
        for flow, protocol in enumerate(item.protocols):
            own = [row for row in found if row.item == item and row.flow == flow]
            kernel, model = ([row for row in own if row.stack == stack] for stack in (EMULATED, SIMULATED))
            rates = [[row.throughput_bps / 1e6 for row in part] for part in (kernel, model)]
            deviation = fmean(rates[0]) / fmean(rates[1]) - 1
            is_off = abs(deviation) > item.tolerance
            failed += is_off
            shown = [
                f"{fmean(each):.2f}" + (f" ± {stdev(each):.2f}" if len(each) > 1 else "") for each in rates
            ]
            mark = " (!)" if is_off else ""
            others = [other.name for number, other in enumerate(item.protocols) if number != flow]
            head = f"{protocol.name} against {others[0]}" if others else item.name
            lines.append(
                f"| {item.paper}: {head} | {shown[0]} | {shown[1]} | {100 * deviation:+.1f} %{mark} |"
            )
    return lines, failed


def fill(page: Path, lines: Sequence[str]) -> None:
    """Replaces the table of a page, which begins with its first line and ends with an empty one."""
    text = page.read_text(encoding="utf-8")
    if text.count(f"\n{lines[0]}\n") != 1:
        raise SystemExit(f"emulated: {page}: expected one table that begins with\n{lines[0]}")
    before, rest = text.split(f"\n{lines[0]}\n")
    after = rest.split("\n\n", 1)[1]
    page.write_text("\n".join([before, *lines, "", after]), encoding="utf-8")


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
    parser.add_argument("--only", default="", metavar="TEXT", help="items whose paper and name contain this")
    parser.add_argument("--no-guest", action="store_true", help="no items with the stacks of the guest")
    parser.add_argument("--page", type=Path, help="write the table into this page instead of the one there")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "emulated")
    parser.add_argument("--whimbrel", default=shutil.which("whimbrel", path=str(Path(sys.executable).parent)))
    parser.add_argument("--realtime", action="store_true", help="emulate before all other programs")
    options = parser.parse_args()
    if reason := missing(options.whimbrel):
        required = os.environ.get("REQUIRE_ALL") == "1"
        print(f"emulated: {'cannot run' if required else 'skipped'}: {reason}", file=sys.stderr)
        return int(required)
    items = [item for item in ITEMS if options.only in f"{item.paper}: {item.name}"]
    if options.quick:
        items = list(QUICK)
    with_guest = {item for item in items if HOST not in (item.source, item.sink)}
    if with_guest and (options.no_guest or (reason := emulated_peers.prepare())):
        if not options.no_guest:
            print(f"emulated: without the guest's stacks: {reason}", file=sys.stderr)
            if os.environ.get("REQUIRE_ALL") == "1":
                return 1
        items = [item for item in items if item not in with_guest]
    found: list[Row] = []
    for run in range(1 if options.quick else options.runs):
        for item in items:
            found += attempt(item, run, options.out, options.whimbrel, realtime=options.realtime)
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
    if options.page is not None:
        fill(options.page, lines)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
