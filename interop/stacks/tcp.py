#!/usr/bin/env python3
"""Bulk transfers of Linux's TCP over an emulated path, to compare the simulated TCP with.

Usage: interop/stacks/tcp.py [--quick] [--runs 3] [--seconds 60] [--jobs 2] [--out out/tcp] [--record]

The kernel of an emulated guest (docs/interop.md) sends with each of its congestion controls through a token
bucket and netem. Prints the throughput of each cell, and writes runs.csv; `--record` writes
tcp_runs.csv, with which crates/lab/tests/linux_tcp.rs compares the simulated TCP. `--quick` makes a
short run of two cells and requires each to be near the recorded one; the exit code is 1 if it is not. If a
package is missing, it prints its name and exits with 0, or with 1 under REQUIRE_ALL=1.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import machine

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).resolve().with_name("tcp_runs.csv")
BULK = Path(__file__).resolve().parents[1] / "guest" / "bulk.sh"
LAWS = ("reno", "cubic", "veno", "westwood", "bbr")
WARM_UP_S = 10
# Number of simultaneous transfers in one guest.
LANES = 5
# A quick run needs no random losses, whose number varies.
QUICK_S = 10
QUICK_TOLERANCE = 0.1
QUICK_LAWS = ("reno", "cubic")


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """A path of 8 Mbit/s and 50 ms, with a bandwidth-delay product of 33 packets.

    Attributes:
        name: in the table.
        queue_bytes: at the bottleneck, of packets of 1514 bytes with their Ethernet header.
        loss_percent: lost at random behind it.
    """

    name: str
    queue_bytes: int
    loss_percent: float


PATHS = (
    Bottleneck("drop-tail", 8 * 1514, 0.0),
    Bottleneck("random-loss", 200 * 1514, 0.5),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One transfer."""

    number: int
    path: Bottleneck
    law: str
    run: int


@dataclass(frozen=True, slots=True)
class Result:
    """The throughput of a transfer in bytes of IP packets, and the share of segments sent again."""

    cell: Cell
    throughput_bps: float
    retransmitted: float


def prepare() -> str | None:
    """Builds the guest's parts. Returns the reason if that is impossible."""
    if missing := machine.missing_packages():
        return f"packages are missing: apt-get install {' '.join(missing)}"
    if os.uname().machine != "x86_64":
        return "the kernel is for x86_64"
    try:
        machine.initramfs(machine.kernel(), [])
    except machine.MachineError as error:
        return str(error)
    return None


def script(cells: Sequence[Cell], seconds: int) -> str:
    """The guest's job: the cells, some of them at a time."""
    # Other namespaces than the first may use these only.
    allowed = f"echo '{' '.join(LAWS)}' > /proc/sys/net/ipv4/tcp_allowed_congestion_control"
    lines = [BULK.read_text(), allowed]
    for first in range(0, len(cells), LANES):
        for cell in cells[first : first + LANES]:
            name = f"c{cell.number}"
            loss = f" loss {cell.path.loss_percent}%" if cell.path.loss_percent else ""
            lines.append(
                f'bulk_path {name} "rate 8mbit burst 1600 limit {cell.path.queue_bytes}"'
                f' "delay 25ms limit 10000{loss}" "delay 25ms limit 10000"'
            )
        for cell in cells[first : first + LANES]:
            lines.append(f"bulk c{cell.number} {cell.law} {WARM_UP_S} {seconds} &\nlane{cell.number}=$!")
        lines.extend(f"wait $lane{cell.number}" for cell in cells[first : first + LANES])
    return "\n".join(lines) + "\n"


def counters(text: str) -> tuple[float, int, int, int]:
    """The time in s, bytes and packets that have arrived, and segments sent again."""
    uptime = float(text.split(maxsplit=1)[0])
    arrived = re.search(r"RX:.*\n\s*(\d+)\s+(\d+)", text)
    headers, values = (line.split()[1:] for line in re.findall(r"^Tcp:.*$", text, re.MULTILINE))
    if not arrived:
        raise ValueError(text)
    tcp = dict(zip(headers, values, strict=True))
    return uptime, int(arrived[1]), int(arrived[2]), int(tcp["RetransSegs"])


