"""Figures as Vega-Lite: interactive in the report, SVG and PNG next to the numbers.

A chart is a plain dict, so the same numbers produce the same bytes, and a paper's own `figures.py` may build
one by hand or with a library that creates such dicts. Colours, names and markers come from
`papers/style.toml`.
"""

from __future__ import annotations

import copy
import functools
import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import vl_convert

from whimbrel.errors import WhimbrelError
from whimbrel.sheet import Metric, Sheet, replace_text
from whimbrel.statistics import Sample

Chart: TypeAlias = Mapping[str, Any]
"""A Vega-Lite specification."""

Charts: TypeAlias = Mapping[str, Chart]
"""Charts by name; the name becomes a part of the file names."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_WIDTH = 560
_SPARE_COLOURS = ("#4c6ef5", "#e8590c", "#2f9e44", "#ae3ec9", "#0c8599", "#e03131", "#f59f00", "#868e9c")
_SPARE_MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
QUICK = "quick pass: fewer and shorter runs"
"""Subtitle of a chart of a quick pass."""
_PAPER_MARK = "M-1,-1L1,1M-1,1L1,-1"


@dataclass(frozen=True, slots=True)
class Scheme:
    """Appearance of a scheme: its name, colour (`#rrggbb`) and Vega's name of a marker."""

    name: str
    colour: str
    marker: str


