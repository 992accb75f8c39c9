"""Reasons for claims that do not hold: `papers/KEY/reasons.toml`, shown in reports and README.md.

The file has a table `[reason]` that maps a claim's key to a sentence. `python -m whimbrel.reasons` writes the
table of README.md from it, between two marks.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from whimbrel._base import paper_folders
from whimbrel.errors import PaperError

FILE = "reasons.toml"
BEGIN, END = "<!-- reasons.toml -->", "<!-- end of reasons.toml -->"
"""Around the table in README.md."""


def read(directory: Path) -> Mapping[str, str]:
    """Reason by claim; empty without a file.

    Args:
        directory: of the paper.

    Raises:
        PaperError: the file is not TOML, or a reason is not a non-empty string.
    """
    path = directory / FILE
    if not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))["reason"]
    except (OSError, ValueError, KeyError) as error:
        raise PaperError(f"{path}: expected a table [reason]: {error}") from error
    for claim, reason in found.items():
        if not isinstance(reason, str) or not reason.strip():
            raise PaperError(f"{path}: reason.{claim} is {reason!r}, expected a sentence")
    return dict(found)


def table(reasons: Mapping[str, str]) -> str:
    """The table of README.md, with the marks around it."""
    rows = [f"| `{claim}` | {reason} |" for claim, reason in reasons.items()]
    return "\n".join([BEGIN, "| claim | reason |", "|---|---|", *rows, END])


def in_readme(text: str) -> str:
    """The text between the marks in a README.md, marks included; empty without them."""
    begin, end = text.find(BEGIN), text.find(END)
    return text[begin : end + len(END)] if 0 <= begin < end else ""


def main() -> int:
    """Writes the tables of all papers."""
    for key in paper_folders.located():
        readme = paper_folders.own() / key / "README.md"
        text = readme.read_text(encoding="utf-8")
        found = in_readme(text)
        if found:
            readme.write_text(text.replace(found, table(read(readme.parent))), encoding="utf-8", newline="\n")
    return 0
