"""Results in notebooks: tables as HTML, and figures drawn by the code that draws those of the report.

Tables need nothing but this package; figures need the extra `charts`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from whimbrel.errors import UsageError

if TYPE_CHECKING:
    from whimbrel.figures import Chart
    from whimbrel.result import Result, Table
    from whimbrel.sheet import Sheet

_ROWS = 10
"""Rows of a table that are shown; of a longer one the first and last."""

_STYLE = """<style>
.whimbrel table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9em; }
.whimbrel th, .whimbrel td { padding: .2em .6em; text-align: right; white-space: nowrap; }
.whimbrel thead th, .whimbrel tbody th { text-align: left; }
.whimbrel tbody tr { border-top: 1px solid rgba(128, 128, 128, .35); }
.whimbrel .scroll { overflow-x: auto; margin: .3em 0 1em; }
.whimbrel .half, .whimbrel .printed, .whimbrel .unit, .whimbrel .count { opacity: .75; margin-left: .35em; }
.whimbrel .printed { display: block; margin: 0; }
.whimbrel .hidden { display: none; }
.whimbrel p { margin: .4em 0; }
</style>"""


class Plot:
    """A figure, shown in a notebook by itself.

    Attributes:
        chart: its Vega-Lite specification, which other tools draw, too.
    """

    def __init__(self, chart: Chart, name: str = "figure") -> None:
        self.chart = chart
        self._name = name

    @property
    def svg(self) -> str:
        """The figure as SVG.

        Raises:
            MissingExtra: the drawing library is not installed (`pip install whimbrel[charts]`).
        """
        from whimbrel import figures

        return figures.svg_of(self.chart, self._name)

    def save(self, file: str | Path) -> Path:
        """Writes the figure as SVG, PDF or PNG of 300 dpi, by the suffix of the file.

        Raises:
            UsageError: another suffix.
            MissingExtra: the drawing library is not installed.
        """
        from whimbrel import figures

        path = Path(file)
        kind = path.suffix.removeprefix(".").lower()
        if kind not in figures.FORMATS:
            raise UsageError(f"{path}: expected a name that ends with .{', .'.join(figures.FORMATS)}")
        svg = self.svg
        path.write_bytes(svg.encode() if kind == "svg" else figures.convert(svg, kind, self._name))
        return path

    def _repr_html_(self) -> str:
        # Figures are drawn for paper: black on white, whatever the notebook's theme.
        return f'<div style="overflow-x: auto; background: white; width: fit-content">{self.svg}</div>'

    def __repr__(self) -> str:
        from whimbrel import figures

        return f"Plot({figures.plain_title(self.chart)!r})"


def framed(html: str) -> str:
    """HTML of this module with its style."""
    return f'<div class="whimbrel">{_STYLE}{html}</div>'


def table_html(table: Table, caption: str = "", columns: Sequence[str] | None = None) -> str:
    """The rows of a table, or its first and last."""
    names = list(table) if columns is None else [name for name in columns if name in table]
    half = _ROWS // 2
    rows = range(table.rows)
    shown = [*rows] if table.rows <= _ROWS else [*rows[:half], None, *rows[-half:]]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = []
    for row in shown:
        if row is None:
            body.append(f'<tr><td colspan="{len(names)}">… {table.rows - 2 * half} more rows</td></tr>')
        else:
            body.append(
                f"<tr>{''.join(f'<td>{escape(_plain(table[name][row]))}</td>' for name in names)}</tr>"
            )
    count = f"{table.rows} row{'' if table.rows == 1 else 's'}"
    title = f"<p><b>{escape(caption)}</b>, {count}</p>" if caption else ""
    return (
        f'{title}<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def table_text(table: Table) -> str:
    """The rows of a table, or its first and last, in the columns that fit into the terminal."""
    width = Console().width
    half = _ROWS // 2
    rows = [*range(table.rows)]
    gap = table.rows > _ROWS
    shown = [*rows[:half], *rows[-half:]] if gap else rows
    columns: dict[str, list[str]] = {}
    room = width
    for name, values in table.items():
        cells = [name, *(_plain(values[row]) for row in shown)]
        size = max(map(len, cells))
        if columns and size > room:
            break
        room -= size + 2
        left = values.dtype.kind == "U"
        columns[name] = [cell.ljust(size) if left else cell.rjust(size) for cell in cells]
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns.values(), strict=True)]
    if gap:
        lines.insert(1 + half, f"… {table.rows - 2 * half} more rows")
    more = [name for name in table if name not in columns]
    names = f", and {len(more)} more columns: {', '.join(more)}" if more else ""
    count = f"{table.rows} row{'' if table.rows == 1 else 's'}"
    return "\n".join([*lines, *textwrap.wrap(f"{count}{names}", max(width, 20))])


def _plain(value: Any) -> str:  # noqa: ANN401 - a numpy scalar or a word
    if isinstance(value, np.floating):
        return "–" if np.isnan(value) else f"{value:.5g}"
    return str(value)


_MAIN_COLUMNS = (
    "flow",
    "scheme",
    "goodput_bps",
    "sent_packets",
    "received_packets",
    "lost_queue",
    "lost_wireless",
    "delay_mean_s",
    "delay_p95_s",
    "jitter_s",
    "rtt_mean_s",
)
"""The columns of `flows` that are shown first."""


def result_html(result: Result) -> str:
    """The flows of a run, and the sizes of its other tables."""
    parts = []
    for name, table in result.tables.items():
        if name == "flows":
            parts.append(table_html(table, name, _MAIN_COLUMNS))
            hidden = len([column for column in table if column not in _MAIN_COLUMNS])
            parts.append(f"<p>and {hidden} more columns: <code>result.flows</code></p>" if hidden else "")
        else:
            parts.append(f"<p><b>{escape(name)}</b>: {table.rows} rows, {len(list(table))} columns</p>")
    return framed("".join(parts))


def result_plot(result: Result, column: str | None, flows: Sequence[str] | None) -> Plot:
    """A column of a run: over time if its intervals were recorded, otherwise by flow."""
    from whimbrel import columns, figures

    chosen = _chosen_flows(result, flows)
    intervals = result.tables.get("intervals")
    name = column or "goodput_bps"
    if intervals is not None and name in intervals and _is_numeric(intervals, name):
        metric, factor = columns.metric(name), columns.unit(name).factor
        data = {
            flow: (mine["time_s"], np.asarray(mine[name], dtype=np.float64) * factor)
            for flow in chosen
            if (mine := intervals.where(flow=flow)).rows
        }
        title = f"{metric.label} by time"
        chart = figures.series(
            title, data, "Time (s)", _axis(metric.label, metric.unit), within=metric.limits
        )
        return Plot(chart, name)
    if name not in result.flows or not _is_numeric(result.flows, name):
        known = sorted({*result.flows, *(intervals or ())})
        raise UsageError(f"there is no column {name!r} of numbers: expected one of {', '.join(known)}")
    sheet = _by_flow(result, name, chosen)
    return Plot(figures.dots(sheet, sheet.metrics[0]), name)


def _by_flow(result: Result, name: str, chosen: Sequence[str]) -> Sheet:
    from whimbrel import columns
    from whimbrel.sheet import Sheet, value_of

    metric, factor = columns.metric(name), columns.unit(name).factor
    sheet = Sheet("flows", "", ["run"], list(chosen), [metric], column_label="Flow")
    for flow in chosen:
        # Repeated names, such as those of background flows, have no place of their own.
        value = float(result.flows.where(flow=flow)[name][0]) * factor
        if not np.isnan(value):
            sheet.values["run", flow, metric.key] = value_of([value])
    return sheet


def _chosen_flows(result: Result, flows: Sequence[str] | None) -> list[str]:
    known = list(dict.fromkeys(str(flow) for flow in result.flows["flow"]))
    if flows is None:
        back = result.flows["background"] if "background" in result.flows else np.zeros(len(known), np.bool_)
        shown = [flow for flow in known if not back[list(result.flows["flow"]).index(flow)]]
        return shown or known
    if unknown := [flow for flow in flows if flow not in known]:
        raise UsageError(f"there is no flow {unknown[0]!r}: expected some of {', '.join(known)}")
    return list(flows)


def _is_numeric(table: Mapping[str, Any], name: str) -> bool:
    return bool(np.issubdtype(table[name].dtype, np.number))


def _axis(label: str, unit: str) -> str:
    return f"{label} ({unit})" if unit else label


def sheet_html(sheet: Sheet) -> str:
    """The numbers of a sheet with their intervals and the printed ones, as in the report."""
    from whimbrel.page import tables

    title = ": ".join(escape(each) for each in (sheet.source, sheet.title) if each)
    head = f"<p><b>{title}</b></p>" if title else ""
    note = f"<p>{escape(sheet.note)}</p>" if sheet.note else ""
    return framed(head + tables.plain(sheet.stored()) + note)


def sheet_plot(sheet: Sheet, metric: str | None) -> Plot:
    """The usual figure of a metric of a sheet; of the first one with numbers by default."""
    from whimbrel import figures

    charts = figures.usual_charts(sheet)
    return chosen_chart(charts, metric, sheet.key)


def chosen_chart(charts: Mapping[str, Chart], name: str | None, of: str) -> Plot:
    """One of several charts, the first by default.

    Raises:
        UsageError: there is none of that name, or none at all.
    """
    if not charts:
        raise UsageError(f"{of} has no numbers to draw")
    name = next(iter(charts)) if name is None else name
    if name not in charts:
        raise UsageError(f"{of} has no figure {name!r}: expected one of {', '.join(charts)}")
    return Plot(charts[name], f"{of}-{name}")