@functools.cache
def style() -> Mapping[str, Scheme]:
    """The schemes of `papers/style.toml` by key.

    Raises:
        WhimbrelError: the file is missing or wrong.
    """
    path = Path(__file__).with_name("papers") / "style.toml"
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))["scheme"]
        return {key: Scheme(each["name"], each["colour"], each["marker"]) for key, each in listed.items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WhimbrelError(f"{path}: {error!r}") from error


def schemes(keys: Sequence[str]) -> list[Scheme]:
    """The schemes of the given keys; a key without a style gets a conspicuous colour."""
    known = style()
    spare = iter(range(len(keys)))

    def one(key: str) -> Scheme:
        if key in known:
            return known[key]
        position = next(spare)
        colour = _SPARE_COLOURS[position % len(_SPARE_COLOURS)]
        return Scheme(key, colour, _SPARE_MARKERS[position % len(_SPARE_MARKERS)])

    return [one(key) for key in keys]


def name_of(key: str) -> str:
    """The displayed name of a scheme; the key itself without a style."""
    return style()[key].name if key in style() else key


def usual_charts(sheet: Sheet) -> Charts:
    """A chart per metric, with intervals and printed numbers: curves if rows form an axis, else dots."""
    draw = curves if sheet.row_numbers is not None else dots
    return {
        metric.key: draw(sheet, metric)
        for metric in sheet.metrics
        if any(place[2] == metric.key and value.interval for place, value in sheet.places())
    }


def points(sheet: Sheet, metric: str) -> list[dict[str, Any]]:
    """The numbers of one metric as chart data, one record per place."""
    found = []
    for (row, column, key), value in sheet.places():
        interval = value.interval
        if key != metric or (interval is None and value.paper is None):
            continue
        record: dict[str, Any] = {"row": row, "column": name_of(column), "paper": value.paper}
        if interval is not None:
            sure = interval.n > 1
            record |= {
                "ours": interval.mean,
                "low": interval.low if sure else interval.mean,
                "high": interval.high if sure else interval.mean,
                "n": interval.n,
            }
        found.append(record)
    return found


def dots(sheet: Sheet, metric: Metric) -> Chart:
    """A line per column, grouped by row: our mean as a dot on its interval, the paper's number as a cross."""
    listed = schemes(sheet.columns)
    order = [scheme.name for scheme in listed]
    legend = len(sheet.rows) > 1
    colour = _scaled("color", listed, sheet.column_label, legend=legend)
    value_axis = {
        "type": "quantitative",
        "title": _titled(metric),
        "scale": {"zero": False, "nice": True, "padding": 8},
    }
    y: dict[str, Any] = {"field": "column", "type": "nominal", "sort": order, "title": None}
    lines: dict[str, Any] = {"y": y}
    steps = len(order)
    if legend:
        lines = {
            "y": {
                "field": "row",
                "type": "nominal",
                "sort": list(sheet.rows),
                "title": sheet.row_label or None,
            },
            "yOffset": {"field": "column", "sort": order},
        }
        steps = len(order) * len(sheet.rows)
    shared = {**lines, "tooltip": _tooltip(sheet, metric)}
    layers = [
        {
            "transform": [{"filter": "isValid(datum.ours)"}],
            "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.35, "strokeCap": "round"},
            "encoding": {
                **shared,
                "x": {"field": "low", **value_axis},
                "x2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "transform": [{"filter": "isValid(datum.ours)"}],
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {
                **shared,
                "x": {"field": "ours", **value_axis},
                "color": colour,
                "shape": _scaled("shape", listed, sheet.column_label, legend=legend),
            },
        },
        _paper_layer({**shared, "x": {"field": "paper", **value_axis}}),
    ]
    return _chart(sheet, metric, layers, height=max(70, 24 * steps))


def curves(sheet: Sheet, metric: Metric) -> Chart:
    """A curve per column over the rows, with the intervals as bands and the paper's numbers as crosses.

    A click in the legend selects one curve; dragging and scrolling move and zoom.
    """
    x = {
        "field": "position",
        "type": "quantitative",
        "title": sheet.row_label or None,
        "scale": {"zero": False, "padding": 14},
    }
    y_axis = {"type": "quantitative", "title": _titled(metric), "scale": {"zero": False, "nice": True}}
    fade = {"condition": {"param": "kept", "value": 1}, "value": 0.12}
    listed = schemes(sheet.columns)
    colour = _scaled("color", listed, sheet.column_label)
    shape = _scaled("shape", listed, sheet.column_label)
    there = [{"filter": "isValid(datum.ours)"}]
    layers: list[dict[str, Any]] = [
        {
            "transform": there,
            "mark": {"type": "area", "opacity": 0.15},
            "encoding": {
                "x": x,
                "y": {"field": "low", **y_axis},
                "y2": {"field": "high"},
                "color": colour,
                "opacity": {"condition": {"param": "kept", "value": 0.15}, "value": 0.02},
            },
        },
        {
            "transform": there,
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"x": x, "y": {"field": "ours", **y_axis}, "color": colour, "opacity": fade},
        },
        {
            "transform": there,
            "params": [
                {"name": "kept", "select": {"type": "point", "fields": ["column"]}, "bind": "legend"},
                {"name": "view", "select": "interval", "bind": "scales"},
            ],
            "mark": {"type": "point", "filled": True, "size": 70},
            "encoding": {
                "x": x,
                "y": {"field": "ours", **y_axis},
                "color": colour,
                "shape": shape,
                "opacity": fade,
                "tooltip": _tooltip(sheet, metric),
            },
        },
        _paper_layer({"x": x, "y": {"field": "paper", **y_axis}, "tooltip": _tooltip(sheet, metric)}),
    ]
    chart = _chart(sheet, metric, layers, height=300)
    chart["transform"] = [{"calculate": "toNumber(datum.row)", "as": "position"}]
    return chart


def series(
    title: str,
    data: Mapping[str, tuple[Sample, Sample]],
    x_title: str,
    y_title: str,
    *,
    marks: Mapping[str, float] | None = None,
) -> Chart:
    """Curves over time or another quantity.

    Args:
        title: above the chart.
        data: key of the scheme to x and y values; NaN breaks a curve.
        x_title: with its unit.
        y_title: with its unit.
        marks: labelled vertical lines, such as a handover, by position on x.
    """
    keys = list(data)
    records = [
        {"column": name_of(key), "x": float(x), "y": None if math.isnan(y) else float(y)}
        for key, (xs, ys) in data.items()
        for x, y in zip(xs, ys, strict=True)
    ]
    listed = schemes(keys)
    layers: list[dict[str, Any]] = [
        {
            "params": [
                {"name": "kept", "select": {"type": "point", "fields": ["column"]}, "bind": "legend"},
                {"name": "view", "select": "interval", "bind": "scales"},
            ],
            "mark": {"type": "line", "strokeWidth": 1.75, "clip": True},
            "encoding": {
                "x": {"field": "x", "type": "quantitative", "title": x_title},
                "y": {"field": "y", "type": "quantitative", "title": y_title},
                "color": _scaled("color", listed, None),
                "opacity": {"condition": {"param": "kept", "value": 1}, "value": 0.1},
            },
        }
    ]
    if marks:
        layers += vertical_marks(marks)
    return {
        "$schema": _SCHEMA,
        "title": title,
        "width": _WIDTH,
        "height": 280,
        "data": {"values": records},
        "layer": layers,
    }


def vertical_marks(marks: Mapping[str, float]) -> list[dict[str, Any]]:
    """Layers of labelled vertical lines, such as handovers, for a chart whose x axis is quantitative.

    Args:
        marks: positions on x by label.
    """
    lines = [{"x": position, "label": label} for label, position in marks.items()]
    at = {"x": {"field": "x", "type": "quantitative"}}
    # A chart's transforms apply to its own data only.
    return [
        {
            "data": {"values": lines},
            "mark": {"type": "rule", "strokeDash": [4, 3], "opacity": 0.6, "clip": True},
            "encoding": at,
        },
        {
            "data": {"values": lines},
            "mark": {"type": "text", "align": "left", "dx": 4, "y": 8, "clip": True},
            "encoding": {**at, "text": {"field": "label", "type": "nominal"}},
        },
    ]


def marked_quick(chart: Chart) -> Chart:
    """The chart with a note below its title that it shows a quick pass."""
    title = chart.get("title", "")
    titled = dict(title) if isinstance(title, Mapping) else {"text": title}
    before = titled.get("subtitle", "")
    lines = list(before) if isinstance(before, list) else [before] if before else []
    return {**chart, "title": {**titled, "subtitle": [QUICK, *lines]}}


def write_chart(chart: Chart, directory: Path, name: str) -> None:
    """Writes `NAME.svg`, `NAME.png` and, for the report, `NAME.vl.json`.

    Raises:
        WhimbrelError: Vega refuses the chart.
    """
    text = json.dumps(chart, sort_keys=True, ensure_ascii=False, allow_nan=False)
    still = {**copy.deepcopy(dict(chart)), "config": _PRINT}
    try:
        svg = _renumbered(vl_convert.vegalite_to_svg(still))
        png = vl_convert.svg_to_png(svg, scale=1.5)
    except (ValueError, RuntimeError) as error:
        raise WhimbrelError(f"figure {name}: {error}") from error
    replace_text(directory / f"{name}.svg", svg)
    (directory / f"{name}.png").write_bytes(png)
    replace_text(directory / f"{name}.vl.json", text + "\n")


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
        "domainColor": "#adb5bd",
        "tickColor": "#adb5bd",
        "titleFontWeight": 500,
    },
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "fontSize": 14,
        "fontWeight": 600,
        "subtitleColor": "#6b7280",
        "subtitleFontSize": 11,
        "subtitlePadding": 4,
    },
    "style": {"paper": {"color": "#111827", "opacity": 1}},
}


