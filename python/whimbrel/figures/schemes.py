"""Appearance of schemes in figures: names, colours and markers of `papers/style.toml`."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whimbrel._base import documents, paper_folders
from whimbrel.errors import WhimbrelError

SPARE_COLOURS = ("#4c6ef5", "#e8590c", "#2f9e44", "#ae3ec9", "#0c8599", "#e03131", "#cf8000", "#868e9c")
"""Colours of schemes without a style."""
_SPARE_MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")


@dataclass(frozen=True, slots=True)
class Scheme:
    """Appearance of a scheme: its name, colour (`#rrggbb`) and Vega's name of a marker."""

    name: str
    colour: str
    marker: str


def style() -> Mapping[str, Scheme]:
    """The schemes by key, from `papers/style.toml` and from papers that are found elsewhere.

    Raises:
        WhimbrelError: a file is missing or wrong.
    """
    return _read(paper_folders.styles())


@functools.cache
def _read(files: tuple[Path, ...]) -> Mapping[str, Scheme]:
    found: dict[str, Scheme] = {}
    for path in reversed(files):
        try:
            listed = documents.read_toml(path)["scheme"]
            found |= {
                key: Scheme(each["name"], each["colour"], each["marker"]) for key, each in listed.items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise WhimbrelError(f"{path}: {error!r}") from error
    return found


def schemes(keys: Sequence[str]) -> list[Scheme]:
    """The schemes of the given keys; a key without a style gets a conspicuous colour."""
    known = style()
    spare = iter(range(len(keys)))

    def one(key: str) -> Scheme:
        if key in known:
            return known[key]
        position = next(spare)
        colour = SPARE_COLOURS[position % len(SPARE_COLOURS)]
        return Scheme(key, colour, _SPARE_MARKERS[position % len(_SPARE_MARKERS)])

    return [one(key) for key in keys]


def name_of(key: str) -> str:
    """The displayed name of a scheme; the key itself without a style."""
    return style()[key].name if key in style() else key
