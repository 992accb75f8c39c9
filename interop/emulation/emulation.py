#!/usr/bin/env python3
"""The emulation of a scenario, compared with its simulation: rates, delays, losses, marks.

Usage: interop/emulation/emulation.py [--quick] [--whimbrel FILE] [--out out/emulation]

Real datagrams of constant rate, and of a video with repair, cross the emulated network, and are measured by
the programs at its ends; the simulation has the same scenario with the same load. Prints a table; the exit
code is 1 if a difference exceeds its bound. A case whose lateness shows that the machine was busy is
repeated. If namespaces cannot be made, it prints the reason and exits with 0, or with 1 under REQUIRE_ALL=1.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import emulation_repair
from emulation_cases import CASES, HEADERS_V4, HEADERS_V6, QUICK, Case
from emulation_repair import REPAIR_CASES, REPAIR_QUICK, RepairCase, Repaired
from emulation_statistics import binomial_tail, ks_p_value, runs

from whimbrel.statistics import paired_difference

ROOT = Path(__file__).resolve().parents[2]
TRAFFIC = ROOT / "interop" / "emulation" / "emulation_traffic.py"
PORT = 5000
SECONDS, QUICK_SECONDS = 20.0, 6.0
WARM_UP_S = 1.0
"""Left out of rates and delays: the programs start one after another."""
SIMULATIONS = 5
"""Seeds of the simulation whose losses are taken together."""
PAIRS = 8
"""Videos with repair at a time, each on a path of its own."""
REPAIR_SEEDS = (1, 2)
LEAST_P = 1e-3
LATE_S = 1e-3
"""Lateness of 1 % of the events above which a machine is too busy to compare."""
ATTEMPTS = 4


class UnavailableError(Exception):
    """The system allows no namespaces."""


class IncompleteError(Exception):
    """The programs of an emulation have not run to their ends."""


@dataclass(slots=True)
class Measured:
    """Observations of the receivers of an emulation, or of simulations."""

    throughput_bps: float
    delay_s: float
    lost: int
    sent: int
    loss_runs: list[int]
    gaps: list[int]
    marked: int = 0
    recorded_marks: int = 0
    lateness_s: float = 0.0
    delays_s: list[float] = field(default_factory=list)
    overtaken: int = 0
    """Packets that arrived after one that was sent later."""


@dataclass(slots=True)
class Row:
    """A line of the table."""

    case: str
    quantity: str
    simulated: str
    emulated: str
    bound: str
    holds: bool


@dataclass(slots=True)
class Bench:
    """The program and where it works."""

    whimbrel: str
    directory: Path
    options: list[str] = field(default_factory=list)

    def run(self, *arguments: str) -> dict[str, Any]:
        """Runs the program and returns the JSON that it prints."""
        done = subprocess.run(
            [self.whimbrel, *arguments], cwd=self.directory, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"emulation: {shlex.join(arguments)}: {done.stderr.strip()}")
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def simulate(self, case: Case, seconds: float) -> Measured:
        """Simulates a case with several seeds."""
        rates: list[float] = []
        delays: list[float] = []
        loss_runs: list[int] = []
        gaps: list[int] = []
        lost, sent, late = 0, 0, 0
        (self.directory / "case.toml").write_text(case.scenario(seconds))
        for seed in range(1, SIMULATIONS + 1):
            tables = self.run("run", "case.toml", "--json", "--seed", str(seed))["tables"]
            packets = tables["packets"]
            rows = [
                (int(flow[4:] or 0), number, sent_s, received, fate == "received")
                for flow, number, sent_s, received, fate in zip(
                    *(packets[name] for name in ("flow", "sequence", "sent_s", "received_s", "fate")),
                    strict=True,
                )
            ]
            arrived = sorted([(each[2], each[3]) for each in rows if each[4]], key=lambda times: times[1])
            late += overtaken([start for start, _ in arrived])
            rates.append(throughput(case, [end for _, end in arrived], seconds))
            delays += [end - start for start, end in arrived if end > WARM_UP_S]
            fates = [each[4] for each in sorted(rows)]
            bursts, between = runs(fates)
            loss_runs, gaps = loss_runs + bursts, gaps + between
            lost, sent = lost + fates.count(False), sent + len(fates)
        return Measured(
            statistics.mean(rates), statistics.median(delays), lost, sent, loss_runs, gaps, delays_s=delays,
            overtaken=late,
        )  # fmt: skip

    def emulate(self, case: Case, seconds: float) -> Measured:
        """Emulates a case with real senders and a real receiver."""
        (self.directory / "case.toml").write_text(case.scenario(seconds))
        log = self.directory / "received.csv"
        python = shlex.quote(sys.executable)
        host = "$WHIMBREL_ADDRESS6_SERVER" if case.v6 else "$WHIMBREL_ADDRESS_SERVER"
        headers = HEADERS_V6 if case.v6 else HEADERS_V4
        count = case.count(seconds)
        options = f"--size {case.size - headers} --interval {case.interval_s!r} --count {count} "
        options += f"--train {case.train}"
        sender = f"exec {python} {TRAFFIC} send {host} {PORT} {options} {'--ecn' if case.ecn else ''}"
        # The emulation ends when its main command does, so that one waits for what is on its way.
        receiver = f"{python} {TRAFFIC} receive {PORT} --out {shlex.quote(str(log))} & wait_for=$!; "
        receiver += f"sleep {seconds + 2:g}; kill -TERM $wait_for; wait"
        ends = [word for client in case.clients for word in ("--end", f"{client}=sleep 0.5; {sender}")]
        arguments = ["emulate", "case.toml", "--json", "--wait", "0s", "--seed", "1", *self.options, *ends]
        result = self.run(*arguments, "--at", "server", "--", "sh", "-c", receiver)
        with log.open(newline="") as file:
            lines = list(csv.DictReader(file))
        start = min(int(line["sent_ns"]) for line in lines)
        # The time at which the kernels had it.
        arrived = [
            ((int(line["sent_ns"]) - start) / 1e9, (int(line["received_ns"]) - start) / 1e9) for line in lines
        ]
        if not any(end > WARM_UP_S for _, end in arrived):
            raise IncompleteError(f"{case.name}: {len(lines)} datagrams, the last at {arrived[-1][1]:.3f} s")
        bursts: list[int] = []
        between: list[int] = []
        lost = 0
        for address in sorted({line["sender"] for line in lines}):
            numbers = {int(line["number"]) for line in lines if line["sender"] == address}
            fates = [number in numbers for number in range(count)]
            more_bursts, more_between = runs(fates)
            bursts, between, lost = bursts + more_bursts, between + more_between, lost + fates.count(False)
        tables = result["tables"]
        # The senders start when the network has run for a while.
        offset = min(tables["packets"]["sent_s"])
        marks = tables["flows"]["marked_packets"]
        delays = [end - begin for begin, end in arrived if end > WARM_UP_S]
        return Measured(
            throughput(case, [offset + end for _, end in arrived], seconds),
            statistics.median(delays),
            lost,
            count * case.senders,
            bursts,
            between,
            sum(line["ecn"] == "3" for line in lines),
            sum(marks),
            result["emulation"]["events"]["p99_s"],
            delays,
            overtaken([begin for begin, _ in arrived]),
        )


def overtaken(sent_s: list[float]) -> int:
    """The packets, in the order of arrival, of which one with a later time has arrived before."""
    latest, count = -math.inf, 0
    for at in sent_s:
        count += at < latest
        latest = max(latest, at)
    return count


def throughput(case: Case, arrivals_s: list[float], seconds: float) -> float:
    """The mean rate on the link, from the warm-up to shortly before the end, by the scenario's clock."""
    start, end = 2 * WARM_UP_S, seconds - WARM_UP_S / 2
    inside = sum(start <= at < end for at in arrivals_s)
    return inside * case.size * 8 / (end - start)