def _titled(metric: Metric) -> str:
    return f"{metric.label} ({metric.unit})" if metric.unit else metric.label


def _scaled(
    channel: str, listed: Sequence[Scheme], label: str | None, *, legend: bool = True
) -> dict[str, Any]:
    shown = [scheme.colour if channel == "color" else scheme.marker for scheme in listed]
    scale = {"domain": [scheme.name for scheme in listed], "range": shown}
    # Symbols stay opaque while the marks themselves are transparent.
    drawn = {"title": label, "symbolOpacity": 1} if legend else None
    return {
        "field": "column",
        "type": "nominal",
        "scale": scale,
        "legend": drawn,
    }


def _tooltip(sheet: Sheet, metric: Metric) -> list[dict[str, Any]]:
    number = {"type": "quantitative", "format": f".{metric.digits + 1}f"}
    tooltip: list[dict[str, Any]] = [
        {"field": "column", "type": "nominal", "title": sheet.column_label},
        {"field": "ours", "title": "ours", **number},
        {"field": "low", "title": "95 % from", **number},
        {"field": "high", "title": "95 % to", **number},
        {"field": "paper", "title": "paper", **number},
        {"field": "n", "type": "quantitative", "title": "runs"},
    ]
    if len(sheet.rows) > 1:
        tooltip.insert(0, {"field": "row", "type": "nominal", "title": sheet.row_label or "row"})
    return tooltip


def _paper_layer(encoding: Mapping[str, Any]) -> dict[str, Any]:
    # A cross in the text colour, which the viewer's theme sets.
    return {
        "transform": [{"filter": "isValid(datum.paper)"}],
        "mark": {"type": "point", "shape": _PAPER_MARK, "size": 50, "strokeWidth": 1.75, "style": "paper"},
        "encoding": dict(encoding),
    }


def _chart(sheet: Sheet, metric: Metric, layers: Sequence[Mapping[str, Any]], height: int) -> dict[str, Any]:
    values = points(sheet, metric.key)
    said = ["mean with its 95 % interval"]
    if any(value["paper"] is not None for value in values):
        said.append("\u00d7: printed in the paper")
    return {
        "$schema": _SCHEMA,
        "title": {"text": metric.label, "subtitle": " · ".join(said)},
        "width": _WIDTH,
        "height": height,
        "data": {"values": values},
        "layer": list(layers),
    }
