"""Measures live video over bad paths: `whimbrel relay` compared with SRT, RIST, GStreamer and TCP.

Usage: PYTHONPATH=interop python -m live [--quick] [--paths ...] [--rivals ...] [--page docs/live.md]

A run takes 36 s, and several are made at a time. Each finished run is a record in OUT/records; after an
interruption the same command makes the missing runs. Missing programs are named and left out. If namespaces
cannot be created, it prints the reason and exits with 0. Under REQUIRE_ALL=1 both are errors.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path as File
from typing import Any

from live import measure, page, pictures, report, stream
from live.checks import failures
from live.paths import PATHS, Path
from live.rivals import RIVALS, Rival
from live.runs import LATE_S, Bench, Cell
from whimbrel._base import output
from whimbrel._campaigns.progress import Bar
from whimbrel.errors import RecordError, WhimbrelError

ROOT = File(__file__).resolve().parent.parent.parent
SECONDS, QUICK_SECONDS = 30, 10
BUDGETS_MS, QUICK_BUDGETS_MS = "120,400", "400"
QUICK_PATHS, QUICK_RIVALS = "clean,loss8", "udp,relay"
SEEDS, QUICK_SEEDS = 5, 1


def missing(whimbrel: File) -> str | None:
    """The reason why emulations are not possible here."""
    probe = [str(whimbrel), "emulate", str(PATHS[0].file), "--quiet", "--", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return (done.stderr.strip().splitlines() or ["no message"])[-1] if done.returncode else None


def plan(
    paths: Sequence[Path], rivals: Sequence[Rival], budgets: Sequence[int], seeds: Sequence[int]
) -> list[Cell]:
    """The runs, seed by seed: an interrupted table has all cells before it has intervals."""
    found = []
    for seed in seeds:
        for path in paths:
            for rival in rivals:
                if path.is_controlled and not rival.rate_url:
                    continue
                each = budgets if rival.has_budget else [None]
                found += [Cell(path, rival, budget, seed) for budget in each]
    return found


def measured(bench: Bench, cells: Sequence[Cell], jobs: int, *, again: bool) -> list[str]:
    """Makes the missing runs, or all of them again; returns what went wrong."""
    troubles: list[str] = []
    pool = ThreadPoolExecutor(jobs)
    with Bar("live") as bar:
        bar.add(len(cells))

        def make(cell: Cell) -> None:
            try:
                try:
                    known = None if again else bench.load(cell)
                except RecordError as error:
                    bar.say(f"live: made again: {error}")
                    known = None
                if known is None:
                    result = bench.run(cell)
                    late = float(result.tables["ends"]["lateness_p99_s"][0])
                    if late > LATE_S:
                        bar.say(
                            f"live: {cell.key}: 1 % of the emulator's events were {1e3 * late:.0f} ms late"
                        )
            except (WhimbrelError, OSError) as error:
                troubles.append(str(error))
                bar.say(f"live: {error}")
            bar.advance()

        try:
            # Consumed, so that an unexpected error is not lost.
            list(pool.map(make, cells))
        finally:
            # After Ctrl-C no further run begins; emulations end by the same signal.
            pool.shutdown(cancel_futures=True)
    return troubles


def gather(bench: Bench, cells: Sequence[Cell], budgets: Sequence[int], *, scored: bool) -> report.Cells:
    """The figures of all runs that exist."""
    found: dict[tuple[str, str, int], list[report.Figures]] = {}
    for cell in cells:
        run = bench.load(cell)
        if run is None:
            continue
        for budget in budgets if cell.budget_ms is None else [cell.budget_ms]:
            each = measure.figures(run, cell.path.base_s, budget / 1e3)
            if scored:
                ladder = [stream.read(file) for file in bench.encodings(cell.path)]
                limit_s = cell.path.base_s + budget / 1e3 + measure.TOLERANCE_S
                each |= pictures.score(run, ladder, limit_s)
            found.setdefault((cell.path.key, cell.rival.key, budget), []).append(each)
    return found


def main() -> int:
    """Makes the runs and prints the table; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="live", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "--quick", action="store_true", help="two paths, plain RTP and the relay, 10 s, one seed, with checks"
    )
    add("--whimbrel", default=shutil.which("whimbrel", path=str(File(sys.executable).parent)))
    add("--out", type=File, default=ROOT / "out" / "live", help="records of runs (default: %(default)s)")
    add("--paths", help="comma-separated: " + ", ".join(path.key for path in PATHS))
    add("--rivals", help="comma-separated: " + ", ".join(rival.key for rival in RIVALS))
    add("--budgets", help=f"milliseconds, comma-separated (default: {BUDGETS_MS})")
    add("--seeds", type=int, help=f"runs per cell (default: {SEEDS})")
    add("--jobs", type=int, default=2 * (os.cpu_count() or 1), help="runs at a time (default: %(default)s)")
    add("--again", action="store_true", help="make the chosen runs again, as after a change of a program")
    add("--psnr", action="store_true", help="also PSNR and SSIM, which takes a minute per run")
    add("--page", type=File, help="write the tables as a page")
    given = parser.parse_args()
    if given.whimbrel is None:
        parser.error("no whimbrel next to this Python: expected --whimbrel FILE")
    required = os.environ.get("REQUIRE_ALL") == "1"
    names = given.paths or (QUICK_PATHS if given.quick else ",".join(each.key for each in PATHS))
    paths = _chosen(parser, "--paths", names, {path.key: path for path in PATHS})
    names = given.rivals or (QUICK_RIVALS if given.quick else ",".join(each.key for each in RIVALS))
    rivals = _chosen(parser, "--rivals", names, {rival.key: rival for rival in RIVALS})
    texts = (given.budgets or (QUICK_BUDGETS_MS if given.quick else BUDGETS_MS)).split(",")
    if not all(text.isdecimal() and int(text) for text in texts):
        parser.error(f"--budgets {','.join(texts)}: expected milliseconds, such as 120,400")
    budgets = [int(text) for text in texts]
    seeds = range(1, (given.seeds or (QUICK_SEEDS if given.quick else SEEDS)) + 1)
    whimbrel = File(given.whimbrel).resolve()
    if reason := missing(whimbrel):
        print(f"live: {'cannot run' if required else 'skipped'}: {reason}", file=sys.stderr)
        return int(required)
    lacking = {rival.key: reason for rival in rivals if (reason := rival.missing())}
    if any(path.has_download for path in paths) and shutil.which("iperf3") is None:
        lacking["download"] = "no iperf3: apt-get install iperf3"
    for key, reason in lacking.items():
        print(f"live: without {key}: {reason}", file=sys.stderr)
    if lacking and required:
        return 1
    cells = plan(
        [path for path in paths if path.key not in lacking],
        [rival for rival in rivals if rival.key not in lacking],
        budgets,
        seeds,
    )
    out: File = given.out.resolve()
    frames = stream.FRAMES_PER_S * (QUICK_SECONDS if given.quick else SECONDS)
    with output.claimed(out):
        bench = Bench(whimbrel, out, frames)
        bench.records.sweep_partial()
        print("live: encoding the video, unless that is done", file=sys.stderr)
        for path in paths:
            bench.encodings(path)
        troubles = measured(bench, cells, given.jobs, again=given.again or given.quick)
        found = gather(bench, cells, budgets, scored=given.psnr)
        if found:
            print(report.terminal(found))
            if lines := report.behind(found):
                print("\n".join(["\nfewer frames decodable than by the best rival, percent:", *lines]))
            listed = [
                {"path": path, "rival": rival, "budget_ms": budget, "runs": runs}
                for (path, rival, budget), runs in found.items()
            ]
            (out / "results.json").write_text(json.dumps(listed, indent=1) + "\n")
            if given.page is not None:
                given.page.write_text(page.page(found, frames), encoding="utf-8")
    troubles += failures(found) if given.quick else []
    for trouble in troubles:
        print(f"live: {trouble}", file=sys.stderr)
    return 1 if troubles else 0


def _chosen(parser: argparse.ArgumentParser, option: str, names: str, known: dict[str, Any]) -> list[Any]:
    """The named ones, in the order of the tables."""
    wanted = names.split(",")
    for name in wanted:
        if name not in known:
            parser.error(f"{option} {name}: expected some of {', '.join(known)}")
    return [each for key, each in known.items() if key in wanted]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("live: interrupted; the same command continues", file=sys.stderr)
        sys.exit(130)