def compare(case: Case, simulated: Measured, emulated: Measured) -> list[Row]:
    """The lines of a case."""
    rows = []

    def add(quantity: str, ours: str, theirs: str, bound: str, *, holds: bool) -> None:
        rows.append(Row(case.name, quantity, ours, theirs, bound, holds))

    ratio = emulated.throughput_bps / simulated.throughput_bps - 1
    add(
        "throughput",
        f"{simulated.throughput_bps / 1e6:.3f} Mbit/s",
        f"{emulated.throughput_bps / 1e6:.3f} Mbit/s ({ratio:+.2%})",
        f"{case.throughput_bound:.0%}",
        holds=abs(ratio) <= case.throughput_bound,
    )
    difference = emulated.delay_s - simulated.delay_s
    add(
        "median delay",
        "" if case.ecn else f"{simulated.delay_s * 1e3:.3f} ms",
        f"{emulated.delay_s * 1e3:.3f} ms" + ("" if case.ecn else f" ({difference * 1e3:+.3f} ms)"),
        "" if case.delay_bound_s is None else f"{case.delay_bound_s * 1e3:g} ms",
        holds=case.delay_bound_s is None or abs(difference) <= case.delay_bound_s,
    )
    if case.ecn:
        # Simulated datagrams are not ECN-capable: they are dropped.
        add("lost packets", "", str(emulated.lost), "none", holds=emulated.lost == 0)
    elif case.loss is not None:
        p = binomial_tail(emulated.lost, emulated.sent, case.loss)
        add(
            "lost packets",
            f"{case.loss:.1%} of each",
            f"{emulated.lost} of {emulated.sent} (p = {p:.2g})",
            f"p > {LEAST_P:g}",
            holds=p > LEAST_P,
        )
    else:
        shares = [each.lost / each.sent for each in (simulated, emulated)]
        add(
            "lost packets",
            f"{shares[0]:.2%}",
            f"{shares[1]:.2%}",
            "1.5 % of all" if simulated.lost else "none",
            holds=abs(shares[0] - shares[1]) <= (0.015 if simulated.lost else 0.0),
        )
    if "losses" in case.name:
        for quantity, ours, theirs in (
            ("runs of losses", simulated.loss_runs, emulated.loss_runs),
            ("runs between losses", simulated.gaps, emulated.gaps),
        ):
            p = ks_p_value(ours, theirs)
            means = [statistics.mean(each) for each in (ours, theirs)]
            text = f"mean {means[1]:.2f} (KS p = {p:.2g})"
            add(quantity, f"mean {means[0]:.2f}", text, f"p > {LEAST_P:g}", holds=p > LEAST_P)
    if case.ecn:
        add(
            "marks received",
            "",
            f"{emulated.marked}, recorded {emulated.recorded_marks}",
            "equal, not 0",
            holds=emulated.marked == emulated.recorded_marks > 0,
        )
    return rows


