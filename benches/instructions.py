#!/usr/bin/env python3
"""Instructions of the simulator and of each part of a datagram's way, which hardly depend on the machine.

Usage: benches/instructions.py [--update] [--case F1]

A count does not depend on the load, so that a slow-down of a few percent shows where a timing could not.
valgrind's callgrind counts two runs of each case, of different lengths: their difference is the work alone,
without reading a scenario, building a network or a handshake.

benches/instructions.json holds the values, for one version of rustc. With another one, the counts are
reported and nothing is checked: what the compiler does differently is not the code's affair. --update
records the present counts. Without valgrind nothing is counted, and under REQUIRE_ALL=1 that is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benches" / "instructions.json"
TOLERANCE = 0.02
"""Growth above which a count fails; a drop by as much asks for new records."""
PEERS = ROOT / "benches" / "peers"


@dataclass(frozen=True)
class Case:
    """A run of an example, and its two lengths in simulated seconds or datagrams."""

    arguments: tuple[str, ...]
    lengths: tuple[int, int]
    example: str = "speed"
    option: str = "--seconds"
    """Option of the length."""
    units: tuple[tuple[str, str], ...] = (("per_forward", "forwards"), ("per_packet", "sent_packets"))
    """Counts, and the columns of the output to whose growth they refer."""


def mobile(arguments: tuple[str, ...], lengths: tuple[int, int]) -> Case:
    """Mobile 802.11 nodes under DSDV."""
    return Case(arguments, lengths, "manet", "duration", (("per_transmission", "transmissions"),))


def datagrams(example: str, *arguments: str) -> Case:
    """Datagrams between two ends, both together."""
    return Case(arguments, (10_000, 20_000), example, "datagrams", (("per_datagram", "datagrams"),))


CASES = {
    "F1": Case(("F1",), (2, 4)),
    "F3": Case(("F3",), (26, 46)),
    "D1": Case(("D1",), (2, 4)),
    "N1": Case(("N1",), (12, 14)),
    "F2": mobile((str(PEERS / "mob50.tcl"),), (14, 26)),
    "AX": Case(("AX",), (2, 4), units=(("per_mpdu", "mpdus"),)),
    "L100": Case((), (4, 8), "drive", units=(("per_block", "blocks"),)),
    "M500": mobile(("500", "flows", "20", "begin", "0", "interval", "0.25", "rts", "3000"), (20, 40)),
    "CCID2": datagrams("exchange", "2"),
    "CCID3": datagrams("exchange", "3"),
    "DTLS": datagrams("records"),
    "PARITY": datagrams("code"),
}
"""AX has 50 saturated stations, L100 100 terminals in three LTE cells, F2 the movements of a file, M500 500
nodes at its density. CCID2 and CCID3 are plain DCCP, DTLS is encryption and decryption, PARITY 20 % of repair
symbols with as many losses."""
# The C library picks its string functions by the processor; these are the ones that every x86-64 has.
LACKING = "-AVX2,-AVX512F,-AVX512VL,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM"
PLAIN_PROCESSOR = {"GLIBC_TUNABLES": f"glibc.cpu.hwcaps={LACKING}"}


def start(program: Path, case: Case, seconds: int) -> subprocess.Popen[str]:
    """Starts a run of `case`, of a length, under callgrind."""
    counter = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    return subprocess.Popen(
        [*counter, str(program), *case.arguments, case.option, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | PLAIN_PROCESSOR,
    )


def finish(process: subprocess.Popen[str], case: Case) -> dict[str, int]:
    """The instructions and the columns of a run; raises ValueError if it failed."""
    output, report = process.communicate()
    counted = re.search(r"Collected : (\d+)", report)
    if process.returncode != 0 or counted is None:
        raise ValueError(f"callgrind failed:\n{report}")
    header, figures = (line.split() for line in output.splitlines())
    named = dict(zip(header, figures, strict=True))
    return {"instructions": int(counted[1])} | {column: int(named[column]) for _, column in case.units}


def count(programs: Path, case: Case) -> dict[str, float]:
    """Instructions per unit of a case, in the time between its two lengths."""
    runs = [start(programs / case.example, case, seconds) for seconds in case.lengths]
    short, long = (finish(run, case) for run in runs)
    more = {key: long[key] - short[key] for key in short}
    return {unit: round(more["instructions"] / more[column], 1) for unit, column in case.units}


def check(counts: dict[str, dict[str, float]], recorded: dict[str, dict[str, float]]) -> list[str]:
    """Counts that have grown beyond the tolerance, or were never recorded; prints a line for each count."""
    faults = []
    for case, present in counts.items():
        for unit, value in present.items():
            before = recorded.get(case, {}).get(unit)
            if before is None:
                faults.append(f"{case} {unit}: nothing is recorded")
                continue
            change = value / before - 1
            print(f"{case:6} {unit:16} {value:9.1f}  recorded {before:9.1f}  {change:+.1%}")
            if change > TOLERANCE:
                faults.append(f"{case} {unit}: {value} instructions instead of {before} ({change:+.1%})")
            elif change < -TOLERANCE:
                print(f"    fewer than recorded: record them with {Path(__file__).name} --update")
    return faults


def main() -> int:
    """Counts, and compares or records; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="record the counts instead of checking them")
    parser.add_argument("--case", choices=CASES, action="append", help="this case alone; may be repeated")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        required = os.environ.get("REQUIRE_ALL") == "1"
        message = "valgrind is not installed. Install it with: sudo apt-get install valgrind"
        print(f"missing: {message}" if required else f"skipped, because {message}", file=sys.stderr)
        return 1 if required else 0
    # With the features of the Python package, which .ci/run has built with the same profile: without
    # optimisation at link time, which takes minutes.
    crates = ("python", "lab", "cell", "proto", "dtls", "repair")
    packages = [part for crate in crates for part in ("-p", f"whimbrel-{crate}")]
    examples = sorted({case.example for case in CASES.values()})
    wanted = [part for example in examples for part in ("--example", example)]
    build = ["cargo", "build", "--quiet", "--release", *packages, *wanted]
    subprocess.run(build, cwd=ROOT, check=True, env=os.environ | {"CARGO_PROFILE_RELEASE_LTO": "off"})
    programs = ROOT / "target" / "release" / "examples"
    compiler = subprocess.run(["rustc", "--version"], cwd=ROOT, check=True, capture_output=True, text=True)
    counts = {case: count(programs, CASES[case]) for case in arguments.case or CASES}
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {"rustc": "", "counts": {}}
    is_same = record["rustc"] == compiler.stdout.strip()
    if arguments.update:
        kept = record["counts"] if is_same else {}
        record = {"rustc": compiler.stdout.strip(), "counts": kept | counts}
        RECORD.write_text(json.dumps(record, indent=2) + "\n")
        print(f"written to {RECORD}")
        return 0
    faults = check(counts, record["counts"])
    if not is_same:
        print(f"not checked: recorded with {record['rustc']}, and this is {compiler.stdout.strip()}")
        return 0
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        print(
            f"more than {TOLERANCE:.0%} above benches/instructions.json. If that is worth it, record it:\n"
            "  benches/instructions.py --update\nand say in the commit why.",
            file=sys.stderr,
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
