"""`whimbrel examples`: the packaged examples that the help texts and the documentation name."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from whimbrel._base import documents, terminal
from whimbrel.errors import UsageError

INDEX = "files.toml"
"""The list of the examples in their folder: a description for each file."""


@dataclass(frozen=True)
class Example:
    """A packaged file.

    Attributes:
        name: path below the folder of examples, such as `scenarios/wb.toml`.
        about: its description.
    """

    name: str
    about: str


def directory() -> Path:
    """The folder of the packaged examples."""
    return Path(__file__).parents[1] / "examples"


def known() -> list[Example]:
    """All packaged examples, in the order of their list."""
    listed = documents.read_toml(directory() / INDEX)
    return [
        Example(f"{folder}/{file}", about)
        for folder, files in listed.items()
        for file, about in files.items()
    ]


def copy(target: Path, *, force: bool = False) -> list[Path]:
    """Copies all examples.

    Args:
        target: the folder to write to; it is created if it does not exist.
        force: replace files of other content.

    Returns:
        The files written; those that had the same content already are not among them.

    Raises:
        UsageError: a file of other content exists, or the folder cannot be written. Nothing is replaced.
    """
    contents = {target / each.name: (directory() / each.name).read_bytes() for each in known()}
    try:
        missing = {
            path: content
            for path, content in contents.items()
            if not (path.is_file() and path.read_bytes() == content)
        }
        changed = [path for path in missing if path.exists()]
        if changed and not force:
            raise UsageError(f"{changed[0]} exists and differs; expected another --to DIR, or --force")
        for path, content in missing.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error}") from error
    return list(missing)


def main(arguments: Sequence[str]) -> int:
    """`whimbrel examples`."""
    parser = argparse.ArgumentParser(
        prog="whimbrel examples",
        description="Lists the packaged examples, or copies them. The examples of all help texts and of the "
        "documentation use these files.",
        epilog="examples:\n  whimbrel examples\n  whimbrel examples --copy\n"
        "  whimbrel run examples/scenarios/wb.toml",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--copy", action="store_true", help="copy all of them into the folder of --to")
    parser.add_argument(
        "--to",
        type=Path,
        default=Path("examples"),
        metavar="DIR",
        help="folder to copy to (default: %(default)s)",
    )
    parser.add_argument("--force", action="store_true", help="replace files of other content")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    if given.copy:
        written = copy(given.to, force=given.force)
        if given.json:
            print(json.dumps({"folder": str(given.to), "written": [str(path) for path in written]}))
        else:
            print(
                f"{given.to}: {len(written)} files written, {len(known()) - len(written)} were there already"
            )
        return 0
    if given.json:
        print(json.dumps({each.name: each.about for each in known()}))
        return 0
    table = Table("", "", box=None, pad_edge=False, show_header=False)
    for each in known():
        table.add_row(terminal.markup(each.name), terminal.markup(each.about))
    terminal.print_table(table)
    print(f"\nIn {directory()}\n`whimbrel examples --copy` copies them to ./examples")
    return 0
