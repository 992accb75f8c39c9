"""The numbers of a sheet as tables that can be collapsed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from whimbrel._show.page.sections import ShownTable, file
from whimbrel._values import printed
from whimbrel._values.sheet import Entry, Metric, StoredSheet
from whimbrel.figures import name_of

_OPEN_BELOW_FIGURE = 12
"""Rows that are shown at once below a figure; more are collapsed."""
_OPEN_ALONE = 30
"""The same where there is no figure."""


@dataclass(frozen=True)
class _Grid:
    caption: str
    agreed: str
    lines: Sequence[tuple[str, Metric, str]]


def numbers(folder: str, table: ShownTable) -> str:
    """All numbers of a sheet: tables, the long ones collapsed, and the file that holds them."""
    sheet = table.stored.sheet
    budget = _OPEN_BELOW_FIGURE if table.charts or sheet.pictures else _OPEN_ALONE
    parts = []
    for grid in _grids(table.stored):
        open_ = " open" if len(grid.lines) <= budget else ""
        budget -= len(grid.lines)
        size = f"{len(grid.lines)} row{'' if len(grid.lines) == 1 else 's'}"
        parts.append(
            f'<details class="numbers"{open_}><summary>{grid.caption} <span class="count">{size}</span>'
            f"</summary>{grid.agreed}{_rendered(table.stored, grid)}</details>"
        )
    name = f"{sheet.key}.csv"
    parts.append(f'<p class="files"><a href="{file(folder, name)}" download>{escape(name)}</a></p>')
    return "\n".join(parts)


def plain(stored: StoredSheet) -> str:
    """All numbers of a sheet, one table after the other."""
    return "\n".join(f"<p>{grid.caption}</p>{_rendered(stored, grid)}" for grid in _grids(stored))


def _grids(stored: StoredSheet) -> Iterable[_Grid]:
    """With one row, metrics by columns, as in papers; otherwise rows by columns for every metric."""
    sheet = stored.sheet
    if len(sheet.rows) == 1:
        lines = [
            (_labelled(metric) + agreed(stored, metric), metric, sheet.rows[0]) for metric in sheet.metrics
        ]
        yield _Grid("Numbers", "", lines)
        return
    for metric in sheet.metrics:
        lines = [(escape(row), metric, row) for row in sheet.rows]
        yield _Grid(_labelled(metric), agreed(stored, metric), lines)


def agreed(stored: StoredSheet, metric: Metric) -> str:
    """Number of a metric's printed numbers within our intervals."""
    about = stored.about.get("printed", {}).get("metrics", {}).get(metric.key)
    if not about:
        return ""
    off = f", median difference {printed.percent(about['median'])}" if about["median"] is not None else ""
    text = f"{about['inside']} of {about['numbers']} printed numbers within our intervals{off}"
    return f' <span class="agreed">{text}</span>'


def _rendered(stored: StoredSheet, grid: _Grid) -> str:
    sheet = stored.sheet
    head = "".join(f'<th scope="col">{escape(name_of(column))}</th>' for column in sheet.columns)
    corner = escape(sheet.row_label) if len(sheet.rows) > 1 else ""
    first = f'<th scope="col">{corner}</th>' if corner else "<td></td>"
    rows = []
    for label, metric, row in grid.lines:
        cells = "".join(
            _cell(stored.entries.get((row, column, metric.key)), metric) for column in sheet.columns
        )
        rows.append(f'<tr><th scope="row">{label}</th>{cells}</tr>')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(sheet.title)}: table">'
        f'<table><caption class="hidden">{escape(sheet.title)}: {grid.caption}</caption>'
        f"<thead><tr>{first}{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(entry: Entry | None, metric: Metric) -> str:
    if entry is None or (math.isnan(entry.ours) and math.isnan(entry.paper)):
        return '<td class="none">–</td>'
    digits = metric.digits
    text = "–" if math.isnan(entry.ours) else f"{entry.ours:.{digits}f}"
    parts = [f'<span class="ours">{text}</span>']
    if not math.isnan(entry.low):
        half = (entry.high - entry.low) / 2
        spread = f"identical in {entry.n} runs" if half == 0 and entry.n > 1 else f"±{half:.{digits}f}"
        parts.append(f'<span class="half">{spread}</span>')
    if not math.isnan(entry.paper):
        inside = entry.low <= entry.paper <= entry.high
        mark = '<i title="inside our interval">✓</i>' if inside else ""
        parts.append(f'<span class="printed">paper {entry.paper:g}{mark}</span>')
    runs = f"{entry.n} run{'' if entry.n == 1 else 's'}"
    return f'<td title="{runs}">{"".join(parts)}</td>'


def _labelled(metric: Metric) -> str:
    unit = f' <span class="unit">{escape(metric.unit)}</span>' if metric.unit else ""
    return escape(metric.label) + unit
