"""A time instead of a buffer: loss detection after RACK (RFC 8985) in place of the buffer (Figure 2).

The paper's dumbbell at its round-trip times, in both readings of the reordering. With RACK packets are
delivered to the application as they arrive and only the loss decision waits; the buffer holds them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from whimbrel.figures import Charts, curves
from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import beyond_schemes, measures, topology
from whimbrel.papers.reorder.beyond_schemes import SCHEMES, buffer
from whimbrel.papers.reorder.topology import BOTTLENECK_BPS, USUAL, Lane
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet
from whimbrel.statistics import Precision

LONG, NO_TIMER = "dynamic, 250 ms", "12, no timer"
DYNAMIC_FORGIVING = "dynamic, forgiving"
DETECTIONS: Mapping[str, Mapping[str, Any]] = {
    **{key: SCHEMES[key] for key in (beyond_schemes.PLAIN, beyond_schemes.FORGIVING, beyond_schemes.DYNAMIC)},
    DYNAMIC_FORGIVING: {**SCHEMES[beyond_schemes.DYNAMIC], "forgive_late": True},
    LONG: buffer("dynamic", 250),
    NO_TIMER: buffer("12 packets", 60_000),
    beyond_schemes.RACK: SCHEMES[beyond_schemes.RACK],
    beyond_schemes.RACK_FORGIVING: SCHEMES[beyond_schemes.RACK_FORGIVING],
}
ROUND_TRIPS = ("100", "200", "300", "400", "500")
READINGS: Mapping[str, str] = {
    "delayed": "5 % of the packets are delayed",
    "netem": "all packets are delayed but 5 %",
}
DATA_KBPS = BOTTLENECK_BPS * USUAL.payload / (USUAL.payload + beyond_schemes.HEADERS) / 1e3
"""The bottleneck's rate for data, in kbit/s."""
END_S, WARM_UP_S = 190.0, 40.0

METRICS = [
    measures.RATE,
    measures.LER,
    Metric("queue", "%", "Lost by the queue", 2),
    Metric("late", "%", "Too late for the application", 2),
]


def _scenario(row: str, column: str, *, reading: str) -> Scenario:
    assumed = replace(USUAL, reading=reading, dccp=DETECTIONS[column])
    return topology.scenario(f"RTT {row} ms, {column}", [Lane("flow", row, assumed)], END_S, WARM_UP_S)


def _measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """The rate delivered to the application, the sender's estimates, and losses by congestion."""
    flow = result.flows
    return {
        "rate": measures.rate_kbps(result, "flow"),
        "ler": measures.loss_event_rate(result, "flow"),
        "queue": 100 * float(flow["lost_queue"][0]) / float(flow["sent_packets"][0]),
        "late": beyond_schemes.late_share(flow),
    }


def _charts(sheet: Sheet) -> Charts:
    return {measures.RATE.key: curves(sheet, measures.RATE)}


def _item(reading: str) -> Item:
    return Item(
        key=f"beyond-rack-{reading}",
        title=f"A time after RACK instead of a buffer, {READINGS[reading]}",
        source="not in the paper",
        rows=ROUND_TRIPS,
        columns=list(DETECTIONS),
        metrics=METRICS,
        scenario=functools.partial(_scenario, reading=reading),
        measure=_measure,
        precision=Precision.exactly(5),
        quick=Quick(precision=Precision.exactly(3), rows=ROUND_TRIPS[::2]),
        is_drawn=False,
        charts=_charts,
        row_label="RTT in ms",
        column_label="Detection",
        note="The path of Figure 2. Of the fixed sizes, 12 without a timer is closest to the text's "
        f"buffer that is kept full. {beyond_schemes.ABOUT}",
    )


ITEMS = [_item(reading) for reading in READINGS]