def measure(bench: Bench, case: Case, seconds: float) -> tuple[list[Row], float]:
    """The lines of a case, and the lateness of 1 % of its events; repeated while the machine is busy."""
    simulated = bench.simulate(case, seconds)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            emulated = bench.emulate(case, seconds)
        except IncompleteError as error:
            print(f"emulation: repeated: {error}", file=sys.stderr, flush=True)
            if attempt == ATTEMPTS:
                raise
            continue
        rows = compare(case, simulated, emulated)
        if emulated.lateness_s <= LATE_S:
            break
    return rows, emulated.lateness_s


def measure_repair(
    bench: Bench, case: RepairCase, seconds: float, seeds: Sequence[int]
) -> tuple[list[Row], float]:
    """The lines of a video with repair, and the lateness of 1 % of the events; repeated as the others."""
    ours, theirs, latest = Repaired([], [], []), Repaired([], [], []), 0.0
    for seed in seeds:
        case.write(bench.directory, "case.toml", seconds, PAIRS)
        result = bench.run("run", "case.toml", "--json", "--seed", str(seed))
        ours.add(emulation_repair.simulated(result["tables"]["flows"], seconds))
        emulated, late_s = emulate_repair(bench, case, seconds, seed)
        theirs.add(emulated)
        latest = max(latest, late_s)
    return compare_repair(case, ours, theirs), latest


def emulate_repair(bench: Bench, case: RepairCase, seconds: float, seed: int) -> tuple[Repaired, float]:
    """Emulates the paths with real ends: their numbers, and the lateness of 1 % of the events."""
    whole = emulation_repair.START_S + seconds + emulation_repair.END_S
    for attempt in range(1, ATTEMPTS + 1):
        case.write(bench.directory, "case.toml", whole, PAIRS)
        ends = case.ends(bench.whimbrel, bench.directory, seconds, PAIRS)
        options = ["--json", "--wait", "0s", "--seed", str(seed), *bench.options]
        result = bench.run("emulate", "case.toml", *options, *ends)
        lateness: float = result["emulation"]["events"]["p99_s"]
        try:
            found = emulation_repair.emulated(bench.directory, PAIRS, case.latency_s)
        except (OSError, ValueError) as error:
            print(f"emulation: repeated: {case.name}: {error}", file=sys.stderr, flush=True)
            if attempt == ATTEMPTS:
                raise
            continue
        if lateness <= LATE_S:
            break
    return found, lateness


