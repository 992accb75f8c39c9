"""The effect of reordering on CCID 3 (Table I), and of the open choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import measures, topology
from whimbrel.papers.reorder.topology import DELAYED, USUAL, Assumed, Lane
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

ROWS = ("50", "100", "200", "300", "400")
"""Round-trip times in ms."""

_FIRST = {"loss_detection": "first-packet"}

LANES: Mapping[str, Assumed] = {
    "delayed": DELAYED,
    "netem": USUAL,
    "in-order": replace(DELAYED, reordered=0.0),
    "forgiven": replace(DELAYED, forgive_late=True),
    "delayed-first": replace(DELAYED, dccp=_FIRST),
    "netem-first": replace(USUAL, dccp=_FIRST),
}
"""The default reading of the reordering and the other one, the path without it, the default reading with
RFC 5348's forgiveness of late packets, and both with one later packet as the proof of a loss."""

DURATION_S = 640
WARM_UP_S = 40
QUICK = ("simulation.duration=240 s",)

METRICS = [measures.RATE, measures.LER, measures.RTT]

CHOICES: Mapping[str, Assumed] = {
    "netem": USUAL,
    "500 B": replace(USUAL, payload=500),
    "1000 B": replace(USUAL, payload=1000),
    "1460 B": replace(USUAL, payload=1460),
    "normal": replace(USUAL, distribution="normal"),
    "pareto": replace(USUAL, distribution="pareto"),
    "without jitter": replace(USUAL, reading="ahead"),
    "delayed": replace(USUAL, reading="delayed"),
    "delayed, 500 B": replace(USUAL, reading="delayed", payload=500),
    "delayed, 900 B": DELAYED,
    "delayed, 1000 B": replace(USUAL, reading="delayed", payload=1000),
    "delayed, 1460 B": replace(USUAL, reading="delayed", payload=1460),
    "delayed, normal": replace(USUAL, reading="delayed", distribution="normal"),
    "one later packet": replace(USUAL, dccp=_FIRST),
    "delayed, one later packet": replace(USUAL, reading="delayed", dccp=_FIRST),
    "delayed, 500 B, one later packet": replace(USUAL, reading="delayed", payload=500, dccp=_FIRST),
    "delayed, 1460 B, one later packet": replace(USUAL, reading="delayed", payload=1460, dccp=_FIRST),
    "queue of 10": replace(USUAL, queue=10),
    "queue of 200": replace(USUAL, queue=200),
    "damped": replace(USUAL, dccp={"oscillation_damping": True}),
}
"""One open choice after the other."""

SHARES = ("1", "2", "5", "10", "20")
"""Percent of packets that are delayed."""
SHARES_RTT = "100"
SHARE_LANES = ("delayed", "netem", "forgiven", "delayed-first", "netem-first")


def _scenario(row: str, _column: str) -> Scenario:
    lanes = [Lane(name, row, assumed) for name, assumed in LANES.items()]
    return topology.scenario(f"Table I at {row} ms", lanes, DURATION_S, WARM_UP_S)


def _measure(result: Result, _row: str, column: str) -> Mapping[str, float]:
    return measures.seen(result, column)


def _choice_scenario(row: str, column: str) -> Scenario:
    lanes = [Lane("flow", column, CHOICES[row])]
    return topology.scenario(f"Table I at {column} ms, {row}", lanes, DURATION_S, WARM_UP_S)


def _only(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    return measures.seen(result, "flow")


def _share_scenario(row: str, _column: str) -> Scenario:
    lanes = [Lane(name, SHARES_RTT, replace(LANES[name], reordered=float(row) / 100)) for name in SHARE_LANES]
    return topology.scenario(f"{row} % reordered", lanes, DURATION_S, WARM_UP_S)


TABLE = Item(
    key="table1",
    title="CCID 3 over a path that reorders 5 % of its packets",
    source="Table I",
    rows=ROWS,
    columns=tuple(LANES),
    metrics=METRICS,
    scenario=_scenario,
    measure=_measure,
    precision=Precision.exactly(10),
    quick=Quick(precision=Precision.exactly(3), overrides=QUICK),
    row_label="RTT in ms",
    column_label="Path",
    note=f"delayed: 5 % of the packets wait, of {DELAYED.payload} bytes of data; netem: all wait but 5 %, of "
    f"{USUAL.payload} bytes. The paper does not state the size: both are fitted to the table's own numbers "
    "by equation (1), see README.md. Late packets stay lost, except in `forgiven`, which is delayed with "
    "RFC 5348, Section 5.1. `-first`: one later packet, not three, proves a loss.",
)

SENSITIVITY = Item(
    key="table1-choices",
    title="Effect of the open choices of Table I",
    source="not in the paper",
    rows=tuple(CHOICES),
    columns=ROWS,
    metrics=METRICS,
    scenario=_choice_scenario,
    measure=_only,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(1), overrides=QUICK, columns=("100", "300")),
    is_drawn=False,
    row_label="Choice",
    column_label="RTT in ms",
    note="Packets of 700 B, all waiting a random time but 5 %, unless the choice states otherwise; "
    "one later packet, not three, proves a loss if stated.",
)

SHARE = Item(
    key="table1-share",
    title=f"Increasing shares of reordered packets, at a round-trip time of {SHARES_RTT} ms",
    source="Section II",
    rows=SHARES,
    columns=SHARE_LANES,
    metrics=METRICS,
    scenario=_share_scenario,
    measure=_measure,
    precision=Precision.exactly(10),
    quick=Quick(precision=Precision.exactly(3), overrides=QUICK, rows=("1", "5", "20")),
    row_label="Packets apart in %",
    column_label="Path",
)

ITEMS = [TABLE, SENSITIVITY, SHARE]
