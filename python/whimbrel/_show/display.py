"""Results in notebooks: tables as HTML, and figures drawn by the code that draws the report's figures.

Tables need nothing but this package; figures need the extra `charts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel import figures
from whimbrel._show.page import tables as page_tables
from whimbrel._values import columns
from whimbrel._values.sheet import SheetData, value_of
from whimbrel._values.table import Table, framed, table_html
from whimbrel.errors import UsageError
from whimbrel.figures import Chart


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
        return figures.svg_of(self.chart, self._name)

    def save(self, file: str | Path) -> Path:
        """Writes the figure as SVG, PDF or PNG of 300 dpi, by the suffix of the file.

        Raises:
            UsageError: another suffix.
            MissingExtra: the drawing library is not installed.
        """
        path = Path(file)
        kind = path.suffix.removeprefix(".").lower()
        if kind not in figures.FORMATS:
            raise UsageError(f"{path}: expected a name that ends with .{', .'.join(figures.FORMATS)}")
        svg = self.svg
        path.write_bytes(svg.encode() if kind == "svg" else figures.convert(svg, kind, self._name))
        return path

    def _repr_html_(self) -> str:
        # Figures are drawn for paper: black on white, under any theme of the notebook.
        return f'<div style="overflow-x: auto; background: white; width: fit-content">{self.svg}</div>'

    def __repr__(self) -> str:
        return f"Plot({figures.plain_title(self.chart)!r})"


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


def result_html(tables: Mapping[str, Table]) -> str:
    """The flows of a run, and the sizes of its other tables."""
    parts = []
    for name, table in tables.items():
        if name == "flows":
            parts.append(table_html(table, name, _MAIN_COLUMNS))
            hidden = len([column for column in table if column not in _MAIN_COLUMNS])
            parts.append(f"<p>and {hidden} more columns: <code>result.flows</code></p>" if hidden else "")
        else:
            parts.append(f"<p><b>{escape(name)}</b>: {table.rows} rows, {len(list(table))} columns</p>")
    return framed("".join(parts))


def result_plot(
    by_flow: Table, intervals: Table | None, column: str | None, flows: Sequence[str] | None
) -> Plot:
    """A column of a run: over time if its intervals were recorded, otherwise by flow."""
    chosen = _chosen_flows(by_flow, flows)
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
    if name not in by_flow or not _is_numeric(by_flow, name):
        known = sorted({*by_flow, *(intervals or ())})
        raise UsageError(f"there is no column {name!r} of numbers: expected one of {', '.join(known)}")
    sheet = _sheet(by_flow, name, chosen)
    return Plot(figures.dots(sheet, sheet.metrics[0]), name)


def _sheet(by_flow: Table, name: str, chosen: Sequence[str]) -> SheetData:
    metric, factor = columns.metric(name), columns.unit(name).factor
    sheet = SheetData("flows", "", ["run"], list(chosen), [metric], column_label="Flow")
    for flow in chosen:
        # Repeated names, such as names of background flows, have no place of their own.
        value = float(by_flow.where(flow=flow)[name][0]) * factor
        if not np.isnan(value):
            sheet.values["run", flow, metric.key] = value_of([value])
    return sheet


def _chosen_flows(by_flow: Table, flows: Sequence[str] | None) -> list[str]:
    known = list(dict.fromkeys(str(flow) for flow in by_flow["flow"]))
    if flows is None:
        back = by_flow["background"] if "background" in by_flow else np.zeros(len(known), np.bool_)
        shown = [flow for flow in known if not back[list(by_flow["flow"]).index(flow)]]
        return shown or known
    if unknown := [flow for flow in flows if flow not in known]:
        raise UsageError(f"there is no flow {unknown[0]!r}: expected some of {', '.join(known)}")
    return list(flows)


def _is_numeric(table: Mapping[str, Any], name: str) -> bool:
    return bool(np.issubdtype(table[name].dtype, np.number))


def _axis(label: str, unit: str) -> str:
    return f"{label} ({unit})" if unit else label


def sheet_html(sheet: SheetData) -> str:
    """The numbers of a sheet with their intervals and the printed ones, as in the report."""
    title = ": ".join(escape(each) for each in (sheet.source, sheet.title) if each)
    head = f"<p><b>{title}</b></p>" if title else ""
    note = f"<p>{escape(sheet.note)}</p>" if sheet.note else ""
    return framed(head + page_tables.plain(sheet.stored()) + note)


def sheet_plot(sheet: SheetData, metric: str | None) -> Plot:
    """The usual figure of a metric of a sheet; of the first one with numbers by default."""
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
