"""Parsers of the commands written in Python, and the options that several of them have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from whimbrel._base import paper_folders


def parser(name: str, about: str, example: str) -> argparse.ArgumentParser:
    """The parser of a command, whose help text ends with an example."""
    return argparse.ArgumentParser(
        prog=f"whimbrel {name}",
        description=about,
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def count(least: int) -> Callable[[str], int]:
    """The type of an option that is a whole number of at least `least`."""

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return parse


def add_papers(parser: argparse.ArgumentParser) -> None:
    """Adds the option that names folders of further papers."""
    parser.add_argument(
        "--papers",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="folder of further papers, or of one; may be repeated",
    )


def find_papers(given: argparse.Namespace) -> None:
    """Makes the papers of that option known."""
    for directory in given.papers:
        paper_folders.add(directory)
