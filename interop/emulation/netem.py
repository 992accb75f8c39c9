#!/usr/bin/env python3
"""Linux's tbf and netem compared with the same paths in the simulator and in the emulator.

Usage: interop/emulation/netem.py [--quick] [--only TEXT] [--seconds 20] [--whimbrel FILE] [--out out/netem]

Datagrams of constant rate cross the disciplines of the kernel of an emulated guest (docs/interop.md), the
simulated link with the same parameters, and `whimbrel emulate` with that link. Prints a table; the exit code
is 1 if simulator or emulator deviate from the kernel beyond a bound. If a package or namespaces are missing,
it prints the reason and exits with 0, or with 1 under REQUIRE_ALL=1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path as File

sys.path.insert(0, str(File(__file__).resolve().parents[1]))
import machine
from emulation import (
    LATE_S,
    WARM_UP_S,
    Bench,
    IncompleteError,
    Measured,
    UnavailableError,
    check_available,
    overtaken,
    throughput,
)
from emulation_statistics import binomial_tail, ks_p_value, runs
from netem_cases import EXPLAINED, PATHS, QUICK, Path, script

ROOT = File(__file__).resolve().parents[2]
SECONDS, QUICK_SECONDS = 20.0, 4.0
LEAST_P = 1e-4
"""The kernel draws other random numbers in each run."""
THROUGHPUT_BOUND = 0.005
LOSS_BOUND = 0.003
LEAST_DELAY_S = 10e-3
"""A packet with a longer delay was delayed by netem: by 50 ms, with a deviation of 10 or within 20. A busy
machine delays others by milliseconds."""
ATTEMPTS = 4


def prepare() -> str | None:
    """Builds the guest's parts. Returns the reason if that is impossible."""
    if missing := machine.missing_packages():
        return f"packages are missing: apt-get install {' '.join(missing)}"
    if os.uname().machine != "x86_64":
        return "the guest's kernel is for x86_64"
    try:
        source = File(__file__).resolve().parents[1] / "guest" / "stamped.c"
        machine.initramfs(machine.kernel(), [machine.build_c(source, machine.CACHE / "stamped")])
    except machine.MachineError as error:
        return str(error)
    return None


def measured(path: Path, lines: Sequence[str], seconds: float) -> Measured:
    """The file that a path's receiver has written: each datagram's number, time sent and time received."""
    case = path.case
    rows = [tuple(map(int, line.split(","))) for line in lines]
    if not rows:
        raise machine.MachineError(f"{case.name}: nothing has arrived")
    start = min(sent for _, sent, _ in rows)
    arrived = [((sent - start) / 1e9, (received - start) / 1e9) for _, sent, received in rows]
    numbers = {number for number, _, _ in rows}
    fates = [number in numbers for number in range(case.count(seconds))]
    bursts, between = runs(fates)
    delays = [end - begin for begin, end in arrived if end > WARM_UP_S]
    return Measured(
        throughput(case, [end for _, end in arrived], seconds),
        statistics.median(delays),
        fates.count(False),
        len(fates),
        bursts,
        between,
        delays_s=delays,
        overtaken=overtaken([begin for begin, _ in arrived]),
    )


def guest(paths: Sequence[Path], seconds: float, folder: File, *, counts: bool = True) -> list[Measured]:
    """Measures the kernel's disciplines, in one guest."""
    shutil.rmtree(folder, ignore_errors=True)
    archive = machine.CACHE / "initramfs.cpio.gz"
    job = script(paths, seconds)
    name = "netem" if counts else "netem-host-clock"
    machine.boot(machine.kernel(), archive, job, folder, 1800.0, name, counts=counts)
    if (refused := folder / "refused").exists():
        raise machine.MachineError(refused.read_text().strip())
    return [
        measured(path, (folder / f"c{number}.csv").read_text().splitlines(), seconds)
        for number, path in enumerate(paths)
    ]


