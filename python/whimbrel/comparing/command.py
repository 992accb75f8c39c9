"""`whimbrel compare A B`: what changed between two results beyond chance."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from whimbrel._base import quantities
from whimbrel._base.files import replace_text
from whimbrel.comparing import shown
from whimbrel.comparing.decide import Rules, compare
from whimbrel.comparing.samples import DEFAULT_METRICS, Samples, read
from whimbrel.errors import UsageError, WhimbrelError

CHANGED = 1
"""Exit code if something changed that should not."""


def main(arguments: Sequence[str]) -> int:
    """Runs the command.

    Returns:
        0 without a change beyond chance, 1 with one.

    Raises:
        UsageError: exit code 2; a result cannot be read, or the two have nothing in common.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    rules = Rules(
        metrics=tuple(given.metric),
        every_metric=given.all_metrics,
        alpha=given.alpha,
        tolerance=next((share for pattern, share in given.tolerance if not pattern), 0.0),
        tolerances={pattern: share for pattern, share in given.tolerance if pattern},
        better=dict(given.better),
        exact=given.exact,
    )
    comparison = compare(_read(given.a), _read(given.b), rules)
    if given.html:
        replace_text(given.html, shown.page(comparison))
    if given.json:
        print(json.dumps(shown.document(comparison)))
    else:
        shown.print_text(comparison, every=given.all)
    failed = given.fail_on != "never" and comparison.changed(given.fail_on)
    return CHANGED if failed else 0


def _read(path: Path) -> Samples:
    """Bad input has an exit code of its own, since 1 says that something changed."""
    try:
        return read(path)
    except (WhimbrelError, OSError) as error:
        raise UsageError(str(error)) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="whimbrel compare",
        description="Compares two results and reports what changed beyond chance.",
        epilog="example:\n"
        "  whimbrel sweep examples/scenarios/radio.toml --max-runs 5 --out before\n"
        "  whimbrel sweep examples/scenarios/radio.toml --max-runs 5 --out after"
        " --set link.radio.rate='3 Mbit/s'\n"
        "  whimbrel compare before after --fail-on worse --tolerance 2% --html compare.html\n\n"
        "A and B are directories of sweep, reproduce or run --out, folders of records, directories of\n"
        "several runs or JSON files (repetitions), or files: a run's JSON, a sweep-runs.csv, any JSON with\n"
        "numbers, such as a benchmark's.\n"
        "exit code: 0 no change beyond chance, 1 a change that --fail-on names, 2 bad input",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("a", type=Path, metavar="A", help="the result before")
    parser.add_argument("b", type=Path, metavar="B", help="the result after")
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="metric to compare, or a pattern such as 'delay*' or 'links.*'; may be repeated"
        f" (default: of runs {', '.join(DEFAULT_METRICS)}, of other JSON all)",
    )
    parser.add_argument("--all-metrics", action="store_true", help="compare all metrics")
    parser.add_argument("--all", action="store_true", help="print all numbers, not only those that changed")
    parser.add_argument(
        "--fail-on",
        choices=("any", "worse", "better", "never"),
        default="any",
        help="the changes for which the exit code is 1 (default: %(default)s)",
    )
    parser.add_argument(
        "--tolerance",
        action="append",
        type=_tolerance,
        default=[],
        metavar="[NAME=]SHARE",
        help="share of A's mean by which a mean may change, such as 2%%; with a name or pattern, only of that"
        " metric; may be repeated",
    )
    parser.add_argument(
        "--better",
        action="append",
        type=_better,
        default=[],
        metavar="NAME=higher|lower",
        help="the direction in which a metric improves, if it is not a known one; may be repeated",
    )
    parser.add_argument(
        "--alpha",
        type=_level,
        default=0.05,
        metavar="LEVEL",
        help="chance that any number is called changed although none did (default: %(default)s)",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="any difference between runs of the same seed is a change: for results that should be identical",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with all numbers")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _tolerance(text: str) -> tuple[str, float]:
    name, equals, share = text.rpartition("=")
    if equals and not name:
        raise argparse.ArgumentTypeError(f"{text!r} has no name before `=`")
    return name, quantities.share(share)


def _better(text: str) -> tuple[str, str]:
    name, _, which = text.rpartition("=")
    if not name or which not in ("higher", "lower"):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=higher or NAME=lower")
    return name, which


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a level between 0 and 1, such as 0.05")
    return level
