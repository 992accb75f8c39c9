"""Arguments shared by the kinds of `whimbrel quality`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel._base import quantities
from whimbrel.errors import UsageError
from whimbrel.quality import sources

_SOURCE = (
    "a recorded run (a directory of `whimbrel run --out`, what --json printed, or a .record) or a capture "
    "with DCCP; if omitted, the numbers of the options"
)


def formatted(
    make: Callable[..., argparse.ArgumentParser],
    about: str,
    example: str,
    **more: Any,  # noqa: ANN401 - argparse's own
) -> argparse.ArgumentParser:
    """Makes a parser with a description and an example."""
    named: Mapping[str, Any] = {
        "description": about,
        "epilog": f"example:\n  {example}",
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
        **more,
    }
    return make(**named)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments for reading a record or a capture."""
    parser.add_argument("source", nargs="?", type=Path, metavar="FILE", help=_SOURCE)
    parser.add_argument(
        "--loss",
        type=quantities.share,
        metavar="SHARE",
        help="share of packets lost (default: the source's, otherwise 0)",
    )
    parser.add_argument("--flow", metavar="NAME", help="of a record: its flow")
    parser.add_argument(
        "--schedule",
        type=Path,
        metavar="FILE.csv",
        help="of a record: the schedule that the flow sent; delays then count from it",
    )
    parser.add_argument(
        "--start",
        type=quantities.seconds,
        default=0.0,
        metavar="TIME",
        help="of a record: start time of the flow (default: 0s)",
    )
    parser.add_argument(
        "--connection", type=int, metavar="N", help="of a capture: its connection (default: the first)"
    )
    parser.add_argument(
        "--sender", choices=("client", "server"), help="of a capture: sender of the rated direction"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_schedule(parser: argparse.ArgumentParser, begin: str) -> None:
    """Adds the arguments for writing a schedule.

    Args:
        parser: to add them to.
        begin: help of `--begin`.
    """
    parser.add_argument("file", type=Path, metavar="FILE.csv", help="file to write: time_s,size_bytes")
    parser.add_argument(
        "--duration", type=quantities.seconds, default=60.0, metavar="TIME", help="duration (default: 60s)"
    )
    parser.add_argument(
        "--begin", type=quantities.seconds, default=0.0, metavar="TIME", help=f"{begin} (default: 0s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def write_schedule(file: Path, write: Callable[[Path], None]) -> None:
    """Writes a schedule.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        write(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error}") from error


def datagrams(given: argparse.Namespace) -> sources.Datagrams:
    """The datagrams of the record selected by the arguments."""
    table = sources.packets(given.source)
    return sources.datagrams(table, given.flow, schedule=given.schedule, start_s=given.start)


def at_least(least: float) -> Callable[[str], float]:
    """Reads a number of at least `least`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not (np.isfinite(value) and value >= least):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least {least:g}")
        return value

    return parse
