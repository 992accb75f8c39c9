"""The mesh of Figure 10 with the signals of today: active queue management with ECN, an accelerating and braking
bit, XCP without a capacity (not in the paper)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from whimbrel.claims import Claim, Verdict, above, below
from whimbrel.paper import Item, Quick
from whimbrel.papers.winf.measures import METRICS, measure, over_rows
from whimbrel.papers.winf.topology import NS2, PACKET, SCHEMES, TCP_HEADERS, TIMESTAMPS, mesh
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet
from whimbrel.statistics import Precision

ROWS = ["3", "5", "7"]
SECONDS = 70.0
CODEL = {"kind": "codel", "ecn": True}
TODAY: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tcp-ecn": ({"discipline": CODEL}, {"transport": "tcp", "tcp": {"ecn": True, "min_rto": "200 ms"}}),
    "prague": (
        {"discipline": {"kind": "dualpi2"}},
        {"transport": "tcp", "tcp": {"congestion": "prague", "min_rto": "200 ms"}},
    ),
    "abc": ({"controller": {"law": "abc"}}, {"transport": "abc"}),
    "blind-xcp": ({"controller": {"law": "blind-xcp"}}, {"transport": "xcp"}),
}
"""Keys of the medium, and of a flow."""
COLUMNS = ["tcp", *TODAY, "xcp", "xcp-winf", "rcp", "rcp-winf"]
SHIM = {"tcp": 0, "tcp-ecn": 0, "prague": 0, "abc": 0, "blind-xcp": 20, "xcp": 20, "xcp-winf": 20, "rcp": 12, "rcp-winf": 12}
"""Bytes of the header for routers in each packet."""
FAIRNESS = [
    Metric("jain", "", "Jain's index of the goodput", 2),
    Metric(
        "distance",
        "%",
        "Distance from max-min",
        0,
        title="Goodput missing to the max-min rate, of flows below it, by that rate",
    ),
]


def scenario(row: str, column: str) -> Scenario:
    """The mesh of Figure 10, with other queues, laws and senders."""
    if column in SCHEMES:
        return mesh(column, 16, int(row), NS2, SECONDS)
    air, keys = TODAY[column]
    # Data in packets of 1500 bytes: the timestamps are those of all transports but the plain TCP.
    options = 0 if column == "tcp-ecn" or column == "prague" else TIMESTAMPS
    data = PACKET - TCP_HEADERS - SHIM[column] - options
    return mesh("tcp", 16, int(row), NS2, SECONDS, keys={**keys, "payload": f"{data} B"}, **air)


def fairness(result: Result) -> dict[str, float]:
    """Jain's index, and the distance from the max-min allocation of a medium that all flows share.

    A packet of a flow occupies the medium once for each hop. If rates x over h hops use the medium fully, all
    flows have the rate sum(x h) / sum(h) in the max-min allocation of the same use.
    """
    flows = result.flows
    rates = np.asarray(flows["goodput_bps"], dtype=float)
    hops = np.nan_to_num(np.asarray(flows["hops_mean"], dtype=float), nan=1.0)
    if rates.sum() == 0:
        return {"jain": math.nan, "distance": math.nan}
    fair = float((rates * hops).sum() / hops.sum())
    return {
        "jain": float(rates.sum() ** 2 / (rates.size * (rates**2).sum())),
        "distance": float(np.maximum(fair - rates, 0).mean() / fair * 100),
    }


ITEM = Item(
    key="signals",
    title="16 mesh nodes, mobile nodes with FTP: signals of today beside XCP and RCP, MAC of ns-2",
    source="not in the paper",
    rows=ROWS,
    columns=COLUMNS,
    metrics=[*METRICS, *FAIRNESS],
    scenario=scenario,
    measure=lambda result, _row, _column: measure(result) | fairness(result),
    precision=Precision.exactly(10),
    quick=Quick(precision=Precision.exactly(3), overrides=("simulation.duration=40 s",), rows=["5"], by_name=True),
    row_label="Mobile nodes",
    note="TCP with ECN over CoDel, Prague over DualPI2, ABC, XCP without a capacity, and the schemes of Figure 10.",
)
ITEMS = [ITEM]
