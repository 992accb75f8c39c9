"""Charts as files: SVG always; PDF and PNG of 300 dots per inch on request."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from html import escape
from pathlib import Path
from typing import Any

from whimbrel._base import extras
from whimbrel._base.files import replace_text
from whimbrel.errors import WhimbrelError
from whimbrel.figures.charts import Chart

FORMATS = ("svg", "pdf", "png")
"""Formats of a figure."""
DEFAULT_FORMATS = ("svg",)
"""The formats that are written unless others are requested. The report shows the SVG."""
PRINT_DPI = 300
"""Resolution of the PNG files. An SVG unit is a point, so that PNG and PDF are equally large on paper."""


def write_chart(chart: Chart, directory: Path, name: str, formats: Collection[str] = DEFAULT_FORMATS) -> None:
    """Writes `NAME.vl.json` and `NAME.svg`, and `NAME.pdf` and `NAME.png` on request.

    A PDF or PNG of that name that was not requested is removed: it would show older numbers.

    Args:
        chart: the Vega-Lite specification.
        directory: of the files.
        name: of the files, without suffix.
        formats: a part of `FORMATS`.

    Raises:
        WhimbrelError: Vega refuses the chart.
    """
    text = json.dumps(_printable(chart), sort_keys=True, ensure_ascii=False, allow_nan=False)
    svg = svg_of(chart, name)
    drawn = {kind: convert(svg, kind, name) for kind in FORMATS[1:] if kind in formats}
    replace_text(directory / f"{name}.svg", svg)
    for kind in FORMATS[1:]:
        path = directory / f"{name}.{kind}"
        if kind in drawn:
            path.write_bytes(drawn[kind])
        else:
            path.unlink(missing_ok=True)
    replace_text(directory / f"{name}.vl.json", text + "\n")


def svg_of(chart: Chart, name: str) -> str:
    """The chart as SVG, with its alternative text.

    Args:
        chart: the Vega-Lite specification.
        name: of the figure, for errors.

    Raises:
        MissingExtra: the drawing library is not installed.
        WhimbrelError: Vega refuses the chart.
    """
    vl_convert = extras.load("vl_convert", "charts", "a figure")
    plain = _printable(dict(chart))
    try:
        drawn = vl_convert.vegalite_to_svg({**plain, "config": _PRINT})
        return _described(_renumbered(drawn), str(plain.get("description", "")))
    except (ValueError, RuntimeError) as error:
        raise WhimbrelError(f"figure {name}: {error}") from error


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML, and so SVG, does not allow (XML 1.0, Section 2.2), and further controls."""


def _printable(part: Any) -> Any:  # noqa: ANN401 - a part of a chart
    """A part of a chart without what a picture cannot have: names come from the files of users."""
    if isinstance(part, str):
        return _UNPRINTABLE.sub("\ufffd", part)
    if isinstance(part, Mapping):
        return {_printable(key): _printable(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [_printable(each) for each in part]
    return part


def convert(svg: str, kind: str, name: str) -> bytes:
    """A picture in another format.

    Args:
        svg: as from `svg_of`.
        kind: `pdf` or `png`.
        name: of the figure, for errors.

    Raises:
        MissingExtra: the drawing library is not installed.
        WhimbrelError: it refuses the picture.
    """
    vl_convert = extras.load("vl_convert", "charts", "a figure")
    try:
        return bytes(
            vl_convert.svg_to_pdf(svg) if kind == "pdf" else vl_convert.svg_to_png(svg, ppi=PRINT_DPI)
        )
    except (ValueError, RuntimeError) as error:
        raise WhimbrelError(f"figure {name}: {error}") from error


def _described(svg: str, text: str) -> str:
    """The picture with its alternative text."""
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(text)}" ', 1) if text else svg


def _renumbered(svg: str) -> str:
    """The picture with identifiers counted from 0: Vega continues counting from one picture to the next."""
    numbers: dict[str, int] = {}

    def renumber(found: re.Match[str]) -> str:
        return f"{found[1]}{numbers.setdefault(found[0], len(numbers))}"

    return re.sub(r"\b(clip|gradient_)(\d+)\b", renumber, svg)


_PRINT = {
    "background": "white",
    "font": "sans-serif",
    "axis": {
        "gridColor": "#e9ecef",
        "domainColor": "#6b7280",
        "tickColor": "#6b7280",
        "titleFontWeight": 500,
    },
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "fontSize": 14,
        "fontWeight": 600,
        "subtitleColor": "#5d6673",
        "subtitleFontSize": 11,
        "subtitlePadding": 4,
    },
    "style": {"paper": {"color": "#111827", "opacity": 1}},
}
