"""Comparison of restart rules on wider, equal and narrower networks (not in the paper).

A stream of 1 Mbit/s moves from 4 Mbit/s and 20 ms after a gap of a second to networks of other rates and
delays, with short and long queues. The sender is frozen in time. The result is the share of the stream that
arrives, of that which the new network could carry, in the first ten seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

COLUMNS = ("tfrc", "freeze", "authors", "following", "half", "careful")
"""TFRC without notice; Freeze by the paper's rule, by its authors' code, and until the receive rate no longer
follows; the last with at most half of the rate restored; Careful Resume."""

RULES: Mapping[str, Mapping[str, str]] = {
    "freeze": {"restart": "loss-rate"},
    "authors": {"restart": "authors-code"},
    "following": {"restart": "following"},
    "half": {"restart": "following", "restore_share": "50 %"},
    "careful": {"restart": "careful-resume"},
}

OLD = (4000.0, 10.0)
"""Rate in kbit/s, and delay of one direction in ms."""
NETWORKS: Mapping[str, tuple[float, float]] = {
    "6 Mbit/s": (6000, 25),
    "4 Mbit/s": (4000, 10),
    "2.5 Mbit/s": (2500, 25),
    "1 Mbit/s": (1000, 25),
    "600 kbit/s": (600, 25),
    "300 kbit/s": (300, 50),
}
QUEUES = (13, 25, 50)
"""Packets."""
WITH = ", queue "
ROWS = tuple(f"{network}{WITH}{queue}" for network in NETWORKS for queue in QUEUES)

STREAM_KBPS = 1000.0
PAYLOAD, HEADERS = 1200, 44
"""Bytes of data in a packet, and of headers with the sender's round-trip time (RFC 6323)."""
BEFORE_S, GAP_S, AFTER_S = 8.0, 1.0, 10.0
LEAD_MS = 40
GRAIN_S = 0.05

METRICS = [
    Metric("delivered", "%", f"Of what could arrive in {AFTER_S:g} s"),
    Metric("least", "%", "The same in the worst second"),
    Metric("lost", "packets", "Lost after the gap", 0),
]


def scenario(row: str, column: str) -> Scenario:
    """The stream, and its handover."""
    network, queue = row.split(WITH)
    kbps, delay_ms = NETWORKS[network]
    flow: dict[str, Any] = {
        "name": "flow",
        "from": "sender",
        "to": "mobile",
        "transport": "dccp",
        "ccid": 3,
        "payload": f"{PAYLOAD} B",
        "traffic": {"kind": "cbr", "rate": f"{STREAM_KBPS * (PAYLOAD + HEADERS) / PAYLOAD:g} kbit/s"},
        "start_jitter": "500 ms",
        "dccp": {
            "ecn": False,
            "initial_window": "rfc3390",
            "sequence_window": 10_000,
            "rtt_estimate": True,
            "send_queue": 8,
        },
    }
    handover: dict[str, Any] = {
        "time": f"{BEFORE_S:g} s",
        "jitter": "500 ms",
        "link": "radio",
        "duration": f"{GAP_S:g} s",
        "rate": f"{kbps:g} kbit/s",
        "delay": f"{delay_ms:g} ms",
    }
    if column in RULES:
        flow["dccp"]["freeze"] = dict(RULES[column])
        handover["freeze"] = {"flows": ["flow"], "lead": f"{LEAD_MS} ms", "lag": "0.1 ms"}
    return Scenario(
        {
            "title": f"{column} comes to {row}",
            "simulation": {"duration": f"{BEFORE_S + GAP_S + AFTER_S + 1:g} s"},
            "node": [{"name": "sender"}, {"name": "router"}, {"name": "mobile"}],
            "link": [
                {"name": "wire", "between": ["sender", "router"], "rate": "1 Gbit/s", "queue": "unlimited"},
                {
                    "name": "radio",
                    "between": ["router", "mobile"],
                    "rate": f"{OLD[0]:g} kbit/s",
                    "delay": f"{OLD[1]:g} ms",
                    "queue": f"{queue} packets",
                },
            ],
            "flow": [flow],
            "handover": [handover],
            "record": {"interval": f"{1e3 * GRAIN_S:g} ms"},
        }
    )


def measure(result: Result, row: str, _column: str) -> Mapping[str, float]:
    """The share that arrived, of what could arrive."""
    kbps = NETWORKS[row.split(WITH)[0]][0]
    possible = min(STREAM_KBPS, kbps * PAYLOAD / (PAYLOAD + HEADERS))
    intervals = result.intervals
    time = np.asarray(intervals["time_s"]) - float(result["handovers"]["up_s"][0])
    inside = (time > 0) & (time <= AFTER_S)
    rate = np.asarray(intervals["goodput_bps"])[inside] / 1e3
    second = round(1 / GRAIN_S)
    means = np.convolve(rate, np.ones(second) / second, mode="valid")
    return {
        "delivered": 100 * float(rate.mean()) / possible,
        "least": 100 * float(means.min()) / possible,
        "lost": float(np.asarray(intervals["lost_queue"])[inside].sum()),
    }


ITEM = Item(
    key="restart-rules",
    title="A stream of 1 Mbit/s moves from 4 Mbit/s to other networks",
    source="not in the paper",
    rows=ROWS,
    columns=COLUMNS,
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(8),
    quick=Quick(precision=Precision.exactly(2), rows=[row for row in ROWS if row.endswith("25")]),
    is_drawn=False,
    row_label="New network",
    note="Delays of one direction: 10 ms on the old network, 25 ms on the new ones, 10 ms on that of 4 "
    "Mbit/s and 50 ms on that of 300 kbit/s. Queues in packets.",
)
