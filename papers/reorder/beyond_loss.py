"""The cost of real losses for an application that receives in order: packets behind one wait for D_max.

The path loses packets and does not reorder, so every wait is in vain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import beyond_paths, beyond_schemes
from whimbrel.papers.reorder.beyond_paths import END_S, WARM_UP_S, Path, Way
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

RATE_BPS, STREAM_BPS = 2e6, 5e5
WAY_MS = 68.0
"""With the two access links 70 ms."""
LOSSES = ("0.3", "1", "3")
"""Percent."""

COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "as it comes": {},
    "20 ms": {"reorder_delay": "20 ms"},
    "50 ms": {"reorder_delay": "50 ms"},
    "100 ms": {"reorder_delay": "100 ms"},
    "adaptive, 100 ms": {"reorder_delay": "100 ms", "reorder_adapts": True},
}
"""D_max; the last one adapts to the observed lateness, with 100 ms as its limit."""

METRICS = [
    Metric("p50", "ms", "Delay, median", 0),
    Metric("p95", "ms", "Delay, 95th percentile", 0),
    Metric("p99", "ms", "Delay, 99th percentile", 0),
    Metric("missing", "%", "Not delivered", 2),
]


def scenario(row: str, column: str) -> Scenario:
    """A stream of half a megabit per second over a path with random losses."""
    path = Path("", RATE_BPS, [Way(WAY_MS, loss=f"{row} %" if float(row) else None)], back_ms=WAY_MS)
    traffic = {"kind": "cbr", "rate": f"{STREAM_BPS / 1e3:g} kbit/s"}
    return Scenario(
        {
            "title": f"{row} % lost, D_max: {column}",
            "simulation": {"duration": f"{END_S:g} s", "warm_up": f"{WARM_UP_S:g} s"},
            **beyond_paths.network(path),
            "flow": [beyond_schemes.flow(COLUMNS[column], traffic=traffic)],
            "record": {"packets": True},
        }
    )


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """Delays of the delivered data, from the sender to the application."""
    rows = result.packets.where(flow="flow")
    sent = np.asarray(rows["sent_s"], dtype=np.float64)
    delivered = np.asarray(rows["received_s"], dtype=np.float64)
    inside = (sent >= WARM_UP_S) & (sent < END_S - 1)
    delay = 1e3 * (delivered - sent)[inside]
    missing = np.isnan(delay)
    p50, p95, p99 = np.percentile(delay[~missing], (50, 95, 99))
    return {"p50": float(p50), "p95": float(p95), "p99": float(p99), "missing": 100 * float(missing.mean())}


ITEM = Item(
    key="beyond-loss",
    title="Cost of ordering under real loss",
    source="not in the paper",
    rows=LOSSES,
    columns=list(COLUMNS),
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(1)),
    is_drawn=False,
    row_label="Lost, %",
    column_label="D_max",
    note=f"{STREAM_BPS / 1e3:g} kbit/s in packets of {beyond_schemes.PACKET} B over {RATE_BPS / 1e6:g} "
    f"Mbit/s and {WAY_MS + 2:g} ms, CCID 3. Nothing is reordered.",
)
