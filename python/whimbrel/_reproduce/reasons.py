"""Reasons for claims that do not hold: `papers/KEY/reasons.toml`, shown in reports and on the site.

The file has a table `[reason]` that maps a claim's key to a sentence. README.md has a mark, which
`scripts/build_site.py` replaces by the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from whimbrel._base import documents
from whimbrel.errors import PaperError

FILE = "reasons.toml"
MARK = "<!-- reasons.toml -->"
"""The place of the table in README.md."""


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
        found = documents.read_toml(path)["reason"]
    except (OSError, ValueError, KeyError) as error:
        raise PaperError(f"{path}: expected a table [reason]: {error}") from error
    for claim, reason in found.items():
        if not isinstance(reason, str) or not reason.strip():
            raise PaperError(f"{path}: reason.{claim} is {reason!r}, expected a sentence")
    return dict(found)


def table(reasons: Mapping[str, str]) -> str:
    """The reasons in Markdown; claims with the same one share a row."""
    claims: dict[str, list[str]] = {}
    for claim, reason in reasons.items():
        claims.setdefault(reason, []).append(f"`{claim}`")
    rows = [f"| {', '.join(keys)} | {reason} |" for reason, keys in claims.items()]
    return "\n".join(["| claim | reason |", "|---|---|", *rows])
