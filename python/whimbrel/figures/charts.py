"""Charts of sheets and of series, as Vega-Lite.

In the report, a line chart is zoomed by dragging over a part of it, or with its buttons: the parameter
`zoomed` holds the visible part of the horizontal axis, null for all of it, and lies in the range of the data.
The mouse wheel scrolls the page.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from whimbrel._values.sheet import UNBOUNDED, Bounds, Metric, SheetData
from whimbrel._values.statistics import Sample
from whimbrel.figures import axes, chart_text
from whimbrel.figures.schemes import Scheme, name_of, schemes

Chart: TypeAlias = Mapping[str, Any]
"""A Vega-Lite specification."""

Charts: TypeAlias = Mapping[str, Chart]
"""Charts by name; the name becomes a part of the file names."""

QUICK = "quick pass: fewer and shorter runs"
"""Subtitle of a chart of a quick pass."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_WIDTH = 560
_PAPER_MARK = "M-1,-1L1,1M-1,1L1,-1"
_DENSE = 24
"""With more rows than this, a curve has a band for its intervals instead of bars, and no symbols."""
_LABEL_LINES = 3
"""Lines for the labels of vertical marks."""
_NARROW = 240
"""Width of a line chart's plot on a small screen, where these labels should not overlap, in pixels."""
_LETTER = 6
"""Width of a letter of them in pixels."""
_SURE = [{"filter": "isValid(datum.ours) && datum.n > 1"}]
_THERE = [{"filter": "isValid(datum.ours)"}]


def usual_charts(sheet: SheetData) -> Charts:
    """A chart per metric, with intervals and printed numbers: curves if rows form an axis, else dots."""
    draw = curves if sheet.row_numbers is not None else dots
    return {
        metric.key: draw(sheet, metric)
        for metric in sheet.metrics
        if any(place[2] == metric.key and value.interval for place, value in sheet.places())
    }


def points(sheet: SheetData, metric: Metric) -> list[dict[str, Any]]:
    """The numbers of one metric as chart data, one record per place.

    Intervals are cut at the bounds of the metric; `cut` is true if that happened. `inside` is true if the
    printed number lies in the whole interval.
    """
    mine = [(row, column, value) for (row, column, key), value in sheet.places() if key == metric.key]
    means = [value.mean for _, _, value in mine if value.interval is not None]
    within = axes.bounds(metric, [*means, *(value.paper for _, _, value in mine if value.paper is not None)])
    found = []
    for row, column, value in mine:
        interval = value.interval
        if interval is None and value.paper is None:
            continue
        record: dict[str, Any] = {"row": row, "column": name_of(column), "paper": value.paper}
        if interval is not None:
            sure = interval.n > 1
            low, high = (interval.low, interval.high) if sure else (interval.mean, interval.mean)
            record |= {
                "ours": interval.mean,
                "low": axes.cut(low, within),
                "high": axes.cut(high, within),
                "cut": axes.cut(low, within) != low or axes.cut(high, within) != high,
                "n": interval.n,
                "inside": value.paper is not None and low <= value.paper <= high,
            }
        found.append(record)
    return found


def dots(sheet: SheetData, metric: Metric) -> Chart:
    """A line per column, grouped by row: our mean as a dot on its interval, the paper's number as a cross."""
    values = points(sheet, metric)
    listed = schemes(sheet.columns)
    order = [scheme.name for scheme in listed]
    by_row = len(sheet.rows) > 1
    legend = by_row and len(listed) > 1
    colour = _scaled("color", listed, sheet.column_label, legend=legend)
    value_axis = _value_axis(metric, values)
    y: dict[str, Any] = {"field": "column", "type": "nominal", "sort": order, "title": None}
    lines: dict[str, Any] = {"y": y}
    steps = len(order)
    if by_row:
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
            "transform": _SURE,
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {
                **shared,
                "x": {"field": "low", **value_axis},
                "x2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "transform": _THERE,
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {
                **shared,
                "x": {"field": "ours", **value_axis},
                "color": colour,
                "shape": _scaled("shape", listed, sheet.column_label, legend=legend),
            },
        },
    ]
    if any(value["paper"] is not None for value in values):
        layers.append(_paper_layer({**shared, "x": {"field": "paper", **value_axis}}))
    return _chart(sheet, metric, values, layers, height=max(70, 24 * steps))


