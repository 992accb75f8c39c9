"""A node that moves in and out of coverage (Figures 3 and 4): an 802.11b link that is away for a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import handovers, networks, schemes
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

NETWORK = "802.11b"
START_S = 40
JITTER_S = 5
AFTER_S = 150
"""Seconds of simulation after the longest gap."""

ADJACENT = ("2.55",)
"""Seconds between adjacent networks: a Mobile IPv6 handover."""
APART = ("10", "20", "40", "60", "100")
"""Seconds between networks that are apart; the paper does not give the node's speed."""

METRICS = [
    Metric("restart", "s", "Until the first packet arrives", 2),
    Metric("restored", "s", "Until the full rate", 2),
    Metric("lost", "packets", "Lost in the gap", 0),
]


def scenario(gap: str, scheme: str) -> Scenario:
    """One gap between two networks of the same kind."""
    return Scenario(
        {
            "title": f"{scheme}, {gap} s out of coverage",
            "simulation": {"duration": f"{START_S + JITTER_S + float(gap) + AFTER_S:g} s"},
            **networks.path(NETWORK),
            "flow": [schemes.flow(scheme)],
            "handover": [
                networks.handover(START_S, JITTER_S, f"{gap} s", NETWORK) | schemes.warned(scheme, NETWORK)
            ],
            "record": {"interval": "20 ms"},
        }
    )


def measure(result: Result, _gap: str, _scheme: str) -> Mapping[str, float]:
    """How long the sender took."""
    time, rate = handovers.received(result)
    full = networks.packets_per_second(NETWORK)
    arrived = np.flatnonzero((time > 0) & (rate > 0))
    return {
        "restart": float(time[arrived[0]]) if arrived.size else math.nan,
        "restored": handovers.first_full(time, rate, full, math.nan),
        "lost": float(result.flows["lost_down"][0]),
    }


def item(key: str, title: str, source: str, rows: Sequence[str], columns: Sequence[str]) -> Item:
    """Gaps of several lengths."""
    return Item(
        key=key,
        title=title,
        source=source,
        rows=rows,
        columns=columns,
        metrics=METRICS,
        scenario=scenario,
        measure=measure,
        precision=Precision.exactly(10),
        quick=Quick(precision=Precision.exactly(4), rows=rows[:3]),
        row_label="Gap in s",
        note="Times from the moment that the new network is usable; the gap begins at a random moment.",
    )
