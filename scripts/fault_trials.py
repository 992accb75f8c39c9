#!/usr/bin/env python3
"""Runs the fault campaigns' next trials, and counts all that were run.

Usage: scripts/fault_trials.py [--trials 20000] [--jobs 2] [KIND ...]

The kinds are endpoints, multipath and repair. Each continues where tests/lasting/trials.json says that it
was, so that no trial is run twice; commit the file. A kind of which a trial breaks a law does not advance.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTS = ROOT / "tests" / "lasting" / "trials.json"
KINDS = {"endpoints": (), "multipath": ("--multipath",), "repair": ("--repair",)}
"""The kinds, and their options of the program."""


def main() -> int:
    """Runs the trials; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", nargs="*", choices=[[], *KINDS], help="by default, all")
    parser.add_argument("--trials", type=int, default=20_000, help="of each kind")
    parser.add_argument("--jobs", type=int, default=2, help="trials at the same time")
    given = parser.parse_args()
    build = ["cargo", "build", "--quiet", "--release", "-p", "whimbrel-faults"]
    subprocess.run(build, cwd=ROOT, check=True)
    counts: dict[str, int] = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    broken = False
    for kind in given.kind or KINDS:
        first = counts.get(kind, 0)
        command = [str(ROOT / "target" / "release" / "faults"), *KINDS[kind]]
        command += ["--first", str(first), "--seeds", str(given.trials), "--jobs", str(given.jobs)]
        if subprocess.run(command, check=False).returncode:
            broken = True
            continue
        counts[kind] = first + given.trials
        COUNTS.parent.mkdir(exist_ok=True)
        COUNTS.write_text(json.dumps(dict(sorted(counts.items())), indent=2) + "\n")
        print(f"{kind}: {counts[kind]:,} trials so far", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