def curves(
    sheet: SheetData, metric: Metric, *, zero: bool = False, marks: Mapping[str, float] | None = None
) -> Chart:
    """A curve per column over the rows, with intervals as bars or a band, and the paper's numbers as crosses.

    Args:
        sheet: its rows are numbers.
        metric: what is drawn.
        zero: the vertical axis begins at zero.
        marks: labelled vertical lines, such as handovers, by position on the horizontal axis.
    """
    values = [{**value, "position": float(value["row"])} for value in points(sheet, metric)]
    domain = axes.span([*(value["position"] for value in values), *(marks or {}).values()])
    y_axis = _value_axis(metric, values, zero=zero)
    x = _position("position", sheet.row_label or None, domain)
    listed = schemes(sheet.columns)
    colour = _scaled("color", listed, sheet.column_label)
    dense = len(sheet.rows) > _DENSE
    over = {"x": x, "color": colour, "opacity": _faded()}
    layers: list[dict[str, Any]] = [
        *(_band(over, y_axis) if dense else [_bars(over, y_axis)]),
        {
            "transform": _THERE,
            "mark": {"type": "line", "strokeWidth": 2, "clip": True},
            "encoding": {**over, "y": {"field": "ours", **y_axis}},
        },
        {
            "transform": [*_THERE, _shown("position")],
            "params": _choosing(),
            "mark": {"type": "point", "filled": True, "size": 12 if dense else 70},
            "encoding": {
                **over,
                "y": {"field": "ours", **y_axis},
                "shape": _scaled("shape", listed, sheet.column_label),
                "tooltip": _tooltip(sheet, metric),
            },
        },
    ]
    if any(value["paper"] is not None for value in values):
        at = {"x": x, "y": {"field": "paper", **y_axis}, "tooltip": _tooltip(sheet, metric)}
        layers.append(_paper_layer(at, _shown("position")))
    layers += vertical_marks(marks or {}, domain)
    chart = _chart(sheet, metric, values, layers, height=300, marks=marks)
    chart["params"] = _parameters([scheme.name for scheme in listed])
    return chart


