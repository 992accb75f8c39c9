"""`whimbrel contest FILE.py...`: congestion controls or repair policies of a class against each other."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from whimbrel._base import extras, options, output
from whimbrel.contest import league, shown
from whimbrel.contest.contestant import Limits
from whimbrel.contest.kinds import CONTROL, REPAIR
from whimbrel.contest.league import Wish
from whimbrel.errors import UsageError

_MEBI = 1 << 20


def main(arguments: Sequence[str]) -> int:
    """Runs the command.

    Returns:
        0, also if contestants forfeited matches.
    """
    parser = options.parser(
        "contest",
        "Plays congestion controls or repair policies against each other: each pair over each network. A"
        " contestant is a Python file with a class Controller, whose on_feedback returns the next rate, or"
        " with --repair a class Repairer, whose on_feedback returns the share of coded packets and whether"
        " lost packets are repeated. It runs in a process without files and network, with limits; one that"
        " fails loses its match.",
        "whimbrel contest examples/contest/cautious.py examples/contest/patient.py --reference gcc \\\n"
        "    --runs 2 --network examples/contest/home.toml --out league\n"
        "  whimbrel contest --repair examples/contest_repair/asking.py --reference whimbrel --runs 2 \\\n"
        "    --network examples/contest_repair/radio.toml --out repairs",
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.py", help="contestants")
    parser.add_argument("--repair", action="store_true", help="the contestants are repair policies")
    parser.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="NAME",
        help="a contestant of the laboratory: a law such as gcc, nada, scream or copa; of --repair whimbrel,"
        " which is the library's own policy, or none; may be repeated",
    )
    parser.add_argument(
        "--network",
        type=Path,
        action="append",
        metavar="FILE.toml",
        help="scenario, or folder of scenarios, whose first two flows of the transport media, or with repair,"
        " are the contestants'; may be repeated (default: the packaged ones of examples/contest and"
        " examples/contest_repair)",
    )
    parser.add_argument(
        "--runs",
        type=options.count(1),
        default=5,
        metavar="N",
        help="games of each match (default: %(default)s)",
    )
    parser.add_argument(
        "--processor",
        type=options.count(1),
        default=Limits.processor_s,
        metavar="SECONDS",
        help="processor time of a contestant in a game (default: %(default)s)",
    )
    parser.add_argument(
        "--memory",
        type=options.count(256),
        default=Limits.memory // _MEBI,
        metavar="MIB",
        help="address space of a contestant, with that of Python and numpy (default: %(default)s)",
    )
    parser.add_argument(
        "--patience",
        type=options.count(1),
        default=int(Limits.patience_s),
        metavar="SECONDS",
        help="time until a contestant has answered (default: %(default)s)",
    )
    _add_run_options(parser)
    given = parser.parse_args(arguments)
    extras.check("charts", "whimbrel contest")
    if sys.platform == "win32":
        raise UsageError(
            "whimbrel contest needs Linux or macOS: Windows cannot limit the process of a contestant"
        )
    kind = REPAIR if given.repair else CONTROL
    who = league.entrants(given.files, given.reference)
    where = league.networks(kind, given.network or [Path(__file__).parents[1] / "examples" / kind.folder])
    limits = Limits(given.processor, given.memory * _MEBI, float(given.patience))
    wish = Wish(given.out, kind, given.runs, given.seed, limits, given.jobs, given.scheduler, given.json)
    with output.claimed(given.out):
        matches = league.play(who, where, wish)
        table = league.standings(who, matches)
        command = shlex.join(["whimbrel", "contest", *arguments])
        page = shown.write(kind, matches, table, given.out, command)
    if given.json:
        shown.print_json(matches, table, page)
    else:
        shown.print_text(matches, table, page)
    return 0


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out/contest"),
        metavar="DIR",
        help="directory of the results; the same command resumes there (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=options.count(0), default=1, metavar="N", help="seed of the first game (default: 1)"
    )
    parser.add_argument("--jobs", type=options.count(1), metavar="N", help="number of simultaneous games")
    parser.add_argument(
        "--scheduler",
        default="local",
        metavar="local|ADDRESS",
        help="where to play: this machine, or the workers of a Dask cluster (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON and no progress")
