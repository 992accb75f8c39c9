#!/usr/bin/env python3
"""A first look: datagrams, a video over a radio with and without repair, a paper's table, a scored video.

Usage: examples/first_look.py [--out out] [--seconds 2]

`make run` runs this after it has built everything. Each result is printed as soon as it is there, with a
sentence that says what it shows. Each simulation runs once; `whimbrel reproduce` repeats simulations until
the intervals are narrow.
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

import whimbrel

WHIMBREL = [sys.executable, "-m", "whimbrel"]
SCENARIOS = Path(whimbrel.__file__).parent / "examples" / "scenarios"
WIDTH = 80
console = Console(width=WIDTH)


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
def step(title: str) -> Iterator[None]:
    """Prints the title, and afterwards the time that the step took."""
    console.print(f"\n[bold]== {title}[/bold]")
    started = time.monotonic()
    yield
    console.print(f"   {time.monotonic() - started:.0f} s", style="dim")


def measure_loopback(seconds: float) -> None:
    """Real datagrams between two processes."""
    with step("Real datagrams between two processes on this host"), perf_server() as port:
        options = ["--port", str(port), "--time", str(seconds), "--json"]
        command = [*WHIMBREL, "perf", "client", "127.0.0.1", *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        measured = json.loads(done.stdout)["summary"]["up"]
        rate, lost = measured["goodput_bps"] / 1e6, 100 * measured["loss"]
        console.print(
            f"DCCP in user space, encrypted between hosts and plain within one, carries {rate:.0f} Mbit/s "
            f"with {lost:.2g} % lost, congestion-controlled by TFRC (CCID 3)."
        )


def repair() -> None:
    """The same protocol code in the simulator: live video over a radio, with and without repair."""
    with step("A live video over a simulated radio that loses 3 %, latency budget 150 ms"):
        flows = whimbrel.run(SCENARIOS / "repaired.toml").flows
        table = Table()
        for heading in ("", "frames", "decodable", "frozen", "repaired", "overhead"):
            table.add_column(heading, justify="right" if heading else "left")
        decodable = {}
        for name in ("plain", "repaired"):
            row = flows.where(flow=name)
            frames, whole = float(row["frames"][0]), float(row["frames_decodable"][0])
            decodable[name] = 100 * whole / frames
            frozen, extra = float(row["frozen_s"][0]), 100 * float(row["repair_overhead"][0])
            repaired = int(row["repaired_datagrams"][0])
            table.add_row(
                "with repair" if name == "repaired" else "without",
                f"{frames:.0f}",
                f"{decodable[name]:.1f} %",
                f"{frozen:.1f} s",
                f"{repaired}",
                f"{extra:.0f} %",
            )
        console.print(table)
        console.print(
            "A lost datagram spoils every frame that refers to its own. Repeats and parity within the "
            f"budget make {decodable['repaired']:.0f} % of the frames decodable instead of "
            f"{decodable['plain']:.0f} %."
        )


def reproduce(out: Path, paper: str, item: str) -> list[dict[str, str]]:
    """Runs an item of a paper once; returns the rows of its sheet."""
    # The progress bars are on standard error.
    command = [*WHIMBREL, "reproduce", paper, item, "--quick", "--out", str(out)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    with (out / paper / f"{item}.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def show(rows: list[dict[str, str]]) -> None:
    """Prints a sheet: our numbers, and the paper's in parentheses."""
    columns = list(dict.fromkeys(row["column"] for row in rows))
    metrics = list(dict.fromkeys((row["metric"], row["unit"]) for row in rows))
    cells = {(row["column"], row["metric"]): row for row in rows}
    table = Table()
    table.add_column("")
    for metric, unit in metrics:
        table.add_column(f"{metric} {unit}".strip(), justify="right")
    for column in columns:
        table.add_row(column, *(_cell(cells[column, metric]) for metric, _ in metrics))
    console.print(table)


def _cell(row: dict[str, str]) -> str:
    text = f"{float(row['ours']):.3g}" if row["ours"] else "-"
    return text + (f" ({float(row['paper']):g})" if row["paper"] else "")


def paper(out: Path) -> None:
    """Table 3 of paper `lda`."""
    with step("Table 3 of paper lda: one flow over a wireless backbone, ours (paper)"):
        show(reproduce(out, "lda", "table3"))
        claims = json.loads((out / "lda" / "claims.json").read_text(encoding="utf-8"))
        holding = sum(claim["holds"] is True for claim in claims)
        console.print(
            "A sender that tells the radio's losses from congestion keeps its rate: "
            f"{holding} of {len(claims)} claims of the paper hold in this table."
        )


def video(out: Path) -> None:
    """A real video, decoded and scored."""
    with step("A real video over a radio that loses 3 %, scored frame by frame"):
        rows = reproduce(out, "repair", "video")
        show(rows)
        score = {row["column"]: float(row["ours"]) for row in rows if row["metric"] == "vmaf"}
        others = max(value for name, value in score.items() if name != "whimbrel")
        console.print(
            f"VMAF is a viewer's opinion from 0 to 100: {score['whimbrel']:.0f} with Whimbrel's repair, "
            f"{others:.0f} with the best of the others. TCP repeats, too, but what waits for a repeat is "
            "late; UDP and plain TFRC (CCID 3) repeat nothing."
        )


def main() -> int:
    """Runs the tour; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--seconds", type=float, default=2, help="duration of the measurement (default: 2)")
    arguments = parser.parse_args()
    measure_loopback(arguments.seconds)
    repair()
    paper(arguments.out)
    video(arguments.out)
    console.print(
        f"\nThe report, with charts and frames in pictures: {arguments.out / 'index.html'}\n"
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
