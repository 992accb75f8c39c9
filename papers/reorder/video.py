"""Opinion scores of a video over a path that reorders (Table III)."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import efficiency
from whimbrel.papers.reorder.topology import BOTTLENECK_BPS, WITHOUT
from whimbrel.quality import g1070
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

DCCP, ADJUSTED, FIXED = "DCCP buffer", "rate adjustment", "no rate adjustment"
"""Rows of the table, abbreviated from the paper's."""

RTT = "100"
SIZE = "12"
FRAME_RATE = 30.0
"""The paper names none; at 30 and without loss its scores are reproduced (docs/quality.md)."""
SCREEN = g1070.screen("4.2in")
PRINTED_BPS: Mapping[str, float] = {DCCP: 898e3, ADJUSTED: 314e3, FIXED: 314e3}
"""The rates that the paper's simulations left to the application (Section IV)."""
VIDEO_BPS = float(BOTTLENECK_BPS)
"""Of a video that does not adjust (Section III)."""

METRICS = [
    Metric("mos", "", "MOS", 2),
    Metric("rate", "kbit/s", "Available rate", 0),
]


def score(row: str, available_bps: float) -> float:
    """The mean opinion score: an adaptive coder uses the available rate, a fixed one loses the excess."""
    if row != FIXED:
        return g1070.rate(SCREEN, available_bps, FRAME_RATE, 0.0).mos
    loss = max(0.0, 1 - available_bps / VIDEO_BPS)
    return g1070.rate(SCREEN, VIDEO_BPS, FRAME_RATE, loss).mos


def _scenario(_row: str, _column: str) -> Scenario:
    return efficiency.scenario(RTT)


def _measure(result: Result, row: str, column: str) -> Mapping[str, float]:
    flow = efficiency.lane(SIZE) if row == DCCP else WITHOUT
    available = PRINTED_BPS[row] if column == "printed" else 1e3 * efficiency.of(result, flow, "rate")
    return {"mos": score(row, available), "rate": available / 1e3}


ITEM = Item(
    key="table3",
    title="A video over a path that reorders 5 % of the packets",
    source="Table III",
    rows=tuple(PRINTED_BPS),
    columns=("printed", "simulated"),
    metrics=METRICS,
    scenario=_scenario,
    measure=_measure,
    precision=Precision.exactly(10),
    quick=Quick(precision=Precision.exactly(3), overrides=efficiency.QUICK),
    run=efficiency.run,
    is_drawn=False,
    row_label="Video over",
    column_label="Rates",
    note=f"Round-trip time {RTT} ms, a buffer of {SIZE} packets, H.264 on 4.2 inch, {FRAME_RATE:g} frames/s. "
    "printed: for the rates that the paper states; simulated: for ours.",
)
