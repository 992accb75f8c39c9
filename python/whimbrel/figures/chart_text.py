"""Titles and descriptions of charts, made from their data.

A chart is also used outside of the report: its title names the quantity and the axis, and its subtitle
the table or figure that it belongs to. The description is the alternative text: the quantity, its range, and
the schemes with the extremes.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from whimbrel._values.sheet import Metric, SheetData

_TITLE_WIDTH = 70
"""Characters of a title's line; a chart has room for this many."""
_SUBTITLE_WIDTH = 92
_LISTED = 8
"""Up to this many values are listed one by one in a description; of more, the extremes."""


def heading(sheet: SheetData, metric: Metric, *, curves: bool) -> str:
    """A title that can be understood outside of the report: the quantity, and what it is plotted over.

    Args:
        sheet: the sheet.
        metric: the metric that is drawn.
        curves: the rows make the horizontal axis.
    """
    over = [] if len(sheet.rows) == 1 and not curves else [_axis(sheet.row_label)]
    if not curves and len(sheet.columns) > 1:
        over.append(_axis(sheet.column_label))
    over = [each for each in over if each]
    return (
        f"{metric.title or metric.label}, by {' and '.join(over)}" if over else metric.title or metric.label
    )


def titled(text: str, subtitle: Sequence[str]) -> dict[str, Any]:
    """A Vega-Lite title, with lines that fit."""
    lines = textwrap.wrap(text, _TITLE_WIDTH) or [""]
    below = [line for each in subtitle if each for line in textwrap.wrap(each, _SUBTITLE_WIDTH)]
    title: dict[str, Any] = {"text": lines if len(lines) > 1 else lines[0]}
    return {**title, "subtitle": below} if below else title


def plain_title(chart: Mapping[str, Any]) -> str:
    """The title of any chart in one line; empty without one."""
    title = chart.get("title") or ""
    text = title.get("text", "") if isinstance(title, Mapping) else title
    return " ".join(text) if isinstance(text, list) else str(text)


def plain_subtitle(chart: Mapping[str, Any]) -> list[str]:
    """The lines of the subtitle of any chart."""
    title = chart.get("title") or ""
    below = title.get("subtitle", "") if isinstance(title, Mapping) else ""
    return list(below) if isinstance(below, list) else [below] if below else []


def describe(
    sheet: SheetData,
    metric: Metric,
    values: Sequence[Mapping[str, Any]],
    *,
    curves: bool,
    marks: Mapping[str, float],
) -> str:
    """The alternative text of a chart of a sheet.

    Args:
        sheet: the sheet.
        metric: the metric that is drawn.
        values: the chart's data, as of `points`.
        curves: the rows make the horizontal axis.
        marks: labelled positions on it.
    """
    kind = "Line chart" if curves else "Dot chart"
    unit = f" in {metric.unit}" if metric.unit else ""
    parts = [f"{kind}. {heading(sheet, metric, curves=curves)}{unit}."]
    numbers = sheet.row_numbers
    if curves and numbers:
        names = list(dict.fromkeys(value["column"] for value in values))
        of = "1 curve" if len(names) == 1 else f"{len(names)} curves"
        parts.append(
            f"{of} ({', '.join(names)}) over {sheet.row_label or 'the rows'}"
            f" from {numbers[0]:g} to {numbers[-1]:g}."
        )
    parts += [_range(sheet, metric, [value for value in values if "ours" in value])]
    printed = [value for value in values if value["paper"] is not None]
    if printed:
        inside = sum("ours" in v and v["inside"] for v in printed)
        parts.append(
            f"The paper prints {len(printed)} of the numbers; {inside} lie within our 95 % intervals."
        )
    if marks:
        parts.append(f"Marked: {', '.join(f'{label} at {at:g}' for label, at in marks.items())}.")
    return " ".join(part for part in parts if part)


def describe_series(
    title: str, data: Mapping[str, Sequence[tuple[float, float]]], marks: Mapping[str, float]
) -> str:
    """The alternative text of curves: their names, the range of each axis, and the marks."""
    points = [point for curve in data.values() for point in curve if not math.isnan(point[1])]
    parts = [f"Line chart. {title}. {len(data)} curve{'' if len(data) == 1 else 's'} ({', '.join(data)})."]
    if points:
        xs, ys = [x for x, _ in points], [y for _, y in points]
        parts.append(f"x from {min(xs):g} to {max(xs):g}, y from {min(ys):.4g} to {max(ys):.4g}.")
    if marks:
        parts.append(f"Marked: {', '.join(f'{label} at {at:g}' for label, at in marks.items())}.")
    return " ".join(parts)


def _range(sheet: SheetData, metric: Metric, values: Sequence[Mapping[str, Any]]) -> str:
    if not values:
        return "No run defines a value."

    def place(value: Mapping[str, Any]) -> str:
        row = f" at {value['row']}" if len(sheet.rows) > 1 else ""
        return f"{value['column']}{row}"

    def shown(value: Mapping[str, Any]) -> str:
        number = f"{value['ours']:.{metric.digits}f}"
        if value["low"] == value["high"]:
            return number
        return f"{number} ({value['low']:.{metric.digits}f} to {value['high']:.{metric.digits}f})"

    if len(values) <= _LISTED:
        return f"{'; '.join(f'{place(value)}: {shown(value)}' for value in values)}."
    least = min(values, key=lambda value: float(value["ours"]))
    greatest = max(values, key=lambda value: float(value["ours"]))
    return (
        f"{len(values)} values, the lowest {shown(least)} ({place(least)}), "
        f"the highest {shown(greatest)} ({place(greatest)})."
    )


def _axis(label: str) -> str:
    """The quantity of an axis without its unit, in the middle of a sentence: `RTT in ms` to `RTT`."""
    text = re.sub(r"(, %| in (ms|s|%|packets|[kM]bit/s)| \([^()]*\))$", "", label).strip()
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text
