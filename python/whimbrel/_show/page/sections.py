"""The parts of a page, and their names in links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

from whimbrel._values.sheet import StoredSheet
from whimbrel.errors import printable

Claim = Mapping[str, Any]
"""An entry of `claims.json`."""

SOURCES = (("paper", "claims of the paper"), ("ours", "claims of our own"))
"""The two kinds of claims, which are counted apart."""

KINDS: Mapping[bool | None, str] = {False: "no", None: "open", True: "yes"}
"""Verdicts in the page's attributes, in the order of the lists of claims."""

VERDICTS: Mapping[str, str] = {"no": "does not hold", "open": "undecided", "yes": "holds"}
"""The same in words."""


@dataclass(frozen=True)
class ShownTable:
    """A sheet and the charts that go with it, by the name of their files.

    Attributes:
        stored: the sheet.
        charts: Vega-Lite by name.
        formats: the formats of each chart's files next to the page, by name.
    """

    stored: StoredSheet
    charts: Mapping[str, Mapping[str, Any]]
    formats: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A folder of results.

    Attributes:
        folder: its name, used in links and anchors.
        title: heading.
        subtitle: below it.
        about: a sentence or two.
        command: that creates it.
        claims: as in `claims.json`.
        tables: in order.
    """

    folder: str
    title: str
    subtitle: str
    about: str
    command: str
    claims: Sequence[Claim]
    tables: Sequence[ShownTable]

    @property
    def anchor(self) -> str:
        """The fragment that links to it."""
        return anchor(self.folder)

    def item_anchor(self, key: str) -> str:
        """The fragment that links to a table or figure, by the key of its sheet."""
        return f"{self.anchor}-{anchor(key)}"

    def claim_anchor(self, claim: Claim) -> str:
        """The fragment that links to a claim."""
        return f"{self.anchor}-claim-{anchor(claim['id'])}"

    def claims_on(self, key: str) -> list[Claim]:
        """The claims that rest on a table or figure, those that do not hold first."""
        return by_verdict(claim for claim in self.claims if key in claim["items"])


def by_verdict(claims: Any) -> list[Claim]:  # noqa: ANN401 - any iterable of claims
    """Claims in the order of `KINDS`: those that do not hold are the most important ones for a reader."""
    order = list(KINDS)
    return sorted(claims, key=lambda claim: order.index(claim["holds"]))


def anchor(name: str) -> str:
    """A name as part of a fragment."""
    return escape("".join(letter if letter.isalnum() else "-" for letter in name))


def file(folder: str, name: str) -> str:
    """A link to a file of a section."""
    return escape(f"{folder}/{name}")


def code(text: str) -> str:
    """A sentence of a README.md: text between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def asset(name: str) -> str:
    """The text of a file that becomes a part of the page."""
    return resources.files("whimbrel").joinpath("assets", name).read_text(encoding="utf-8")


def whole(title: str, body: Iterable[str]) -> str:
    """A page of these parts, with the styles in it.

    Names and titles change neither the direction nor the lines of the text around them.
    """
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{asset('report.css')}</style>",
        "</head>",
        "<body>",
        *body,
        "</body>",
        "</html>",
        "",
    ]
    # Scripts are code of our own and of libraries, whose strings may hold any character.
    return "\n".join(part if part.startswith("<script>") else printable(part) for part in parts)
