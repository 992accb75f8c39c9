"""The command `whimbrel testbed`."""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from whimbrel import figures
from whimbrel._base import extras, output
from whimbrel._show.sheet import Sheet
from whimbrel.errors import UsageError
from whimbrel.quality import clips
from whimbrel.quality.video import Stream
from whimbrel.testbed import measures, report, runs, walk

CLIP = "carphone_pristine"
BIT_RATE = 900_000
"""Section 5.3: 1 Mbit/s. With all headers it must fit into the 1 Mbit/s of the home network."""
VISIT_S, QUICK_VISIT_S, QUICK_VISITS = 50.0, 6.0, 3


def main(words: Sequence[str]) -> int:
    """`whimbrel testbed coffee-walk`."""
    parser = argparse.ArgumentParser(
        prog="whimbrel testbed",
        description="Runs experiments with real programs across an emulated network, in real time.",
        epilog="example:\n  whimbrel testbed coffee-walk --quick --out out/walk",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(metavar="coffee-walk", required=True)
    _add_walk(kinds)
    given = parser.parse_args(words)
    return int(given.run(given, words))


def _add_walk(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser(
        "coffee-walk",
        help="a video on the walk to the cafe: TFRC, Freeze, TCP and QUIC",
        description="Streams a video to a phone that moves from home to 3G, a cafe, 3G and home again, over "
        "DCCP with TFRC and Freeze, the kernel's TCP and QUIC datagrams (paper freeze, Section 5.3).",
        epilog="example:\n  whimbrel testbed coffee-walk --quick --out out/walk\n\n"
        "It needs Linux, and root or user namespaces, as `whimbrel emulate` does. QUIC needs the program "
        "quic_carry:\n"
        "  cargo build --release --manifest-path benches/quic_carry/Cargo.toml",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="three visits of 6 s: under a minute")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out/coffee-walk"),
        metavar="DIR",
        help="results (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the tables and claims as JSON")
    parser.add_argument(
        "--runs",
        type=int,
        default=1,
        metavar="N",
        help="walks per transport (default: %(default)s; the paper has 8)",
    )
    parser.add_argument(
        "--visit", type=float, metavar="SECONDS", help=f"length of a visit (default: {VISIT_S:g})"
    )
    parser.add_argument("--transports", metavar="NAMES", help="only these, separated by commas")
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="walks at the same time (default: %(default)s)"
    )
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="schedule the emulators before all other programs (CAP_SYS_NICE)",
    )
    parser.add_argument(
        "--whimbrel", type=Path, metavar="FILE", help="the compiled command, instead of this package's"
    )
    parser.add_argument(
        "--quic",
        type=Path,
        metavar="FILE",
        help="the program quic_carry (default: that of the checkout, if it was built)",
    )
    parser.set_defaults(run=_walk)


