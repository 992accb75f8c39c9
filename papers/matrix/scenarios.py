"""Congestion controls for live media: each against each, on ten networks (ours)."""

from __future__ import annotations

from whimbrel.paper import Item, Paper, Quick
from whimbrel.papers.matrix import base_stations, causes, claims, recorded, wifi_today
from whimbrel.papers.matrix.measures import ALONE, METRICS, measure, pair
from whimbrel.papers.matrix.networks import DIFFERENTIATING, NETWORKS, scenario
from whimbrel.papers.matrix.schemes import (
    ALL,
    DIFFERENTIATION,
    LAWS,
    REPORT_INTERVALS,
    ROWS,
    SCHEMES,
)
from whimbrel.statistics import Precision

QUICK_SCHEMES = (
    "ccid2",
    "ccid3",
    "ccid248",
    "ccid254",
    "tcp-sack",
    "tcp-cubic",
    "tcp-prague",
    "gcc",
    "nada",
    "scream",
    "scream-l4s",
    "copa",
    "delay-aware",
    "delay-aware-l4s",
)
QUICK_COLUMNS = (ALONE, "tcp-sack", "tcp-cubic")
QUICK_NETWORKS = ("droptail", "dualpi2")
NOTE = (
    "60 s, of which the last 40 s are measured. The delay is that of packets in the network: TCP adds the "
    "time of retransmissions. Video: G.1070 for VGA on 6 inch at the rate and loss of the flow, without its "
    "delay."
)


def _item(key: str) -> Item:
    network = NETWORKS[key]
    return Item(
        key=key,
        title=f"Each congestion control beside each: {network.title}",
        source="ours",
        rows=[scheme.title for scheme in SCHEMES.values()],
        columns=[ALONE, *SCHEMES],
        metrics=METRICS,
        scenario=lambda row, column: scenario(key, *pair(row, column)),
        measure=measure,
        # Each run meets another part of a recording. Behind the deep queue shares vary most from run to run.
        precision=Precision.exactly(5 if network.file is None and key != "droptail" else 20),
        quick=Quick(
            precision=Precision.exactly(4),
            rows=[SCHEMES[key].title for key in QUICK_SCHEMES],
            columns=QUICK_COLUMNS,
            by_name=key not in QUICK_NETWORKS,
        ),
        is_drawn=False,
        row_label="Scheme",
        column_label="Beside",
        note=f"{network.about} {NOTE}",
    )


def _differentiation(key: str) -> Item:
    network = DIFFERENTIATING[key]
    return Item(
        key=key,
        title=f"CCID 3 with each loss differentiation: {network.title}",
        source="ours",
        rows=[ALL[name].title for name in DIFFERENTIATION],
        columns=[ALONE, "tcp-cubic", "ccid3"],
        metrics=METRICS,
        scenario=lambda row, column: scenario(key, *pair(row, column)),
        measure=measure,
        precision=Precision.exactly(20),
        quick=Quick(precision=Precision.exactly(3), columns=[ALONE], by_name=True),
        is_drawn=False,
        row_label="Scheme",
        column_label="Beside",
        note=f"{network.about} {NOTE}",
    )


REPORTS = Item(
    key="reports",
    title="Each law for media alone, by the time between reports: drop-tail queue",
    source="ours",
    rows=[SCHEMES[name].title for name in LAWS],
    columns=list(REPORT_INTERVALS),
    metrics=METRICS,
    scenario=lambda row, column: scenario("droptail", ROWS[row], None, column),
    measure=lambda result, row, _column: measure(result, row, ALONE),
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(3), by_name=True),
    is_drawn=False,
    row_label="Scheme",
    column_label="Time between reports",
    note=f"{NETWORKS['droptail'].about} {NOTE}",
)

PAPER = Paper(
    key="matrix",
    title="Congestion control for live media, each against each",
    authors="Whimbrel",
    year=None,
    about="Twenty-one congestion controls of DCCP, TCP and RTP media, each alone and beside each, on wired, "
    "wireless and recorded networks: share, loss, delay, variation and video quality. CCID 3 with each loss "
    "differentiation on a link that loses packets.",
    items=[
        *(_item(key) for key, network in NETWORKS.items() if recorded.is_there(network.file)),
        REPORTS,
        wifi_today.ITEM,
        base_stations.ITEM,
        *causes.ITEMS,
        *map(_differentiation, DIFFERENTIATING),
    ],
    claims=claims.CLAIMS,
    headline=["droptail"],
)
