"""`whimbrel contest FILE.py...`: congestion controls of a class against each other."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from whimbrel._base import extras, options, output
from whimbrel.contest import league, shown
from whimbrel.contest.law import Limits
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
        "Plays congestion controls against each other: each pair shares each network. A contestant is a"
        " Python file with a class Controller, whose on_feedback returns the next rate. It runs in a process"
        " without files and network, with limits; one that fails loses its match.",
        "whimbrel contest examples/contest/cautious.py examples/contest/patient.py --law gcc --runs 2 \\\n"
        "    --network examples/contest/home.toml --out league",
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.py", help="contestants")
    parser.add_argument(
        "--law",
        action="append",
        default=[],
        metavar="NAME",
        help="a law of the laboratory as a contestant, such as gcc, nada, scream or copa; may be repeated",
    )
    parser.add_argument(
        "--network",
        type=Path,
        action="append",
        metavar="FILE.toml",
        help="scenario, or folder of scenarios, whose first two flows of the transport media are the"
        " contestants'; may be repeated (default: the packaged ones of examples/contest)",
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
    who = league.entrants(given.files, given.law)
    where = league.networks(given.network or [Path(__file__).parents[1] / "examples" / "contest"])
    limits = Limits(given.processor, given.memory * _MEBI, float(given.patience))
    wish = Wish(given.out, given.runs, given.seed, limits, given.jobs, given.scheduler, given.json)
    with output.claimed(given.out):
        matches = league.play(who, where, wish)
        table = league.standings(who, matches)
        page = shown.write(matches, table, given.out, shlex.join(["whimbrel", "contest", *arguments]))
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