def result(cell: Cell, folder: Path) -> Result:
    """The result of a cell, from the counters of the guest."""
    law = (folder / f"c{cell.number}.law").read_text().strip()
    if law != cell.law:
        raise machine.MachineError(f"{cell.law}: the kernel has used {law}")
    before, after = (
        counters((folder / f"c{cell.number}.{when}").read_text()) for when in ("before", "after")
    )
    time, size, packets, again = (late - early for early, late in zip(before, after, strict=True))
    # The device counts the Ethernet header, of 14 bytes.
    return Result(cell, (size - 14 * packets) * 8 / time, again / max(packets, 1))


def measure(cells: Sequence[Cell], seconds: int, folder: Path, jobs: int) -> list[Result]:
    """Makes the transfers, in the given number of guests at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    kernel, archive = machine.kernel(), machine.CACHE / "initramfs.cpio.gz"

    def guest(part: int) -> None:
        job = script(cells[part::jobs], seconds)
        machine.boot(kernel, archive, job, folder, 3600.0, f"tcp{part}")

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(guest, range(jobs)))
    return [result(cell, folder) for cell in cells]


def write(results: Sequence[Result], file: Path) -> None:
    """A line for each transfer."""
    with file.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["path", "law", "run", "throughput_bps", "retransmitted"])
        for it in results:
            row = [it.cell.path.name, it.cell.law, it.cell.run, round(it.throughput_bps)]
            writer.writerow([*row, f"{it.retransmitted:.5f}"])


def recorded() -> dict[tuple[str, str], float]:
    """The mean recorded throughput by path and law."""
    values: dict[tuple[str, str], list[float]] = {}
    with RECORDED.open() as file:
        for row in csv.DictReader(file):
            values.setdefault((row["path"], row["law"]), []).append(float(row["throughput_bps"]))
    return {key: statistics.fmean(all_of) for key, all_of in values.items()}


def show(results: Sequence[Result]) -> None:
    """Prints the mean of each cell."""
    for path in PATHS:
        for law in LAWS:
            rates = [it for it in results if it.cell.path == path and it.cell.law == law]
            if rates:
                mean = statistics.fmean(it.throughput_bps for it in rates) / 1e6
                again = 100 * statistics.fmean(it.retransmitted for it in rates)
                print(f"{path.name:12} {law:9} {mean:6.3f} Mbit/s, {again:5.2f} % sent again")


def main() -> int:
    """Runs the transfers."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--quick", action="store_true", help="one short run of some cells, against the recorded ones"
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2, help="guests at a time")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "tcp")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name}")
    options = parser.parse_args()
    if reason := prepare():
        print(f"Linux's TCP was not run: {reason}")
        return int(os.environ.get("REQUIRE_ALL") == "1")
    runs, seconds = options.runs, options.seconds
    chosen = [(path, law, run) for run in range(runs) for path in PATHS for law in LAWS]
    if options.quick:
        chosen, seconds = [(PATHS[0], law, 0) for law in QUICK_LAWS], QUICK_S
    cells = [Cell(number, *choice) for number, choice in enumerate(chosen)]
    results = measure(cells, seconds, options.out, min(options.jobs, len(cells)))
    show(results)
    write(results, RECORDED if options.record else options.out / "runs.csv")
    if not options.quick:
        return 0
    expected = recorded()
    failed = 0
    for it in results:
        ratio = it.throughput_bps / expected[it.cell.path.name, it.cell.law]
        if abs(ratio - 1) > QUICK_TOLERANCE:
            print(f"{it.cell.path.name}, {it.cell.law}: {ratio:.2f} of the recorded throughput")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
