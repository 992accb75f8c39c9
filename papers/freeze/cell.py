"""A terminal that moves between cells of LTE and NR, instead of steps of a link's rate.

The gaps last some ten milliseconds, the old cell serves while a handover is prepared, and a queue is in front
of the radio. The terminal receives, and the notice of its modem freezes the sender. Shadows, fades and
downloads of others differ with the run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import networks, schemes
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

FloatArray = npt.NDArray[np.float64]

COLUMNS = (*schemes.PAPERS, "following", "careful")
PRESETS = {"LTE": "lte", "NR": "nr"}
FORWARDED, DROPPED, HOLE = "forwarded", "dropped", "a hole"
"""The fate of the old cell's queue; and a road with a stretch beyond all cells."""
ROWS = tuple(f"{network}, {change}" for network in PRESETS for change in (FORWARDED, DROPPED, HOLE))

SPACING_M, ASIDE_M, SPEED = 500.0, 30.0, 60 / 3.6
SITES, HOLE_SITES = 4, 2
HOLE_M = 1500.0
"""Between the base stations at both ends of a hole."""
HOLE_POWER = "16 dBm"
BACKGROUND = {"users": 4, "rate": "1 Mbit/s"}
QUEUE = "200 kB"
"""Of a bearer. With megabytes no TFRC flow of this length sees the end of its slow start."""
START_JITTER_S = 2.0
SPANS = {"at_once": (0.0, 0.5), "soon": (0.5, 2.0), "later": (2.0, 7.0)}
"""Seconds after a gap."""
BEFORE_S = 2.0
GRAIN_S = 0.05

METRICS = [
    Metric("gap", "ms", "Without a cell", 0, "Mean time without a cell"),
    Metric("lost", "packets", "Lost in it", 1, "Packets lost in a change of the cell"),
    Metric("before", "Mbit/s", "Goodput before it", 1),
    *(Metric(key, "Mbit/s", f"{low:g} to {high:g} s after it", 1) for key, (low, high) in SPANS.items()),
    Metric("delay", "ms", "Delay, p95", 0, "Delay of the packets, 95th percentile"),
]


def _flow(scheme: str) -> dict[str, Any]:
    made = networks.flow()
    made["dccp"] |= networks.RFC
    if scheme in schemes.RESTART:
        made["dccp"]["freeze"] = dict(schemes.RESTART[scheme]) | {"follows_station": True}
    return made | {"start": "1 s", "start_jitter": f"{START_JITTER_S:g} s"}


def scenario(row: str, scheme: str) -> Scenario:
    """A greedy flow to a car that passes base stations."""
    network, change = row.split(", ")
    is_hole = change == HOLE
    count, spacing = (HOLE_SITES, HOLE_M) if is_hole else (SITES, SPACING_M)
    cells = []
    for number in range(count):
        cell: dict[str, Any] = {
            "name": f"cell{number}",
            "gateway": "operator",
            "preset": PRESETS[network],
            "position": [number * spacing, 0],
            "queue": {"limit": QUEUE},
            "background": BACKGROUND,
        }
        if is_hole:
            cell["radio"] = {"power": HOLE_POWER}
        cells.append(cell)
    road = (count - 1) * spacing
    seconds = math.ceil(road / SPEED)
    way = [{"at": f"{at} s", "position": [x, ASIDE_M]} for at, x in ((0, 0.0), (seconds, road))]
    return Scenario(
        {
            "title": f"{scheme}, {row}",
            "simulation": {"duration": f"{seconds} s"},
            "node": [
                {"name": "sender"},
                {"name": "operator", "gateway": {"handover": {"forwarding": change != DROPPED}}},
                {"name": "mobile", "cell": "cell0", "mobility": {"kind": "waypoints", "points": way}},
            ],
            "cell": cells,
            "link": [
                {
                    "name": "wire",
                    "between": ["sender", "operator"],
                    "rate": "1 Gbit/s",
                    "delay": "10 ms",
                    "queue": "unlimited",
                }
            ],
            "flow": [_flow(scheme)],
            "record": {"interval": f"{GRAIN_S:g} s", "losses": True},
        }
    )


def measure(result: Result, _row: str, _scheme: str) -> Mapping[str, float]:
    """Means over the times without a cell of a run."""
    changes = result["cell_changes"]
    starts, ends = (np.asarray(changes[key], dtype=np.float64) for key in ("time_s", "until_s"))
    kept = np.isfinite(ends)
    starts, ends = starts[kept], ends[kept]
    time = np.asarray(result.intervals["time_s"]) - GRAIN_S / 2
    rate = np.asarray(result.intervals["goodput_bps"]) / 1e6
    causes = np.asarray(result["losses"]["cause"])

    def mean(begins: FloatArray, low: float, high: float) -> float:
        """The mean goodput in that span after each of some moments."""
        found = [rate[(time > at + low) & (time < at + high)] for at in begins]
        values = np.concatenate(found) if found else np.empty(0)
        return float(values.mean()) if values.size else math.nan

    number = max(1, starts.size)
    return {
        "gap": 1e3 * float((ends - starts).mean()) if starts.size else math.nan,
        "lost": float(np.count_nonzero(causes == "handover")) / number,
        "before": mean(starts, -BEFORE_S, 0.0),
        **{key: mean(ends, low, high) for key, (low, high) in SPANS.items()},
        "delay": 1e3 * float(result.flows["delay_p95_s"][0]),
    }


ITEM = Item(
    key="cell",
    title="A greedy stream to a car that passes cells",
    source="not in the paper",
    rows=ROWS,
    columns=COLUMNS,
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(8),
    quick=Quick(precision=Precision.exactly(2), columns=schemes.PAPERS, by_name=True),
    is_drawn=False,
    row_label="Cells, and what happens between them",
    note=f"{SITES} base stations at {SPACING_M:g} m, {BACKGROUND['users']} others of {BACKGROUND['rate']} in "
    f"each cell, {QUEUE} of queue, 60 km/h. A hole: two base stations of {HOLE_POWER}, {HOLE_M:g} m apart.",
)