def compare_repair(case: RepairCase, simulated: Repaired, emulated: Repaired) -> list[Row]:
    """The lines of a video with repair."""
    rows = []
    for (quantity, ours), (_, theirs) in zip(simulated.named(), emulated.named(), strict=True):
        difference = paired_difference(theirs, ours, emulation_repair.CONFIDENCE)
        simulated_text = f"{statistics.mean(ours):.2%}"
        text = f"{statistics.mean(theirs):.2%} ({difference.mean:+.2%} ± {difference.half_width:.2%})"
        bound = f"{emulation_repair.TOLERANCE:.1%} ({emulation_repair.CONFIDENCE:.1%} of {len(ours)} pairs)"
        least = max(difference.low, -difference.high)
        rows.append(
            Row(case.name, quantity, simulated_text, text, bound, least <= emulation_repair.TOLERANCE)
        )
    return rows


def check_available(bench: Bench) -> None:
    """Makes the namespaces of a case once."""
    (bench.directory / "case.toml").write_text(CASES[0].scenario(1))
    command = [bench.whimbrel, "emulate", "case.toml", "-q", *bench.options, "--", "true"]
    done = subprocess.run(command, cwd=bench.directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(done.stderr.strip())


def page(rows: list[Row], lateness: dict[str, float], seconds: float) -> str:
    """The table as a page."""
    lines = [
        "# Accuracy of emulation",
        "",
        "```sh",
        "make emulation   # measures this page anew, in minutes; docs/emulate.md explains it",
        "```",
        "",
        f"{seconds:g} s each; the simulation with {SIMULATIONS} seeds, or for repair with the same.",
        "",
        "| network | quantity | simulated | emulated | bound |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.case} | {row.quantity} | {row.simulated} | {row.emulated} | {row.bound} |" for row in rows
    ]
    lines += ["", "Lateness of the events of the network:", "", "| network | 99 % below |", "|---|---|"]
    lines += [f"| {name} | {late * 1e3:.3f} ms |" for name, late in lateness.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Runs the cases; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="some cases, for a shorter time")
    parser.add_argument("--whimbrel", default=shutil.which("whimbrel", path=str(Path(sys.executable).parent)))
    parser.add_argument("--only", help="cases whose names contain this")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "emulation")
    given = parser.parse_args()
    if given.whimbrel is None:
        parser.error("no whimbrel next to this Python: expected --whimbrel FILE")
    seconds = QUICK_SECONDS if given.quick else SECONDS
    rows: list[Row] = []
    lateness: dict[str, float] = {}

    def note(case: Case | RepairCase, found: list[Row], late_s: float) -> None:
        lateness[case.name] = late_s
        rows.extend(found)
        for row in found:
            mark = "" if row.holds else "   EXCEEDS ITS BOUND"
            line = f"{row.case:<32} {row.quantity:<20} {row.simulated:>18} {row.emulated:>34} {row.bound}"
            print(f"{line}{mark}", flush=True)

    def is_chosen(case: Case | RepairCase) -> bool:
        return not (given.quick and case.name not in QUICK + REPAIR_QUICK) and (
            not given.only or given.only in case.name
        )

    with tempfile.TemporaryDirectory() as name:
        bench = Bench(str(Path(given.whimbrel).resolve()), Path(name))
        bench.options = ["--realtime"] if os.geteuid() == 0 else []
        shutil.copy(ROOT / "examples/traces/drive.mahimahi.gz", bench.directory)
        try:
            check_available(bench)
        except UnavailableError as reason:
            required = os.environ.get("REQUIRE_ALL") == "1"
            print(f"emulation: {'cannot run' if required else 'skipped'}: {reason}", file=sys.stderr)
            return 1 if required else 0
        for case in filter(is_chosen, CASES):
            note(case, *measure(bench, case, seconds))
        for repair in filter(is_chosen, REPAIR_CASES):
            seeds = REPAIR_SEEDS[: 1 if given.quick else None]
            note(repair, *measure_repair(bench, repair, seconds, seeds))
    given.out.mkdir(parents=True, exist_ok=True)
    listed = [{name: getattr(row, name) for name in Row.__slots__} for row in rows]
    (given.out / "rows.json").write_text(json.dumps(listed, indent=1) + "\n")
    failed = sum(not row.holds for row in rows)
    (given.out / "page.md").write_text(page(rows, lateness, seconds))
    print(f"{len(rows) - failed} of {len(rows)} within their bounds")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
