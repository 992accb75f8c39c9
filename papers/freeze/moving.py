"""A node that moves in and out of coverage (Figures 3 and 4): an 802.11b link that is down for a time."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import drawing, handovers, networks, schemes
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

NETWORK = "802.11b"
START_S = 40
JITTER_S = 5
AFTER_S, AFTER_PER_S = 30.0, 2.0
"""Seconds of simulation after a gap, and as many more for each second of it: TFRC is back after little more
than its length."""

ADJACENT = ("2.55",)
"""Seconds between adjacent networks: a Mobile IPv6 handover."""
APART = ("10", "20", "40", "60", "100")
"""Seconds between networks that are apart; the paper does not give the node's speed."""

METRICS = [
    Metric("restart", "s", "Until the first packet arrives", 2, "Time until the first packet arrives"),
    Metric("restored", "s", "Until the full rate", 2, "Time until the full rate"),
    Metric("lost", "packets", "Lost in the gap", 0, "Packets lost in the gap"),
]


def scenario(gap: str, scheme: str) -> Scenario:
    """One gap between two networks of the same kind."""
    after_s = float(gap) + AFTER_S + AFTER_PER_S * float(gap)
    return Scenario(
        {
            "title": f"{scheme}, {gap} s out of coverage",
            "simulation": {"duration": f"{START_S + JITTER_S + after_s:g} s"},
            **networks.path(NETWORK),
            "flow": [schemes.flow(scheme)],
            "handover": [
                networks.handover(START_S, JITTER_S, f"{gap} s", NETWORK) | schemes.warned(scheme, NETWORK)
            ],
            "record": {"interval": "20 ms"},
        }
    )


def measure(result: Result, _gap: str, _scheme: str) -> Mapping[str, float]:
    """The time the sender took."""
    time, rate = handovers.received(result)
    full = networks.packets_per_second(NETWORK)
    arrived = np.flatnonzero((time > 0) & (rate > 0))
    return {
        "restart": float(time[arrived[0]]) if arrived.size else math.nan,
        "restored": handovers.restored(time, rate, full, math.nan),
        "lost": float(result.flows["lost_down"][0]),
    }


VISIT_S = 40.0
"""Seconds in the coverage of each access router: 800 m at 20 m/s. The paper gives no speed."""
BINDING_S = 2.55
"""Seconds without a path between adjacent ones: 2.5 s and the round-trip time (Section 3.5)."""
CURVE_STEP_S = 1.0
AFTER_CURVE_S = 100.0
CURVE = [Metric("rate", "kbit/s", "Rate at the receiver", 0)]


def _gaps(*, is_adjacent: bool) -> tuple[tuple[float, float], ...]:
    """Intervals without a path on the node's way through three cells, or two if the middle one is off."""
    middle = (VISIT_S, VISIT_S + BINDING_S)
    if is_adjacent:
        return (middle, (middle[1] + VISIT_S, middle[1] + VISIT_S + BINDING_S))
    return ((VISIT_S, 2 * VISIT_S + 2 * BINDING_S),)


def _curve_scenario(_time: str, scheme: str, *, gaps: Sequence[tuple[float, float]]) -> Scenario:
    """The whole way, from the start in the first cell to `AFTER_CURVE_S` after the last gap."""
    return Scenario(
        {
            "title": f"{scheme} through cells",
            "simulation": {"duration": f"{gaps[-1][1] + AFTER_CURVE_S:g} s"},
            **networks.path(NETWORK),
            "flow": [schemes.flow(scheme)],
            "handover": [
                networks.handover(down, 0, f"{up - down:.6f} s", NETWORK) | schemes.warned(scheme, NETWORK)
                for down, up in gaps
            ],
            "record": {"interval": "100 ms"},
        }
    )


def _curve(result: Result, time: str, _scheme: str) -> Mapping[str, float]:
    intervals = result.intervals
    middle = np.asarray(intervals["time_s"]) - 0.05
    inside = np.abs(middle - float(time)) < CURVE_STEP_S / 2
    return {"rate": float(np.asarray(intervals["goodput_bps"])[inside].mean()) / 1e3}


def curve(key: str, title: str, source: str, columns: Sequence[str], *, is_adjacent: bool) -> Item:
    """The rate over time, as drawn in the paper: one run, from the beginning."""
    gaps = _gaps(is_adjacent=is_adjacent)
    end = gaps[-1][1] + AFTER_CURVE_S
    marks = {f"usable again, {up:g} s": up for _, up in gaps}
    return Item(
        key=key,
        title=title,
        source=source,
        rows=tuple(f"{time:g}" for time in np.arange(CURVE_STEP_S / 2, end, CURVE_STEP_S)),
        columns=columns,
        metrics=CURVE,
        scenario=functools.partial(_curve_scenario, gaps=gaps),
        measure=_curve,
        precision=Precision.exactly(1),
        quick=Quick(precision=Precision.exactly(1)),
        is_random=False,
        is_drawn=False,
        charts=functools.partial(drawing.over_time, marks=marks),
        row_label="Time in s",
        note=f"{VISIT_S:g} s in each cell, {BINDING_S:g} s between adjacent ones.",
    )


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
        quick=Quick(precision=Precision.exactly(2 if len(rows) > 1 else 7), rows=rows[:3]),
        row_label="Gap in s",
        note="Times from the moment that the new network is usable; the gap begins at a random moment.",
    )
