"""A greedy stream moves from 2 Mbit/s to 6 Mbit/s after three seconds without a path (not in the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "tfrc": {},
    "freeze": {"freeze": {"restart": "loss-rate"}},
    "following": {"freeze": {"restart": "following"}},
    "careful": {"freeze": {"restart": "careful-resume"}},
    "silence": {"freeze": {"silence_in_rtt": 4}},
}
"""Without notice; frozen, by rule; without notice, with a silence of four round-trip times taken for an
outage."""

SPANS = {"at_once": (0.0, 0.5), "soon": (0.5, 2.0), "later": (2.0, 7.0)}
"""Seconds after the reconnection."""

BEFORE_S, JITTER_S, GAP_S, AFTER_S = 60.0, 2.0, 3.0, 7.0


def scenario(_row: str, column: str) -> Scenario:
    """One handover at a random moment."""
    handover: dict[str, Any] = {
        "time": f"{BEFORE_S:g} s",
        "jitter": f"{JITTER_S:g} s",
        "link": "access",
        "duration": f"{GAP_S:g} s",
        "rate": "6 Mbit/s",
    }
    if column not in ("tfrc", "silence"):
        handover["freeze"] = {"flows": ["stream"], "lead": "200 ms", "lag": "0.1 ms"}
    return Scenario(
        {
            "title": f"{column} comes to a wider path",
            "simulation": {"duration": f"{BEFORE_S + JITTER_S + GAP_S + AFTER_S + 1:g} s"},
            "node": [{"name": "server"}, {"name": "phone"}],
            "link": [
                {
                    "name": "access",
                    "between": ["server", "phone"],
                    "rate": "2 Mbit/s",
                    "delay": "25 ms",
                    "queue": "25 packets",
                }
            ],
            "flow": [
                {
                    "name": "stream",
                    "from": "server",
                    "to": "phone",
                    "transport": "dccp",
                    "payload": "1000 B",
                    "dccp": {"initial_window": "rfc3390", **COLUMNS[column]},
                }
            ],
            "handover": [handover],
            "record": {"interval": "50 ms"},
        }
    )


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """The losses in the gap, and the goodput after it."""
    time = np.asarray(result.intervals["time_s"]) - float(result["handovers"]["up_s"][0])
    rate = np.asarray(result.intervals["goodput_bps"]) / 1e6
    spans = {key: float(rate[(time > low) & (time <= high)].mean()) for key, (low, high) in SPANS.items()}
    return {"lost": float(result.flows["lost_down"][0]), **spans}


ITEM = Item(
    key="wider",
    title="A greedy stream moves from 2 to 6 Mbit/s",
    source="not in the paper",
    rows=("2 to 6 Mbit/s",),
    columns=list(COLUMNS),
    metrics=[
        Metric("lost", "packets", "Lost in the gap", 0),
        *(Metric(key, "Mbit/s", f"{low:g} to {high:g} s after it") for key, (low, high) in SPANS.items()),
    ],
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(8),
    quick=Quick(precision=Precision.exactly(1)),
    is_drawn=False,
    note=f"50 ms of round-trip time, a queue of 25 packets, {GAP_S:g} s without a path. By the RFCs, with "
    "Whimbrel's defaults.",
)
