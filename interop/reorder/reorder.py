#!/usr/bin/env python3
"""A real video and real speech over a real path that reorders, with and without the reordering buffer.

Usage: interop/reorder/reorder.py [--quick] [--runs 5] [--out out/reorder] [--jobs 2] [--keep]

Whimbrel's sockets send over Linux's netem in an emulated guest (docs/interop.md). The received media are
decoded and scored. Prints tables and writes runs.csv and results.csv; the exit code is 1 if a transfer
failed, or a requirement on the buffer fails. If a package is missing, it prints its name and exits with 0, or
with 1 under REQUIRE_ALL=1.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import machine
import reorder_cells
from reorder_cells import Cell
from reorder_media import Media, MediaMismatchError
from reorder_table import check, interval_rows, table

ROOT = Path(__file__).resolve().parents[2]
# Number of simultaneous transfers in one guest.
LANES = 8
# Length of the clip that suffices to show the buffer's effect.
QUICK_S = 3.0


def prepare() -> str | None:
    """Builds the guest's parts. Returns the reason if that is impossible."""
    if missing := machine.missing_packages():
        return f"packages are missing: apt-get install {' '.join(missing)}"
    if os.uname().machine != "x86_64":
        return "the kernel is for x86_64"
    try:
        program = machine.build_peer("media_stream", machine.CACHE / "media_stream")
        machine.initramfs(machine.kernel(), [program])
    except machine.MachineError as error:
        return str(error)
    return None


def transfer(cells: Sequence[Cell], folder: Path, files: Sequence[Path], jobs: int) -> None:
    """Makes all transfers, in the given number of guests at a time; their files are in `folder`."""
    kernel = machine.kernel()

    def guest(part: int) -> None:
        script = reorder_cells.script(cells[part::jobs], LANES)
        archive = machine.CACHE / "initramfs.cpio.gz"
        machine.boot(kernel, archive, script, folder, 1800.0, f"reorder{part}", files=files)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        list(pool.map(guest, range(min(jobs, len(cells)))))


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes rows, whose columns may differ."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()}
            )


def main() -> int:
    """Runs the table; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="four times three seconds of video, PSNR only")
    parser.add_argument("--runs", type=int, default=5, help="repetitions")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "reorder")
    parser.add_argument("--jobs", type=int, default=2, help="number of simultaneous guests, and of scores")
    parser.add_argument("--keep", action="store_true", help="keep the received files")
    arguments = parser.parse_args()
    if arguments.runs < 1 or arguments.jobs < 1:
        parser.error("--runs and --jobs: expected 1 or more")
    if reason := prepare():
        required = os.environ.get("REQUIRE_ALL") == "1"
        print(f"reorder: {'cannot run' if required else 'skipped'}: {reason}", file=sys.stderr)
        return 1 if required else 0
    started = time.monotonic()
    out: Path = arguments.out
    received = out / "received"
    shutil.rmtree(received, ignore_errors=True)
    received.mkdir(parents=True)
    seconds = QUICK_S if arguments.quick else None
    media = Media.prepare(out, seconds=seconds, with_speech=not arguments.quick)
    cells = reorder_cells.quick_cells() if arguments.quick else reorder_cells.cells(arguments.runs)
    try:
        transfer(cells, received, media.files(out), 1 if arguments.quick else arguments.jobs)
        transfers_s = time.monotonic() - started
        with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:
            futures = [pool.submit(media.score, cell, received, psnr_only=arguments.quick) for cell in cells]
            runs = [line for future in futures for line in future.result()]
    except (machine.MachineError, MediaMismatchError) as error:
        print(f"reorder: {error}", file=sys.stderr)
        return 1
    write_csv(out / "runs.csv", runs)
    write_csv(out / "results.csv", interval_rows(runs))
    for medium in dict.fromkeys(cell.medium for cell in cells):
        print("\n".join([medium, "", *table(runs, medium), ""]))
    problems = check(runs)
    for problem in problems:
        print(f"reorder: {problem}", file=sys.stderr)
    kernel = machine.kernel().version
    elapsed_s = time.monotonic() - started
    print(f"{len(cells)} transfers over netem of Linux {kernel}: {transfers_s:.0f} s, all {elapsed_s:.0f} s")
    if not arguments.keep:
        shutil.rmtree(received)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
