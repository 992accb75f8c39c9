#!/usr/bin/env python3
"""A first look: real datagrams, a video over a simulated radio path, two tables of a paper, a report.

Usage: examples/first_look.py [--out out] [--seconds 5] [--quick]

`make run` runs this after it has built everything.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

WHIMBREL = [sys.executable, "-m", "whimbrel"]
console = Console()


@contextmanager
def perf_server() -> Iterator[int]:
    """A measurement server on a free port of the loopback interface."""
    server = subprocess.Popen(
        [*WHIMBREL, "perf", "server", "--bind", "127.0.0.1:0", "--json"], stdout=subprocess.PIPE, text=True
    )
    try:
        line = server.stdout.readline() if server.stdout else ""
        if not line:
            raise SystemExit("the perf server did not start; see its message above")
        yield int(json.loads(line)["listening"].rpartition(":")[2])
    finally:
        server.terminate()
        server.wait()


@contextmanager
def step(title: str) -> Iterator[list[str]]:
    """Prints one line for a step: its title, the results appended to the yielded list, and its time."""
    results: list[str] = []
    started = time.monotonic()
    yield results
    found = ", ".join(results)
    console.print(
        f"== {title}: {found + ', ' if found else ''}{time.monotonic() - started:.0f} s", soft_wrap=True
    )


def measure_loopback(seconds: float) -> None:
    """Real datagrams between two processes, with each congestion control."""
    for ccid in (3, 2):
        with step(f"datagrams between two processes, CCID {ccid}") as results, perf_server() as port:
            options = ["--port", str(port), "--ccid", str(ccid), "--time", str(seconds), "--json"]
            done = subprocess.run(
                [*WHIMBREL, "perf", "client", "127.0.0.1", *options],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            measured = json.loads(done.stdout)["summary"]["up"]
            results.append(f"{measured['goodput_bps'] / 1e6:.0f} Mbit/s, {100 * measured['loss']:.2g} % lost")


def reproduce(out: Path, quick: bool) -> None:
    """The same protocol code in the simulator: a video, and two tables of paper `lda`."""
    options = ["--out", str(out), *(["--quick"] if quick else [])]
    with step("a video over a simulated radio, and Tables 2 and 3 of paper lda") as results:
        # The progress bars are on standard error.
        subprocess.run(
            [*WHIMBREL, "reproduce", "lda", "video", "table2", "table3", *options],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        claims = json.loads((out / "lda" / "claims.json").read_text(encoding="utf-8"))
        results.append(f"{sum(claim['holds'] is True for claim in claims)} of {len(claims)} claims hold")


def show(file: Path, title: str) -> None:
    """Prints a sheet: our numbers, their intervals, and the paper's numbers."""
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    columns = list(dict.fromkeys(row["column"] for row in rows))
    metrics = list(dict.fromkeys((row["metric"], row["unit"]) for row in rows))
    cells = {(row["column"], row["metric"]): row for row in rows}
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for metric, unit in metrics:
        table.add_column(f"{metric} {unit}".strip(), justify="right")
    for column in columns:
        table.add_row(column, *(_cell(cells[column, metric]) for metric, _ in metrics))
    console.print(table)


def _cell(row: dict[str, str]) -> str:
    text = f"{float(row['ours']):.3g}" if row["ours"] else "-"
    if row["ci_low"] and row["ci_low"] != row["ci_high"]:
        text += f" [{float(row['ci_low']):.3g}, {float(row['ci_high']):.3g}]"
    return text + (f" ({float(row['paper']):g})" if row["paper"] else "")


def main() -> int:
    """Runs the tour; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--quick", action="store_true", help="fewer seeds")
    arguments = parser.parse_args()
    measure_loopback(arguments.seconds)
    reproduce(arguments.out, arguments.quick)
    lda = arguments.out / "lda"
    show(lda / "video.csv", "A video of 500 kbit/s over the wireless backbone, by transport")
    show(lda / "table2.csv", "Table 2: one flow over the wireless last hop, ours [95 % interval] (paper)")
    show(lda / "table3.csv", "Table 3: one flow over the wireless backbone")
    console.print(
        f"\nThe report, with charts, frames side by side and claims: {arguments.out / 'index.html'}\n"
        "Next: `. .venv/bin/activate`, then the commands of README.md",
        soft_wrap=True,
    )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    except KeyboardInterrupt:
        sys.exit(130)
