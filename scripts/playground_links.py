"""Links of the site's pages to the playground, with the scenario of a cell of a paper's item.

A page has a line `<!-- playground KEY | ITEM | ROW | COLUMN -->`. `scripts/build_site.py` replaces it by a
link, whose address contains the scenario, as by *Copy link* in the playground. Other viewers show nothing.
"""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlencode

from whimbrel._reproduce import paper
from whimbrel._simulate.scenario import toml_value
from whimbrel.paper import Item
from whimbrel.scenario import Scenario

MARK = re.compile(r"^<!-- playground ([^|\n]+) \| ([^|\n]+) \| ([^|\n]+) \| ([^|\n]+) -->$", re.MULTILINE)
PAGE = "playground/index.html"
"""The playground's place in the site."""
SEED = 1
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def linked(text: str, place: str) -> str:
    """The text of a page with links in the places of its marks.

    Args:
        text: Markdown.
        place: of the page in the site.

    Raises:
        SystemExit: a mark names no cell, or one whose scenario the playground does not have whole.
    """
    playground = os.path.relpath(PAGE, PurePosixPath(place).parent)

    def link(found: re.Match[str]) -> str:
        key, item, row, column = found.groups()
        of_key, given = cell(key, item, row, column)
        about = f"# {of_key.title}: {row}, {column}, a cell of `whimbrel reproduce {key} {item}`."
        address = f"{playground}#{fragment(about, given)}".replace("&", "&amp;")
        title = f"{of_key.title}, `{row}`, `{column}` (`{key} {item}`, seed {SEED})"
        return f'<a href="{address}">Run this in your browser</a>: {title}.'

    return MARK.sub(link, text)


def cell(key: str, item: str, row: str, column: str) -> tuple[Item, Scenario]:
    """The item of a cell, and the cell's scenario.

    Raises:
        SystemExit: there is no such cell, or its runs need more than its text.
    """
    where = f"{key} | {item} | {row} | {column}"
    of_key = next((each for each in paper.load(key).items if each.key == item), None)
    if of_key is None or row not in of_key.rows or column not in of_key.columns:
        raise SystemExit(f"playground {where}: no such cell")
    if of_key.run is not None:
        raise SystemExit(f"playground {where}: the item is not a simulation")
    found = of_key.scenario(row, column)
    if found.overrides or any(found.files()):
        raise SystemExit(f"playground {where}: its scenario has changes or files")
    return of_key, found


def fragment(comment: str, given: Scenario) -> str:
    """The part of an address behind `#`, which contains a comment and the scenario."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(f"{comment}\n{toml(given.document)}".encode()) + packer.flush()
    return urlencode({"toml": base64.urlsafe_b64encode(packed).rstrip(b"=").decode(), "seed": SEED})


def toml(document: Mapping[str, Any]) -> str:
    """A scenario as TOML, in the layout of the packaged ones."""
    plain = [f"{_key(key)} = {_value(value)}" for key, value in document.items() if not _header(key, value)]
    parts = ["\n".join(plain)] if plain else []
    for key, value in document.items():
        if header := _header(key, value):
            for table in [value] if isinstance(value, Mapping) else value:
                parts.append("\n".join([header, *(f"{_key(k)} = {_value(v)}" for k, v in table.items())]))
    return "\n\n".join(parts) + "\n"


def _header(key: str, value: object) -> str:
    """The header of each table of a value; empty for a value without tables."""
    if isinstance(value, Mapping):
        return f"[{_key(key)}]"
    is_list = isinstance(value, (list, tuple)) and value and all(isinstance(each, Mapping) for each in value)
    return f"[[{_key(key)}]]" if is_list else ""


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml_value(name)


def _value(value: Any) -> str:  # noqa: ANN401 - any TOML value
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    return toml_value(value)
