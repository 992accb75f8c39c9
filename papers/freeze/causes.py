"""Causes of single results of Table 6: one thing changed at a time (not in the paper)."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze.handovers import METRICS, measure, scenario
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

WITH = ", "
MEASURED = ("wasted", "lost", "lost_after", "restored")
CHANGES: Mapping[str, str] = {
    "queue of 5": "link.1.queue=5 packets",
    "queue of 500": "link.1.queue=500 packets",
    "delay of 802.16": "handover.0.delay=80 ms",
    "R sent": "flow.0.dccp.rtt_estimate=true",
}
ROWS = (
    "802.11b to 802.11b",
    "802.11b to 802.11b, queue of 5",
    "802.11b to 802.11b, queue of 500",
    "802.16 to 802.16",
    "802.16 to 802.11g",
    "802.16 to 802.11g, delay of 802.16",
    "802.11g to 802.11b",
    "802.11g to 802.11b, R sent",
)


def _parts(row: str) -> tuple[str, str]:
    """The handover of a row, and the change."""
    pair, _, change = row.partition(WITH)
    return pair, change


def _scenario(row: str, scheme: str) -> Scenario:
    pair, change = _parts(row)
    plain = scenario(pair, scheme)
    return plain.changed(CHANGES[change]) if change else plain


def _measure(result: Result, row: str, scheme: str) -> Mapping[str, float]:
    found = measure(result, _parts(row)[0], scheme)
    return {key: found[key] for key in MEASURED}


ITEM = Item(
    key="table6-causes",
    title="Single handovers, one thing changed at a time",
    source="not in the paper",
    rows=ROWS,
    columns=("tfrc", "freeze"),
    metrics=[metric for metric in METRICS if metric.key in MEASURED],
    scenario=_scenario,
    measure=_measure,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(1), by_name=True),
    is_drawn=False,
    row_label="Handover, and change",
)