def series(
    title: str,
    data: Mapping[str, tuple[Sample, Sample]],
    x_title: str,
    y_title: str,
    *,
    marks: Mapping[str, float] | None = None,
    within: Bounds = UNBOUNDED,
    about: Sequence[str] = (),
    below: Collection[str] = (),
) -> Chart:
    """Curves over time or another quantity.

    Args:
        title: above the chart.
        data: key of the scheme to x and y values; NaN breaks a curve.
        x_title: with its unit.
        y_title: with its unit.
        marks: labelled vertical lines, such as a handover, by position on x.
        within: the values of y that are possible; the axis does not go beyond.
        about: lines below the title.
        below: keys of curves that the others cover.
    """
    keys = list(data)
    curves_ = {
        name_of(key): [(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]
        for key, (xs, ys) in data.items()
    }
    records = [
        {"column": name, "x": x, "y": None if math.isnan(y) else y}
        # A curve covers those before it.
        for name, curve in sorted(curves_.items(), key=lambda each: each[0] not in below)
        for x, y in curve
    ]
    domain = axes.span([*(x for curve in curves_.values() for x, _ in curve), *(marks or {}).values()])
    numbers = [y for curve in curves_.values() for _, y in curve if not math.isnan(y)]
    scale = axes.value_scale(numbers, within, zero=True)
    return {
        "$schema": _SCHEMA,
        "title": chart_text.titled(title, about),
        "description": chart_text.describe_series(title, curves_, marks or {}),
        "width": _WIDTH,
        "height": 280,
        "params": _parameters(list(curves_)),
        "data": {"values": records},
        "layer": [
            {
                "params": _choosing(),
                "mark": {"type": "line", "strokeWidth": 1.75, "clip": True},
                "encoding": {
                    "x": _position("x", x_title, domain),
                    "y": {"field": "y", "type": "quantitative", "title": y_title, "scale": scale},
                    "color": _scaled("color", schemes(keys), None),
                    "opacity": _faded(),
                },
            },
            *vertical_marks(marks or {}, domain),
        ],
    }


def vertical_marks(marks: Mapping[str, float], domain: Sequence[float] | None = None) -> list[dict[str, Any]]:
    """Layers of labelled vertical lines, such as handovers, for a chart whose x axis is quantitative.

    Args:
        marks: positions on x by label.
        domain: range of the axis, by which labels near each other go on several lines; for charts with the
            parameter `zoomed`.
    """
    if not marks:
        return []
    lines = _labels(marks, domain)
    at: dict[str, Any] = {"x": {"field": "x", "type": "quantitative"}}
    # A chart's transforms apply to its own data only.
    rule: dict[str, Any] = {
        "type": "rule",
        "style": "event",
        "strokeDash": [4, 3],
        "strokeWidth": 1.25,
        "clip": True,
    }
    places = sorted({(each["line"], each["align"]) for each in lines})
    texts: list[dict[str, Any]] = [
        {
            "data": {"values": [each for each in lines if (each["line"], each["align"]) == (line, align)]},
            "transform": [_shown("x")] if domain else [],
            "mark": {
                "type": "text",
                "style": "event",
                "align": align,
                "dx": 4 if align == "left" else -4,
                # Above the plot, where no curve passes.
                "y": -4 - 13 * line,
                "baseline": "bottom",
            },
            "encoding": at | {"text": {"field": "label", "type": "nominal"}},
        }
        for line, align in places
    ]
    return [{"data": {"values": lines}, "mark": rule, "encoding": at}, *texts]


def _labels(marks: Mapping[str, float], domain: Sequence[float] | None) -> list[dict[str, Any]]:
    """Labels on lines on which they do not overlap, to the right of their marks where there is room."""
    low, high = domain or (min(marks.values()), max(marks.values()))
    unit = (high - low) / _NARROW or 1.0
    found: list[dict[str, Any]] = []
    taken: list[tuple[int, float, float]] = []
    for label, position in sorted(marks.items(), key=lambda each: each[1]):
        wide = unit * (_LETTER * len(label) + 8)
        align = "left" if domain is None or position + wide <= high else "right"
        begin = position if align == "left" else position - wide
        busy = {line for line, first, last in taken if first < begin + wide and begin < last}
        line = next((line for line in range(_LABEL_LINES) if line not in busy), _LABEL_LINES - 1)
        taken.append((line, begin, begin + wide))
        found.append({"x": position, "label": label, "line": line, "align": align})
    return found


def marked_quick(chart: Chart) -> Chart:
    """The chart with a note below its title that it shows a quick pass."""
    title = chart.get("title", "")
    titled = dict(title) if isinstance(title, Mapping) else {"text": title}
    return {**chart, "title": {**titled, "subtitle": [QUICK, *chart_text.plain_subtitle(chart)]}}


def _band(over: Mapping[str, Any], y_axis: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Intervals of many rows. Their edges have the full colour: a tint is hard to see on its background."""
    low: dict[str, Any] = {"field": "low", **y_axis}
    high: dict[str, Any] = {"field": "high", **y_axis}
    fill: dict[str, Any] = {**over, "y": low, "y2": {"field": "high"}, "opacity": _faded(0.15, 0.02)}
    edges: list[dict[str, Any]] = [
        {
            "transform": _SURE,
            "mark": {"type": "line", "strokeWidth": 1, "clip": True},
            "encoding": {**over, "y": edge},
        }
        for edge in (low, high)
    ]
    area: dict[str, Any] = {"type": "area", "clip": True}
    return [{"transform": _SURE, "mark": area, "encoding": fill}, *edges]


def _bars(over: Mapping[str, Any], y_axis: Mapping[str, Any]) -> dict[str, Any]:
    """Intervals of a few rows."""
    return {
        "transform": _SURE,
        "mark": {"type": "rule", "strokeWidth": 1.5, "clip": True},
        "encoding": {**over, "y": {"field": "low", **y_axis}, "y2": {"field": "high"}},
    }


def _value_axis(metric: Metric, values: Sequence[Mapping[str, Any]], *, zero: bool = False) -> dict[str, Any]:
    drawn = [float(value[key]) for value in values if "ours" in value for key in ("low", "ours", "high")]
    printed = [float(value["paper"]) for value in values if value["paper"] is not None]
    means = [float(value["ours"]) for value in values if "ours" in value]
    within = axes.bounds(metric, [*means, *printed])
    title = f"{metric.label} ({metric.unit})" if metric.unit else metric.label
    scale = axes.value_scale([*drawn, *printed], within, zero=zero)
    return {"type": "quantitative", "title": title, "scale": scale}


def _position(field: str, title: str | None, domain: Sequence[float]) -> dict[str, Any]:
    """A horizontal axis over the range of the data, or over the part of it that `zoomed` holds."""
    scale = {"domain": list(domain), "domainRaw": {"expr": "zoomed"}, "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale}


def _parameters(names: Sequence[str]) -> list[dict[str, Any]]:
    choice = {"input": "select", "options": [None, *names], "labels": ["all", *names], "name": "Show "}
    only = {"name": "only", "value": None} | ({"bind": choice} if len(names) > 1 else {})
    return [{"name": "zoomed", "value": None}, only]


def _choosing() -> list[dict[str, Any]]:
    """A click in the legend keeps one curve; dragging with a mouse or pen chooses a part of the x axis."""
    brush = {
        "type": "interval",
        "encodings": ["x"],
        # A finger scrolls the page.
        "on": "[pointerdown[event.pointerType !== 'touch'], window:pointerup] > window:pointermove!",
        "translate": False,
        "zoom": False,
    }
    return [
        {"name": "kept", "select": {"type": "point", "fields": ["column"]}, "bind": "legend"},
        {"name": "brush", "select": brush},
    ]


def _faded(shown: float = 1, rest: float = 0.12) -> dict[str, Any]:
    chosen = {"and": [{"param": "kept"}, "only === null || only === datum.column"]}
    return {"condition": {"test": chosen, "value": shown}, "value": rest}


def _shown(field: str) -> dict[str, str]:
    """Symbols at the ends of the axis are drawn whole; those outside of it are left out, not clipped."""
    place = f"datum[{field!r}]"
    return {"filter": f"zoomed === null || ({place} >= zoomed[0] && {place} <= zoomed[1])"}


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


def _tooltip(sheet: SheetData, metric: Metric) -> list[dict[str, Any]]:
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


def _paper_layer(encoding: Mapping[str, Any], *filters: Mapping[str, Any]) -> dict[str, Any]:
    # A cross in the text colour, which the viewer's theme sets.
    return {
        "transform": [{"filter": "isValid(datum.paper)"}, *filters],
        "mark": {"type": "point", "shape": _PAPER_MARK, "size": 50, "strokeWidth": 1.75, "style": "paper"},
        "encoding": dict(encoding),
    }


def _chart(
    sheet: SheetData,
    metric: Metric,
    values: Sequence[Mapping[str, Any]],
    layers: Sequence[Mapping[str, Any]],
    height: int,
    marks: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    over = sheet.row_numbers is not None and any("position" in value for value in values)
    repeated = any(value.get("n", 0) > 1 for value in values)
    notes = ["mean with its 95 % interval" if repeated else "one run, without an interval"]
    if any(value.get("cut") for value in values):
        low, high = metric.limits
        ends = " and ".join(f"{end:g}" for end in (low, high) if end is not None)
        notes.append(f"intervals end at {ends}{f' {metric.unit}' if metric.unit else ''}")
    if any(value["paper"] is not None for value in values):
        notes.append("\u00d7: printed in the paper")
    where = ": ".join(each for each in (sheet.source, sheet.title) if each)
    return {
        "$schema": _SCHEMA,
        "title": chart_text.titled(
            chart_text.heading(sheet, metric, curves=over), [where, " · ".join(notes)]
        ),
        "description": chart_text.describe(sheet, metric, values, curves=over, marks=marks or {}),
        "width": _WIDTH,
        "height": height,
        "data": {"values": list(values)},
        "layer": list(layers),
    }
