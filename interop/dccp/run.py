#!/usr/bin/env python3
"""Tests Whimbrel against the DCCP of an unmodified Debian 6.1 kernel.

Usage: interop/dccp/run.py [--quick] [--out out/interop] [--only TEXT] [--keep]

Prints a table and writes results.json; the exit code is 1 if a requirement fails. If a package is missing, it
prints its name and exits with 0, or with 1 under REQUIRE_ALL=1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import machine
from checks import Comparison, Result, check, compare
from suite import Test, load, script

ROOT = Path(__file__).resolve().parents[2]
# Number of simultaneous connections in one guest.
LANES = 8
STEP_6 = "Step 6 failed"


def groups(tests: list[tuple[int, Test]]) -> list[list[tuple[int, Test]]]:
    """Two guests for tests with Whimbrel, one for tests between Linux ends."""
    ours = sorted(((n, test) for n, test in tests if test.is_ours), key=lambda pair: -pair[1].seconds)
    baseline = [(n, test) for n, test in tests if not test.is_ours]
    return [group for group in (ours[0::2], ours[1::2], baseline) if group]


def step_6_failures(out: Path) -> tuple[int, int]:
    """Number of packets that the kernel found outside its windows: by its own fault, and for other reasons.

    The kernel's Sequence Window stays at 100 at any rate. If it sends more than 100 packets in a round trip,
    as in slow start, it rejects acknowledgements as too old, from any peer (RFC 4340, Section 7.5.2).
    """
    lines = [line for line in (out / "dmesg").read_text(errors="replace").splitlines() if STEP_6 in line]
    outrun = 0
    for line in lines:
        if numbers := re.findall(r"\((\d+)\)", line):
            swl, sequence, swh, awl, ack, _ = map(int, numbers)
            outrun += swl <= sequence <= swh and ack < awl
    return outrun, len(lines) - outrun


def run_guest(group: list[tuple[int, Test]], out: Path, limit_s: float, name: str) -> str:
    """Boots a guest for a group of tests."""
    kernel = machine.kernel()
    return machine.boot(kernel, machine.CACHE / "initramfs.cpio.gz", script(group, LANES), out, limit_s, name)


def check_one(argument: tuple[int, Test, Path]) -> Result:
    """Checks one test, in a process of its own."""
    return check(*argument)


def print_tests(results: list[Result]) -> None:
    """One line per test."""
    for result in results:
        test, figures = result.test, result.figures
        verdict = "ok" if not result.problems else "FAILED"
        goodput = f"{figures['goodput_bps'] / 1e3:8.0f} kbit/s" if "goodput_bps" in figures else ""
        what = f"{test.kind:9} CCID {test.ccid} IPv{test.family} {test.name:42} {test.ends():20}"
        print(f"{result.number:4} {what} {figures.get('packets', 0):6} packets {goodput:16} {verdict}")
        for problem in result.problems:
            print(f"       {problem}")


def print_comparisons(comparisons: list[Comparison]) -> None:
    """One line per quantity."""
    print(f"\n{'CCID loss delay':16} {'':18} {'quantity':8} {'Whimbrel':>12} {'Linux':>12} {'ratio':>7}")
    for one in sorted(comparisons, key=lambda one: (one.cell, one.kind, one.quantity)):
        ccid, loss, delay = one.cell
        width = f"± {one.half_width:.2f}" if one.half_width else ""
        verdict = ("ok" if one.is_close else "differs for a known reason") if one.holds else "FAILED"
        values = f"{one.ours:12.5g} {one.linux:12.5g} {one.ratio:7.3f} {width:7}"
        print(f"{ccid:4} {loss:3} % {delay:3} ms  {one.kind:18} {one.quantity:8} {values} {verdict}")


def record(results: list[Result], comparisons: list[Comparison], out: Path, extra: dict[str, object]) -> None:
    """Writes results.json."""
    tests = [
        {
            "number": result.number,
            "kind": result.test.kind,
            "name": result.test.name,
            "ccid": result.test.ccid,
            "family": result.test.family,
            "ends": result.test.ends(),
            "problems": result.problems,
            "figures": result.figures,
        }
        for result in results
    ]
    rows = [vars(one) | {"ratio": one.ratio, "holds": one.holds} for one in comparisons]
    (out / "results.json").write_text(
        json.dumps({**extra, "tests": tests, "comparisons": rows}, indent=1) + "\n"
    )


def prepare() -> str | None:
    """Builds the guest's parts. Returns the reason if that is impossible."""
    if missing := machine.missing_packages():
        return f"packages are missing: apt-get install {' '.join(missing)}"
    if os.uname().machine != "x86_64":
        return "the kernel and the peers are for x86_64"
    try:
        machine.initramfs(machine.kernel(), machine.build_peers())
    except machine.MachineError as error:
        return str(error)
    return None


def main() -> int:
    """Runs the suite; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="handshakes, closes, Resets, one lossy transfer per CCID"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "interop")
    parser.add_argument("--only", default="", metavar="TEXT", help="only tests whose name contains this text")
    parser.add_argument("--keep", action="store_true", help="keep captures and reports of successful tests")
    arguments = parser.parse_args()
    if reason := prepare():
        required = os.environ.get("REQUIRE_ALL") == "1"
        print(f"interop: {'cannot run' if required else 'skipped'}: {reason}", file=sys.stderr)
        return 1 if required else 0
    tests = [(n, test) for n, test in enumerate(load(arguments.quick)) if arguments.only in test.name]
    parts = groups(tests)
    out: Path = arguments.out
    shutil.rmtree(out, ignore_errors=True)
    folders = [out / f"guest{index}" for index in range(len(parts))]
    started = time.monotonic()
    limit_s = 600.0 if arguments.quick else 1800.0
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        futures = [
            pool.submit(run_guest, part, folder, limit_s, folder.name)
            for part, folder in zip(parts, folders, strict=True)
        ]
        try:
            said = [future.result() for future in futures]
        except machine.MachineError as error:
            print(f"interop: {error}", file=sys.stderr)
            return 1
    guests_s = time.monotonic() - started
    work = [(n, test, folder) for part, folder in zip(parts, folders, strict=True) for n, test in part]
    with ProcessPoolExecutor() as pool:
        results = sorted(pool.map(check_one, work), key=lambda result: result.number)
    comparisons = compare(results)
    print_tests(results)
    print_comparisons(comparisons)
    with_ours = [folder for part, folder in zip(parts, folders, strict=True) if part[0][1].is_ours]
    outrun, step_6 = (sum(counts) for counts in zip(*map(step_6_failures, with_ours), strict=True))
    elapsed_s = time.monotonic() - started
    record(
        results,
        comparisons,
        out,
        {
            "step_6_failures": step_6,
            "outrun": outrun,
            "seconds": elapsed_s,
            "kernel": machine.kernel().version,
        },
    )
    failed = [result for result in results if result.problems]
    apart = [one for one in comparisons if not one.holds]
    print(f"\n{said[0].splitlines()[0]}; guests {guests_s:.0f} s, all {elapsed_s:.0f} s")
    print(
        f"{len(results)} tests, {len(failed)} failed; {len(comparisons)} comparisons, {len(apart)} apart; "
        f"'{STEP_6}' {step_6} times, and {outrun} times as the kernel outran its own window"
    )
    if failed or apart or step_6:
        print(f"interop: a requirement fails; captures and reports are in {out}", file=sys.stderr)
        return 1
    if not arguments.keep:
        for folder in folders:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
