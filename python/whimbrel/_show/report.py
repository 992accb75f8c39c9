"""The report: a page that needs only a browser.

The page is made solely from the files below a directory: folders with an `about.json` (a paper, a sweep, any
caller of `write_group`), the sheets, claims, charts and pictures in them, and `manifest.json`. Everything on
the page is also a file that a script can read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from whimbrel._base import documents
from whimbrel._base.files import replace_text
from whimbrel._show import page
from whimbrel._values.sheet import StoredSheet, read_sheet
from whimbrel.errors import WhimbrelError
from whimbrel.figures import FORMATS

_ABOUT = "about.json"


@dataclass(frozen=True)
class Group:
    """Description of a folder of results.

    Attributes:
        title: its heading.
        subtitle: such as a paper's authors and year.
        about: a sentence or two.
        sheets: keys of its sheets, in order.
        command: that creates it.
    """

    title: str
    subtitle: str
    about: str
    sheets: tuple[str, ...]
    command: str = ""


def write_group(directory: Path, group: Group) -> None:
    """Makes a folder a section of the report."""
    directory.mkdir(parents=True, exist_ok=True)
    replace_text(directory / _ABOUT, json.dumps(asdict(group), indent=1, ensure_ascii=False) + "\n")


def build(out: Path) -> Path:
    """Writes `index.html`.

    Args:
        out: the directory of the results.

    Returns:
        The page.

    Raises:
        WhimbrelError: there is nothing to report, or a file does not match its name.
    """
    sections = [_section(path.parent) for path in sorted(out.glob(f"*/{_ABOUT}"))]
    if not sections:
        raise WhimbrelError(
            f"there are no results below {out}: run `whimbrel reproduce` or `whimbrel sweep` first"
        )
    manifest = _json(out / "manifest.json") if (out / "manifest.json").is_file() else {}
    index = out / "index.html"
    replace_text(index, page.render(sections, manifest))
    return index


def _section(directory: Path) -> page.Section:
    about = _json(directory / _ABOUT)
    try:
        group = Group(**{**about, "sheets": tuple(map(_name, about["sheets"]))})
    except (KeyError, TypeError) as error:
        raise WhimbrelError(f"{directory / _ABOUT}: {error!r}") from error
    claims = directory / "claims.json"
    return page.Section(
        folder=directory.name,
        title=group.title,
        subtitle=group.subtitle,
        about=group.about,
        command=group.command,
        claims=_json(claims) if claims.is_file() else [],
        tables=tuple(_table(directory, key) for key in group.sheets),
    )


def _name(text: str) -> str:
    """The text, which must be the name of a file and no path."""
    if Path(text).name != text:
        raise WhimbrelError(f"{text!r} is not the name of a file")
    return text


def _table(directory: Path, key: str) -> page.ShownTable:
    stored: StoredSheet = read_sheet(directory, key)
    charts: dict[str, Mapping[str, Any]] = {
        name: _json(directory / f"{_name(name)}.vl.json") for name in stored.about.get("charts", [])
    }
    formats = {
        name: [kind for kind in FORMATS if (directory / f"{name}.{kind}").is_file()] for name in charts
    }
    return page.ShownTable(stored, charts, formats)


def _json(path: Path) -> Any:  # noqa: ANN401 - any JSON
    try:
        return documents.read_json(path)
    except (OSError, ValueError) as error:
        raise WhimbrelError(f"{path}: {error}") from error
