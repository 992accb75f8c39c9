"""The thresholds that the paper tried (Sections 3.1 and 3.2): modified Biaz's limit, Spike's start and end.

The paper names the ranges that it tried, the values that it chose, and states that neither matters on the
backbone.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from whimbrel.claims import Claim, Verdict, at_least, at_most, below, close, every, rising
from whimbrel.paper import Item, Quick
from whimbrel.papers.lda import measures, topology
from whimbrel.papers.lda.thresholds import HIGH_THROUGHPUT, LOW, SIMILAR, Sheets
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Sheet, Value
from whimbrel.statistics import Precision

FLOWS = ("1", "4", "8")
"""N; the paper does not give the number of flows of its trials."""

UPPER = ("1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8")
"""The upper limits tried: (n + 1.1) T_min to (n + 1.8) T_min (Section 3.1)."""

STARTS = ("0.35", "0.50", "0.65", "0.80", "0.95")
"""Spike's alpha, of 0.35 to 0.95 (Section 3.2)."""

ENDS = ("0.05", "0.15", "0.25", "0.33", "0.45")
"""Spike's beta, of 0.05 to 0.45 (Section 3.2); 0.33 stands for one third."""

_NAMES = {"WLH": "the wireless last hop", "WB": "the wireless backbone"}


def _upper(column: str) -> dict[str, Any]:
    return {"mbiaz_upper": float(column)}


def _start(column: str) -> dict[str, Any]:
    return {"spike_start": float(column)}


def _end(column: str) -> dict[str, Any]:
    return {"spike_end": 1 / 3 if column == "0.33" else float(column)}


_SWEEPS = {
    "mbiaz-upper": ("mbiaz", UPPER, _upper, "Modified Biaz's upper limit", "Section 3.1"),
    "spike-start": ("spike", STARTS, _start, "Where a spike starts", "Section 3.2"),
    "spike-end": ("spike", ENDS, _end, "Where a spike ends", "Section 3.2"),
}


def _scenario(row: str, column: str, *, sweep: str, name: str) -> Scenario:
    scheme, _, parameters, *_ = _SWEEPS[sweep]
    assumed = replace(topology.USUAL, classification=parameters(column))
    return topology.scenario(name, scheme, int(row), assumed=assumed)


def _measure(result: Result, row: str, _column: str, *, sweep: str, name: str) -> Mapping[str, float]:
    return measures.measure(result, int(row), _SWEEPS[sweep][0], name=name)


def _item(sweep: str, name: str) -> Item:
    _, columns, _, title, source = _SWEEPS[sweep]
    return Item(
        key=f"{sweep}-{name.lower()}",
        title=f"{title} over {_NAMES[name]}",
        source=source,
        rows=FLOWS,
        columns=columns,
        metrics=measures.METRICS,
        scenario=functools.partial(_scenario, sweep=sweep, name=name),
        measure=functools.partial(_measure, sweep=sweep, name=name),
        precision=Precision.exactly(5),
        quick=Quick(precision=Precision.exactly(1), by_name=True),
        is_drawn=False,
        row_label="Flows",
        column_label="Threshold",
    )


ITEMS = [_item(sweep, name) for sweep in _SWEEPS for name in _NAMES]


def _values(sheet: Sheet, metric: str, row: str) -> list[Value]:
    return [sheet.value(column, metric, row) for column in sheet.columns]


def _higher_errs_more(sheets: Sheets) -> Verdict:
    """With more than one flow: M_c rises over the range, and M_w falls."""
    sheet = sheets["mbiaz-upper-wlh"]
    parts = []
    for row in FLOWS[1:]:
        parts.append(rising(*_values(sheet, "m_c", row)))
        parts.append(below(sheet.value(UPPER[-1], "m_w", row), sheet.value(UPPER[0], "m_w", row)))
    return every(*parts)


def _good_tradeoff(sheets: Sheets) -> Verdict:
    sheet = sheets["mbiaz-upper-wlh"]
    return every(
        *(
            part
            for row in FLOWS[1:]
            for column in ("1.2", "1.3")
            for part in (
                at_most(sheet.value(column, "m_c", row), LOW),
                at_least(sheet.value(column, "throughput", row), HIGH_THROUGHPUT),
            )
        )
    )


def _insensitive(sheets: Sheets, *items: str) -> Verdict:
    """No threshold changes the throughput by more than the limit of "similar" from the paper's."""
    chosen = {"mbiaz-upper-wb": "1.2", "spike-start-wb": "0.50", "spike-end-wb": "0.33"}
    return every(
        *(
            close(value, sheets[item].value(chosen[item], "throughput", row), SIMILAR)
            for item in items
            for row in FLOWS
            for value in _values(sheets[item], "throughput", row)
        )
    )


def _start_errs(sheets: Sheets) -> Verdict:
    """Over the range of alpha M_c rises and M_w falls, with more than one flow."""
    sheet = sheets["spike-start-wlh"]
    return every(
        *(
            part
            for row in FLOWS[1:]
            for part in (
                below(sheet.value(STARTS[0], "m_c", row), sheet.value(STARTS[-1], "m_c", row)),
                below(sheet.value(STARTS[-1], "m_w", row), sheet.value(STARTS[0], "m_w", row)),
            )
        )
    )


CLAIMS = [
    Claim(
        "mbiaz-upper-trades",
        "The higher modified Biaz's upper limit on the last hop, the more congestion losses are "
        "classified as wireless and the fewer wireless ones as congestion.",
        ("mbiaz-upper-wlh",),
        _higher_errs_more,
        "Section 3.1",
    ),
    Claim(
        "mbiaz-upper-good",
        "(n + 1.2) to (n + 1.3) T_min is a good trade-off on the last hop: a low M_c and a high throughput.",
        ("mbiaz-upper-wlh",),
        _good_tradeoff,
        "Section 3.1",
    ),
    Claim(
        "mbiaz-upper-wb",
        "On the backbone modified Biaz's throughput is insensitive to the choice of the upper limit.",
        ("mbiaz-upper-wb",),
        lambda sheets: _insensitive(sheets, "mbiaz-upper-wb"),
        "Section 3.1",
    ),
    Claim(
        "spike-start-trades",
        "The higher Spike's alpha, the more congestion losses are classified as wireless and the fewer "
        "wireless ones as congestion.",
        ("spike-start-wlh",),
        _start_errs,
        "Section 3.2",
    ),
    Claim(
        "spike-thresholds-wb",
        "On the backbone Spike's performance is insensitive to the choice of alpha and beta.",
        ("spike-start-wb", "spike-end-wb"),
        lambda sheets: _insensitive(sheets, "spike-start-wb", "spike-end-wb"),
        "Section 3.2",
    ),
]
