#!/usr/bin/env python3
"""A stream that survives a real handover: `whimbrel perf` between two network namespaces.

Usage: handover.py [--quick] [--whimbrel FILE] [--clip FILE.csv] [--out out/handover] [--jobs 4]

A clip is streamed while the client's interface goes down for a while and comes back with another address, on
another path with another rate and delay. Prints a table and writes results.json; the exit code is 1 if a
requirement on Freeze fails. If namespaces cannot be created, it prints the reason and exits with 0, or with 1
under REQUIRE_ALL=1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from handover_checks import HEAD, Clip, Line, check, row
from handover_paths import fresh_namespaces, missing
from handover_walk import AWAY_KBPS

ROOT = Path(__file__).resolve().parents[2]
WAYS = ("tfrc", "link", "warned", "silence")
GAPS_S = (0.1, 1.0, 5.0, 30.0)
QUICK_GAPS_S = (0.1, 1.0)
BIT_RATE = 1_000_000
NARROW_KBPS = 600
"""A new path that cannot carry the clip."""
NARROW_GAP_S = 1.0


def real_clip(out: Path) -> Path:
    """A clip as H.264 of 1 Mbit/s, divided into packets; the file with their times and sizes."""
    from whimbrel.quality import clips
    from whimbrel.quality.video import Stream

    path = out / "clip.csv"
    Stream.prepare(clips.fetch("bikes"), out, bit_rate=BIT_RATE).schedule.write_csv(path)
    return path


def walk(gap_s: float, way: str, away_kbps: int, whimbrel: str, clip: Path) -> dict[str, Any]:
    """One handover."""
    command = [
        *(fresh_namespaces() or []),
        sys.executable,
        str(ROOT / "interop" / "handover" / "handover_walk.py"),
    ]
    command += [str(gap_s), way, "--away", str(away_kbps), "--whimbrel", whimbrel, "--schedule", str(clip)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"handover: {gap_s} s, {way}: {done.stderr.strip()}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> int:
    """Runs the table; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="gaps of 0.1 and 1 s only")
    parser.add_argument("--whimbrel", default=shutil.which("whimbrel", path=str(Path(sys.executable).parent)))
    parser.add_argument("--clip", type=Path, help="CSV as for perf --schedule, instead of the real clip")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "handover")
    parser.add_argument("--jobs", type=int, default=4, help="number of simultaneous handovers")
    arguments = parser.parse_args()
    if reason := missing():
        required = os.environ.get("REQUIRE_ALL") == "1"
        print(f"handover: {'cannot run' if required else 'skipped'}: {reason}", file=sys.stderr)
        return 1 if required else 0
    if arguments.whimbrel is None:
        parser.error("no whimbrel next to this Python: expected --whimbrel FILE")
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    path = arguments.clip or real_clip(out)
    clip = Clip.read(path)
    gaps = QUICK_GAPS_S if arguments.quick else GAPS_S
    cells: list[tuple[float, str, int]] = [(gap, way, AWAY_KBPS) for gap in gaps for way in WAYS]
    cells += [(NARROW_GAP_S, way, NARROW_KBPS) for way in WAYS]
    lines: list[Line] = []
    print(HEAD, flush=True)
    with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:
        for result in pool.map(lambda cell: walk(cell[0], cell[1], cell[2], arguments.whimbrel, path), cells):
            name = f"{result['way']}_{result['gap_s']:g}s_{result['away_kbps']}k.json"
            (out / name).write_text(json.dumps(result) + "\n")
            lines.append(check(result, clip))
            print(row(lines[-1]), flush=True)
    (out / "results.json").write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n")
    failed = sum(bool(line.problems) for line in lines)
    print(f"{len(lines) - failed} of {len(lines)} as required")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
