"""The list of a pack: every file with its digest, and every claim with its command and its cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from whimbrel._base import documents
from whimbrel.errors import InputError, UsageError

NAME = "pack.json"
FORMAT = 1
"""Of this version; others are refused by name."""
RESULTS = "results"
"""The folder of the results in a pack."""
PAPERS = "papers"
"""The folder of the papers in a pack that are not a part of the package."""


@dataclass(frozen=True)
class File:
    """A file of a pack.

    Attributes:
        sha256: of its content.
        bytes: its size.
    """

    sha256: str
    bytes: int


@dataclass(frozen=True)
class Claimed:
    """A statement of the results, with the command that repeats it.

    Attributes:
        id: `GROUP/NAME`, of a claim or of a table; with the name of the folder of results before it if the
            pack has several.
        claim: in words.
        verdict: of the results, such as `holds`; empty for a table.
        group: folder of the results, below `results`.
        items: names of its tables.
        command: repeats it alone.
        runs: number of its runs.
        seconds: total duration of the runs, one after the other; None if the duration of one is not known.
        bytes: of its records and tables.
    """

    id: str
    claim: str
    verdict: str
    group: str
    items: tuple[str, ...]
    command: str
    runs: int
    seconds: float | None
    bytes: int


@dataclass(frozen=True)
class Manifest:
    """The list of a pack.

    Attributes:
        title: of the pack.
        version: of Whimbrel.
        engines: identities of the code that made the runs.
        about: `manifest.json` of the results: machine, command, commit.
        folders: of the results, below `results`; an empty name for its only one.
        papers: keys of the papers whose code the pack brings, because no package has it.
        claims: in order.
        files: by path, `/` between its parts.
    """

    title: str
    version: str
    engines: tuple[str, ...]
    about: Mapping[str, Any]
    folders: tuple[str, ...]
    papers: tuple[str, ...]
    claims: Sequence[Claimed]
    files: Mapping[str, File]

    def text(self) -> str:
        """The text of `pack.json`."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"


def read(text: str | bytes, name: str) -> Manifest:
    """The list from its text.

    Args:
        text: of `pack.json`.
        name: of the pack, for errors.

    Raises:
        InputError: it is damaged.
        UsageError: another version of the format.
    """
    try:
        found = documents.json_value(text)
        version = found.pop("format")
        if version != FORMAT:
            raise UsageError(
                f"{name} has the format {version!r} of Whimbrel {found.get('version')}: this version reads"
                f" the format {FORMAT}"
            )
        claims = tuple(Claimed(**{**each, "items": tuple(each["items"])}) for each in found.pop("claims"))
        files = {
            str(path): File(str(each["sha256"]), int(each["bytes"]))
            for path, each in found.pop("files").items()
        }
        engines, papers = tuple(map(str, found.pop("engines"))), tuple(map(str, found.pop("papers")))
        folders = tuple(map(str, found.pop("folders")))
        if any(folder in (".", "..") or "/" in folder or "\\" in folder for folder in folders):
            raise InputError(f"{name} is damaged: {folders!r} are not names of folders")
        return Manifest(claims=claims, files=files, engines=engines, folders=folders, papers=papers, **found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{name} is damaged: its {NAME} is no list of a pack: {error!r}") from error


def digest(path: Path) -> File:
    """The digest and the size of a file."""
    size, found = 0, hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
            size += len(block)
    return File(found.hexdigest(), size)
