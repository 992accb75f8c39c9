"""Throughput of each TCP and of DCCP against the same two flows, by the test bed (ours).

Section 5 ranks the schemes by it. Each line changes one thing, so that it shows whether processors or router
decide the rank.
"""

from __future__ import annotations

from dataclasses import replace

from whimbrel.paper import Item, Quick
from whimbrel.papers.confront import measures
from whimbrel.papers.confront.beds import CALIBRATED, SIZES, TIMES
from whimbrel.papers.confront.topology import (
    BED,
    CCID2,
    CCID3,
    NAMES,
    TCPS,
    UDP,
    Confront,
    scenario,
    with_host,
)
from whimbrel.statistics import Precision

BEDS = {
    CALIBRATED: BED,
    "half the cost per packet": with_host(send_cost_us=365.0),
    "router of 100 Mbit/s": replace(BED, router_mbps=100.0),
    "segments as long as the writes": replace(BED, segment=None),
    "segments as long as the writes, router of 100 Mbit/s": replace(BED, segment=None, router_mbps=100.0),
}
AGAINST = " against "
OTHERS = (UDP, CCID2, CCID3)
ROWS = [f"{bed}{AGAINST}{NAMES[other]}" for other in OTHERS for bed in BEDS]
COLUMNS = (*TCPS.values(), CCID2, CCID3)
_BY_NAME = {NAMES[other]: other for other in OTHERS}


def _parts(row: str) -> tuple[str, str]:
    """The bed of a row and the scheme of the other flows."""
    bed, _, other = row.rpartition(AGAINST)
    return bed, _BY_NAME[other]


def _confront(row: str, column: str) -> Confront:
    return Confront(0, column, _parts(row)[1])


def _item(key: str, size: int) -> Item:
    return Item(
        key=key,
        title=f"The flow that starts first, by the test bed, packets of {size} bytes",
        source="ours",
        rows=ROWS,
        columns=COLUMNS,
        metrics=[metric for metric in measures.METRICS if metric.key == "throughput"],
        # The text compares DCCP and TCP against UDP alone.
        has=lambda row, column: column in TCPS.values() or _parts(row)[1] == UDP,
        scenario=lambda row, column: scenario(_confront(row, column), size, TIMES, BEDS[_parts(row)[0]]),
        measure=lambda result, row, column: {
            "throughput": measures.measure(result, _confront(row, column), size, column)["throughput"]
        },
        precision=Precision.exactly(3),
        quick=Quick(precision=Precision.exactly(2), by_name=True),
        is_drawn=False,
        row_label="Test bed",
        note="Each line changes one thing, the last of each five a second one.",
    )


ITEMS = [_item(key.replace("test-bed", "first-flow"), size) for key, size in SIZES.items()]
