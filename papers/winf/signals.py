"""The mesh of Figure 10 with signals of today (not in the paper).

Active queue management with ECN, an accelerating and braking bit, and XCP without a capacity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from whimbrel.claims import Claim, Verdict, above, below
from whimbrel.paper import Item, Quick
from whimbrel.papers.winf.measures import METRICS, NAMES, compared, measure, once, over_rows
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
BLIND_HEADER = 20
"""Bytes of XCP's header; ABC uses a bit of the IP header."""
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
    # Data in packets of 1500 bytes. Explicit transports have timestamps.
    options = 0 if keys["transport"] == "tcp" else TIMESTAMPS
    data = PACKET - TCP_HEADERS - options - (BLIND_HEADER if keys["transport"] == "xcp" else 0)
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
    quick=Quick(
        precision=Precision.exactly(3),
        overrides=("simulation.duration=40 s",),
        rows=["5"],
    ),
    row_label="Mobile nodes",
    note="TCP with ECN over CoDel, Prague over DualPI2, ABC, XCP without a capacity; Figure 10's schemes.",
)
ASSUMED = Item(
    key="abc-capacity",
    title="5 mobile nodes with FTP, ABC with a given capacity, MAC of ns-2",
    source="not in the paper",
    rows=["0.5", "1", "2", "4.5", "11"],
    columns=["abc"],
    metrics=METRICS,
    scenario=lambda row, _column: mesh(
        "tcp",
        16,
        5,
        NS2,
        SECONDS,
        keys={"transport": "abc", "payload": f"{PACKET - TCP_HEADERS - TIMESTAMPS} B"},
        controller={"law": "abc", "capacity": f"{row} Mbit/s"},
    ),
    measure=lambda result, _row, _column: measure(result),
    precision=Precision.exactly(10),
    quick=Quick(precision=Precision.exactly(3), overrides=("simulation.duration=40 s",), by_name=True),
    row_label="Capacity, Mbit/s",
)
ITEMS = [ITEM, ASSUMED]


def _fairness(metric: str, a: str, b: str, sentence: str) -> Claim:
    def check(sheets: Mapping[str, Sheet]) -> Verdict:
        first, second = (over_rows(sheets[ITEM.key], column, metric) for column in (a, b))
        return above(first, second)

    return Claim(f"signals-{metric}-{a}-{b}", sentence.format(a=NAMES[a], b=NAMES[b]), (ITEM.key,), check)


def _abc_losses(sheets: Mapping[str, Sheet]) -> Verdict:
    value = sheets[ASSUMED.key].value
    return below(value("abc", "lost", row="1"), value("abc", "lost", row="11"))


CLAIMS = [
    once(claim)
    for claim in (
        *(compared(ITEM.key, "delay", a, "tcp") for a in ("prague", "tcp-ecn", "blind-xcp")),
        compared(ITEM.key, "delay", "prague", "blind-xcp"),
        *(compared(ITEM.key, "goodput", a, "xcp-winf") for a in ("prague", "blind-xcp", "abc")),
        *(compared(ITEM.key, "lost", a, "xcp-winf") for a in ("prague", "blind-xcp", "abc")),
        _fairness("jain", "rcp-winf", "tcp", "Jain's index of {a} is above that of {b}."),
        _fairness("jain", "xcp-winf", "tcp", "Jain's index of {a} is above that of {b}."),
        _fairness("distance", "rcp", "tcp", "{a} is farther from max-min than {b}."),
        Claim(
            "abc-capacity-lost",
            "ABC loses a smaller share of the packets with a given capacity of 1 Mbit/s than with 11 Mbit/s.",
            (ASSUMED.key,),
            _abc_losses,
        ),
    )
]