def _walk(given: argparse.Namespace, words: Sequence[str]) -> int:
    extras.check("charts", "whimbrel testbed")
    if sys.platform != "linux":
        raise UsageError("whimbrel testbed needs Linux: network namespaces and TUN devices")
    length = given.visit or (QUICK_VISIT_S if given.quick else VISIT_S)
    if not 4 <= length <= 100:
        raise UsageError(f"--visit {length:g}: expected 4 to 100 s")
    if given.runs < 1 or given.jobs < 1:
        raise UsageError("--runs and --jobs: expected at least 1")
    visits = walk.visits(length, QUICK_VISITS if given.quick else 5)
    whimbrel = [str(given.whimbrel)] if given.whimbrel else [sys.executable, "-m", "whimbrel"]
    if reason := missing(whimbrel):
        raise UsageError(f"whimbrel testbed: {reason}")
    quic = given.quic or _built_quic()
    chosen = runs.transports(whimbrel, quic)
    if given.transports:
        names = given.transports.split(",")
        known = [each.key for each in chosen]
        if unknown := [name for name in names if name not in known]:
            raise UsageError(f"--transports {unknown[0]}: expected some of {', '.join(known)}")
        chosen = tuple(each for each in chosen if each.key in names)
    elif quic is None:
        print("whimbrel: without QUIC: quic_carry was not built (see --help)", file=sys.stderr)
    out: Path = given.out.resolve()
    with output.claimed(out):
        clip = clips.fetch(CLIP)
        once = Stream.prepare(clip, out, bit_rate=BIT_RATE)
        repeat = math.ceil((visits[-1].end_s - walk.STREAM_AT_S) / once.schedule.duration_s)
        stream = Stream.prepare(clip, out, bit_rate=BIT_RATE, repeat=repeat)
        recorded = runs.write_stream(stream, out)
        cells = [(each, number) for number in range(1, given.runs + 1) for each in chosen]
        with ThreadPoolExecutor(given.jobs) as pool:
            made = list(
                pool.map(
                    lambda cell: runs.run_again_if_late(
                        cell[0],
                        visits,
                        stream,
                        recorded,
                        out / "runs" / f"{cell[0].key}-{cell[1]}",
                        whimbrel,
                        seed=cell[1],
                        realtime=given.realtime,
                    ),
                    cells,
                )
            )
        # Scores take all processors, which the emulators need while they run.
        viewed = {
            each.key: [
                measures.watch(run, stream, out, with_vmaf=not given.quick)
                for run in made
                if run.transport == each.key
            ]
            for each in chosen
        }
        command = shlex.join(["whimbrel", "testbed", *words])
        index, claims, sheets = report.write(viewed, visits, out, command, quick=given.quick)
    if given.json:
        tables = {key: _plain(sheet) for key, sheet in sheets.items()}
        print(json.dumps({"page": str(index), "tables": tables, "claims": claims}))
        return 0
    for key in ("walk", report.PAPER_SHEET):
        _print(sheets[key])
    for claim in claims:
        print(f"{claim['verdict']:>16}  {claim['claim']} {claim['evidence']}")
    print(index)
    return 0


def missing(whimbrel: Sequence[str]) -> str | None:
    """Reason why emulations are not possible here, or None."""
    interfaces = ",".join(network.name for network in walk.NETWORKS)
    with tempfile.TemporaryDirectory(prefix="whimbrel-") as directory:
        scenario = Path(directory) / "walk.json"
        scenario.write_text(json.dumps(walk.scenario(walk.visits(5.0, 2))), encoding="utf-8")
        command = [
            *whimbrel,
            "emulate",
            str(scenario),
            "--interfaces",
            f"phone={interfaces}",
            "--at",
            walk.HOME.name,
        ]
        command += ["--quiet", "--", "true"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or ["whimbrel emulate failed"])[-1]


def _built_quic() -> Path | None:
    """The program `quic_carry` on the path, or of a checkout around this package."""
    if found := shutil.which("quic_carry"):
        return Path(found)
    target = Path(__file__).resolve().parents[3] / "benches" / "quic_carry" / "target"
    built = [target / profile / "quic_carry" for profile in ("release", "debug")]
    return next((path for path in built if os.access(path, os.X_OK)), None)


def _plain(sheet: Sheet) -> dict[str, dict[str, dict[str, float | None]]]:
    """Means by row, column and metric."""
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for (row, column, metric), value in sheet.values.items():
        mean = None if math.isnan(value.mean) else value.mean
        found.setdefault(row, {}).setdefault(column, {})[metric] = mean
    return found


def _print(sheet: Sheet) -> None:
    print(f"\n{sheet.title}")
    width = max(len(figures.name_of(column)) for column in sheet.columns) + 2
    print(" " * 46 + "".join(f"{figures.name_of(column):>{width}}" for column in sheet.columns))
    for row in sheet.rows:
        for metric in sheet.metrics:
            values = [sheet.values.get((row, column, metric.key)) for column in sheet.columns]
            if any(values):
                cells = "".join(
                    f"{'' if value is None else format(value.mean, f'.{metric.digits}f'):>{width}}"
                    for value in values
                )
                label = metric.label + (f", {metric.unit}" if metric.unit else "")
                print(f"{'' if row == 'all' else row:<12}{label[:33]:<34}{cells}")
    print()
