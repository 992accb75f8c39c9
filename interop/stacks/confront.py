#!/usr/bin/env python3
"""The confronts of the paper `confront` with real stacks, and the same paths in the simulator.

Usage: interop/stacks/confront.py [--quick] [--runs 4] [--out out/confront-real] [--jobs 2] [--record] [--all]

Two flows of the kernel's TCP, UDP and DCCP, or of Whimbrel's sockets, share a token bucket in an emulated
guest (docs/interop.md), which is interrupted twice. Prints a table and writes runs.csv; `--record` writes
confront_runs.csv. `--all` runs all pairs of the paper instead of five, `--quick` two pairs once. The
exit code is 1 if a confront failed. If a package is missing, it prints its name and exits with 0, or with 1
under REQUIRE_ALL=1.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import confront_cells
import machine
from confront_cells import (
    DELAY_MS,
    PACKET_MS,
    PAIRS,
    PHASES,
    QUICK_PAIRS,
    RECORDED_PAIRS,
    SECONDS,
    SIMULATED,
    VARIED,
    Cell,
    Pair,
)
from confront_table import Row, names, rows, table, write

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).resolve().with_name("confront_runs.csv")
# Number of simultaneous confronts in one guest.
LANES = 3


def prepare() -> str | None:
    """Builds the guest's parts. Returns the reason if that is impossible."""
    if missing := machine.missing_packages():
        return f"packages are missing: apt-get install {' '.join(missing)}"
    if os.uname().machine != "x86_64":
        return "the kernel is for x86_64"
    guest = Path(__file__).resolve().parents[1] / "guest"
    try:
        programs = [
            machine.build_c(guest / "flow.c", machine.CACHE / "flow"),
            machine.build_c(guest / "peer.c", machine.CACHE / "linux_peer"),
            machine.build_peer("interop_peer", machine.CACHE / "whimbrel_peer"),
        ]
        machine.initramfs(machine.kernel(), programs)
    except machine.MachineError as error:
        return str(error)
    return None


def problem(cell: Cell, folder: Path) -> str | None:
    """The reason for which a confront did not take place."""
    for flow in (0, 1):
        source = folder / f"{cell.number}.source{flow}"
        if cell.pair[flow].transport == "dccp":
            report = json.loads(source.read_text())
            if report["end"] != "closed" or str(report["tx_ccid"]) != cell.pair[flow].law:
                return f"{names(cell.pair)}, {cell.stack}: {report['end']}: {report['error']}"
        elif errors := source.with_name(f"{source.name}.errors").read_text():
            return f"{names(cell.pair)}: {errors}"
    return None


def measure(cells: Sequence[Cell], folder: Path, jobs: int) -> list[Row]:
    """Makes the real confronts, in the given number of guests at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    kernel, archive = machine.kernel(), machine.CACHE / "initramfs.cpio.gz"

    def guest(part: int) -> None:
        job = confront_cells.script(cells[part::jobs], LANES)
        machine.boot(kernel, archive, job, folder, 3600.0, f"confront{part}")

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(guest, range(jobs)))
    return [row for cell in cells for row in measured(cell, folder)]


def measured(cell: Cell, folder: Path) -> list[Row]:
    """The flows of a real confront, from the files that it left."""
    if failed := problem(cell, folder):
        raise machine.MachineError(failed)
    before, after = ((folder / f"{cell.number}.{when}").read_text() for when in ("before", "after"))
    return list(rows(cell, before, after))


def simulated(pair: Pair, run: int, delay_ms: float = DELAY_MS) -> list[tuple[float, float]]:
    """Throughput and loss of the flows of the same confront in the simulator."""
    import whimbrel

    flows = whimbrel.run(confront_cells.scenario(pair, run, delay_ms), seed=run + 1).flows
    found = []
    for flow in (0, 1):
        sent = float(flows["sent_packets"][flow])
        lost = sum(float(flows[cause][flow]) for cause in ("lost_queue", "lost_down"))
        size = float(flows["bottleneck_bytes"][flow]) / float(flows["bottleneck_packets"][flow])
        seconds = SECONDS - (Cell(0, pair, SIMULATED, run).offset_s if flow else 0)
        # The simulator measures the throughput at the bottleneck, before the interruptions.
        found.append((float(flows["received_packets"][flow]) * size * 8 / seconds, lost / sent))
    return found


def simulations(pair: Pair, runs: int) -> Iterator[Row]:
    """The rows of all simulations of a pair."""
    for run in range(runs):
        for flow, figures in enumerate(simulated(pair, run)):
            yield Row(names(pair), SIMULATED, run, flow, *figures)
    for phase in range(PHASES):
        # Half of the part in each direction.
        delay_ms = DELAY_MS + PACKET_MS / 2 * phase / PHASES
        for flow, figures in enumerate(simulated(pair, phase % runs, delay_ms)):
            yield Row(names(pair), VARIED, phase, flow, *figures)


def main() -> int:
    """Runs the confronts; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two pairs, once")
    parser.add_argument("--all", action="store_true", help="all pairs of the paper")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "confront-real")
    parser.add_argument("--jobs", type=int, default=2, help="guests at a time")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name}")
    options = parser.parse_args()
    if reason := prepare():
        required = os.environ.get("REQUIRE_ALL") == "1"
        print(f"confront: {'cannot run' if required else 'skipped'}: {reason}", file=sys.stderr)
        return int(required)
    pairs = QUICK_PAIRS if options.quick else PAIRS if options.all else RECORDED_PAIRS
    runs = 1 if options.quick else options.runs
    cells = confront_cells.cells(pairs, runs)
    try:
        found = measure(cells, options.out, min(options.jobs, len(cells)))
    except machine.MachineError as error:
        print(f"confront: {error}", file=sys.stderr)
        return 1
    found += [row for pair in pairs for row in simulations(pair, runs)]
    print("\n".join(table(found)))
    write(found, RECORDED if options.record else options.out / "runs.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