def emulate(bench: Bench, path: Path, seconds: float) -> Measured:
    """Measures the emulator, again while the machine is busy."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            found = bench.emulate(path.case, seconds)
        except IncompleteError:
            if attempt == ATTEMPTS:
                raise
            continue
        if found.lateness_s <= LATE_S:
            break
    return found


def compare(path: Path, kernel: Measured, models: Sequence[Measured]) -> list[Line]:
    """The lines of a path. The models are the simulator and the emulator."""
    name, lines = path.case.name, []

    def add(quantity: str, shown: Sequence[str], bound: str, *, holds: bool) -> None:
        is_free = path.differs
        lines.append(Line(name, quantity, (*shown,), "" if is_free else bound, holds=holds or is_free))

    everything = (kernel, *models)
    has_random_losses = path.losses in ("independent", "bursts")
    # If packets are delayed at random, the link is not full: its rate is the sender's.
    if not (has_random_losses or path.delays):
        add(
            "throughput, Mbit/s",
            [f"{each.throughput_bps / 1e6:.3f}" for each in everything],
            f"{100 * THROUGHPUT_BOUND:g} %",
            holds=all(
                abs(each.throughput_bps / kernel.throughput_bps - 1) <= THROUGHPUT_BOUND for each in models
            ),
        )
    if (bound := path.case.delay_bound_s) and not (has_random_losses or path.delays):
        add(
            "median delay, ms",
            [f"{each.delay_s * 1e3:.3f}" for each in everything],
            f"{1e3 * bound:.2f} ms",
            holds=all(abs(each.delay_s - kernel.delay_s) <= bound for each in models),
        )
    shares = [each.lost / each.sent for each in everything]
    shown = [f"{100 * share:.2f}" for share in shares]
    if path.losses == "independent":
        least = min(binomial_tail(each.lost, each.sent, path.case.loss or 0.0) for each in everything)
        add("lost packets, %", shown, f"p > {LEAST_P:g} (least {least:.2g})", holds=least > LEAST_P)
    elif path.losses in ("queue", "none"):
        holds = all(abs(share - shares[0]) <= LOSS_BOUND for share in shares)
        add("lost packets, %", shown, f"{100 * LOSS_BOUND:g} % of all", holds=holds)
    else:
        add("lost packets, %", shown, "", holds=True)
    samples: list[tuple[str, list[Sequence[float]], float]] = []
    if has_random_losses:
        samples.append(("run of losses, packets", [each.loss_runs for each in everything], 1))
        samples.append(("packets between losses", [each.gaps for each in everything], 1))
    if path.delays:
        # The others have the delay of the kernel alone.
        delayed: list[Sequence[float]] = [
            [delay for delay in each.delays_s if delay > LEAST_DELAY_S] for each in everything
        ]
        samples.append(("delay of the delayed, ms", delayed, 1e3))
    for quantity, values, unit in samples:
        least = min(ks_p_value(values[0], each) for each in values[1:])
        means = [f"mean {unit * statistics.fmean(each):.2f}" for each in values]
        add(quantity, means, f"KS p > {LEAST_P:g} (least {least:.2g})", holds=least > LEAST_P)
    if path.delays:
        late = [each.overtaken / (each.sent - each.lost) for each in everything]
        # Five standard deviations of the difference of two shares.
        bound = 5 * (2 * late[0] * (1 - late[0]) / kernel.sent) ** 0.5
        holds = all(abs(share - late[0]) <= bound for share in late)
        shown = [f"{100 * share:.2f}" for share in late]
        add("overtaken, %", shown, f"{100 * bound:.2f} % of all", holds=holds)
    return lines


def clocks(path: Path, seconds: float, out: File, counted: Measured) -> list[tuple[str, float, float, float]]:
    """The 1st, 50th and 99th percentile of the delay in seconds with each clock of the guest."""
    (host,) = guest([path], seconds, out / "host-clock", counts=False)
    rows = []
    for name, found in (("counts instructions", counted), ("that of the host", host)):
        cuts = statistics.quantiles(found.delays_s, n=100, method="inclusive")
        rows.append((name, cuts[0], cuts[49], cuts[98]))
    return rows


HEAD = (
    "| path | quantity | Linux | simulated | emulated | bound |",
    "|---|---|---|---|---|---|",
)
CLOCKS_HEAD = ("| clock of the guest | 1 % below, ms | median, ms | 99 % below, ms |", "|---|---|---|---|")


@dataclass
class Line:
    """A line of the table: a quantity with its values in Linux, simulated and emulated."""

    path: str
    quantity: str
    values: tuple[str, ...]
    bound: str
    holds: bool


def table(rows: Sequence[Line]) -> list[str]:
    """Lines as Markdown."""
    return [
        *HEAD,
        *(f"| {row.path} | {row.quantity} | {' | '.join(row.values)} | {row.bound} |" for row in rows),
    ]


def page(
    rows: Sequence[Line],
    explained: set[str],
    clocks: Sequence[tuple[str, float, float, float]],
    seconds: float,
    kernel: str,
) -> str:
    """The page: the measured lines, and percentiles of the delay in seconds by the guest's clock."""
    percentiles = [f"| {name} | {' | '.join(f'{1e3 * at:.3f}' for at in cuts)} |" for name, *cuts in clocks]
    return TEXT.format(
        kernel=kernel,
        seconds=seconds,
        agreeing="\n".join(table([row for row in rows if row.path not in explained])),
        differing="\n".join(table([row for row in rows if row.path in explained])),
        clock_path=CLOCK_PATH,
        clocks="\n".join([*CLOCKS_HEAD, *percentiles]),
    )


CLOCK_PATH = "a link that is not full, tbf"
TEXT = """# Emulations against Linux's tbf and netem

```sh
make netem   # measures this page anew, in ten minutes; docs/emulate.md explains it
```

Linux {kernel}; {seconds:g} s each; the simulation with 5 seeds.

{agreeing}

Where the disciplines differ from a link:

{differing}

The path "{clock_path}", by the guest's clock:

{clocks}
"""


def main() -> int:
    """Measures the paths; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="three paths, for a shorter time")
    parser.add_argument("--only", default="", metavar="TEXT", help="paths whose names contain this")
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--whimbrel", default=shutil.which("whimbrel", path=str(File(sys.executable).parent)))
    parser.add_argument("--out", type=File, default=ROOT / "out" / "netem")
    given = parser.parse_args()
    if given.whimbrel is None:
        parser.error("no whimbrel next to this Python: expected --whimbrel FILE")
    seconds = given.seconds or (QUICK_SECONDS if given.quick else SECONDS)
    chosen = [path for path in (*PATHS, *EXPLAINED) if given.only in path.case.name]
    if given.quick:
        chosen = [path for path in PATHS if path.case.name in QUICK]
    rows: list[Line] = []
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(str(File(given.whimbrel).resolve()), File(name))
        bench.options = ["--realtime"] if os.geteuid() == 0 else []
        reason = prepare()
        try:
            check_available(bench)
        except UnavailableError as error:
            reason = str(error)
        if reason:
            required = os.environ.get("REQUIRE_ALL") == "1"
            print(f"netem: {'cannot run' if required else 'skipped'}: {reason}", file=sys.stderr)
            return int(required)
        # The guest's clock is independent of the time that it takes.
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(guest, chosen, seconds, given.out / "guest")
            models = [(bench.simulate(path.case, seconds), emulate(bench, path, seconds)) for path in chosen]
            try:
                kernels = running.result()
            except machine.MachineError as error:
                print(f"netem: {error}", file=sys.stderr)
                return 1
        for path, kernel, both in zip(chosen, kernels, models, strict=True):
            found = compare(path, kernel, both)
            rows += found
            for row in found:
                values = " ".join(f"{value:>12}" for value in row.values)
                mark = "" if row.holds else "   EXCEEDS ITS BOUND"
                print(f"{row.path:<42} {row.quantity:<24} {values} {row.bound}{mark}", flush=True)
        percentiles = []
        for path, kernel in zip(chosen, kernels, strict=True):
            if path.case.name == CLOCK_PATH:
                percentiles = clocks(path, seconds, given.out, kernel)
    for name, *cuts in percentiles:
        print(f"clock of the guest {name}: {', '.join(f'{1e3 * at:.3f}' for at in cuts)} ms (1, 50, 99 %)")
    (given.out / "lines.json").write_text(json.dumps([vars(row) for row in rows], indent=1) + "\n")
    failed = sum(not row.holds for row in rows)
    print(f"{len(rows) - failed} of {len(rows)} within their bounds")
    explained = {path.case.name for path in EXPLAINED}
    text = page(rows, explained, percentiles, seconds, machine.kernel().version)
    (given.out / "page.md").write_text(text, encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
