"""Figures 3 and 4 over the 802.11 MAC: a Mobile IPv6 node that walks past access routers.

In `fig3` and `fig4` the radio is a link that is down for a given time. Here the gap arises as in the paper's
simulation: the node leaves the range of its access router, notices that its beacons are missing, finds the
next one, associates, and renews its binding; until then its packets still go to the old router, and are lost.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import drawing, handovers, networks, schemes
from whimbrel.papers.freeze.moving import AFTER_CURVE_S, APART, CURVE, CURVE_STEP_S
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

RANGE_M = 400
"""Radius of the cells (Figure 2); they touch."""
BINDING_S = 2.5
"""Time of a Mobile IPv6 handover without the round trip of the binding update (Section 3.5), which the wired
delay adds."""
DELAY_MS = 20
"""One-way delay of the wired network: with the radio's, a round-trip time of about 50 ms (Table 3)."""
DEPARTURE_S = 40
"""Moment at which the node leaves its first access router."""
JITTER_S = 1.0
"""The start of the flow is drawn from this time, so that the gap begins at a random moment of its rounds."""
AFTER_S, AFTER_PER_S = 30.0, 2.0
"""Seconds of simulation after the new path is usable, and as many more for each second of the gap."""
ADJACENT_SPEED = 20.0
"""Speed in m/s among adjacent cells: 40 s in each. The paper gives none."""
CHANNELS = (1, 6, 11)
"""Of the access routers. On one channel, beacons of routers out of range of each other collide at the edge of
the cells, and some nodes associate twice."""
MACS = ("ns-2", "standard")

METRICS = [
    Metric("gap", "s", "Without a path", 2, "Time without a path"),
    Metric("restart", "s", "Until the first packet arrives", 2, "Time until the first packet arrives"),
    Metric("restored", "s", "Until the full rate", 2, "Time until the full rate"),
    Metric("full", "kbit/s", "Full rate", 0),
]


def _speed(gap_s: float) -> float:
    """The speed at which a cell that is switched off is crossed in that time."""
    return 2 * RANGE_M / gap_s


def scenario(row: str, scheme: str, *, is_adjacent: bool) -> Scenario:
    """The way from the first access router to the next one in operation. `row`: a MAC, or seconds apart."""
    mac = row if is_adjacent else MACS[0]
    speed = ADJACENT_SPEED if is_adjacent else _speed(float(row))
    routers = [RANGE_M, 3 * RANGE_M] if is_adjacent else [RANGE_M, 5 * RANGE_M]
    arrival_s = DEPARTURE_S + (routers[-1] - routers[0]) / speed
    gap_s = BINDING_S if is_adjacent else float(row)
    leave_s = DEPARTURE_S + RANGE_M / speed
    end_s = leave_s + gap_s + BINDING_S + AFTER_S + AFTER_PER_S * gap_s
    return _walk(f"{scheme}, {row}", mac, scheme, routers, arrival_s, end_s)


def _walk(
    title: str, mac: str, scheme: str, routers: Sequence[float], arrival_s: float, end_s: float
) -> Scenario:
    """A node that walks from the first of these access routers to the last one, and stays there."""
    flow = schemes.flow(scheme) | {"start_jitter": f"{JITTER_S:g} s"}
    return Scenario(
        {
            "title": title,
            "simulation": {"duration": f"{end_s:g} s"},
            "wifi": [
                {
                    "name": "air",
                    "standard": "802.11b",
                    "rate": "11 Mbit/s",
                    "mac": mac,
                    "distribution_delay": f"{BINDING_S} s",
                    "radio": {"range": f"{RANGE_M} m", "carrier_sense_range": "550 m"},
                }
            ],
            "node": [
                {"name": "sender"},
                {"name": "home"},
                *(
                    {
                        "name": f"router{i}",
                        "wifi": "air",
                        "position": [x, 0],
                        "access_point": {"ssid": "network", "channel": CHANNELS[i]},
                    }
                    for i, x in enumerate(routers)
                ),
                {
                    "name": "mobile",
                    "wifi": "air",
                    "client": {"ssid": "network", "channels": list(CHANNELS)},
                    "mobility": {
                        "kind": "waypoints",
                        "points": [
                            {"at": f"{DEPARTURE_S} s", "position": [routers[0], 0]},
                            {"at": f"{arrival_s:.6f} s", "position": [routers[-1], 0]},
                        ],
                    },
                },
            ],
            "link": [
                {
                    "name": "wire",
                    "between": ["sender", "home"],
                    "rate": "1 Gbit/s",
                    "delay": f"{DELAY_MS} ms",
                    "queue": "unlimited",
                },
                *(
                    {
                        "name": f"wire{i}",
                        "between": ["home", f"router{i}"],
                        "rate": "1 Gbit/s",
                        "queue": "unlimited",
                    }
                    for i in range(len(routers))
                ),
            ],
            "flow": [flow],
            "record": {"interval": "20 ms"},
        }
    )


def _usable(result: Result) -> Sequence[float]:
    """Moments at which a new address is usable: an association with another router, and the binding."""
    table = result["associations"]
    changed = np.asarray(table["from"]) != ""
    return [float(time) + BINDING_S for time in np.asarray(table["time_s"])[changed]]


def measure(result: Result, _row: str, _scheme: str) -> Mapping[str, float]:
    """The time without a path, and the time the sender took after it."""
    (usable,) = _usable(result)
    time = np.asarray(result.intervals["time_s"])
    rate = np.asarray(result.intervals["goodput_bps"]) / (8 * networks.PAYLOAD)
    full = float(rate[(time > DEPARTURE_S / 2) & (time <= DEPARTURE_S)].mean())
    last = time[(time < usable) & (rate > 0)][-1]
    arrived = time[(time > usable) & (rate > 0)]
    return {
        "gap": usable - float(last),
        "restart": float(arrived[0]) - usable if arrived.size else math.nan,
        "restored": handovers.restored(time - usable, rate, full, math.nan),
        "full": full * 8 * networks.PAYLOAD / 1e3,
    }


def _item(
    key: str, title: str, source: str, rows: Sequence[str], row_label: str, *, is_adjacent: bool
) -> Item:
    return Item(
        key=key,
        title=title,
        source=source,
        rows=rows,
        columns=(schemes.PAPERS[0], schemes.TIMER),
        metrics=METRICS,
        scenario=functools.partial(scenario, is_adjacent=is_adjacent),
        measure=measure,
        precision=Precision.exactly(10),
        quick=Quick(precision=Precision.exactly(2), rows=rows[:1]),
        row_label=row_label,
        note="Times from the moment that the new address is usable. Access routers 800 m apart (adjacent) or "
        f"1600 m, with {RANGE_M} m of range.",
    )


FIG3 = _item(
    "fig3-air",
    "Between adjacent access routers, over the 802.11 MAC",
    "Figure 3",
    MACS,
    "MAC",
    is_adjacent=True,
)
FIG4 = _item(
    "fig4-air",
    "Between access routers that are apart, over the 802.11 MAC of ns-2",
    "Figure 4",
    APART,
    "Seconds in the cell that is off",
    is_adjacent=False,
)


def _curve_scenario(_time: str, scheme: str, *, routers: Sequence[float]) -> Scenario:
    arrival_s = DEPARTURE_S + (routers[-1] - routers[0]) / ADJACENT_SPEED
    return _walk(
        f"{scheme} past access routers", MACS[0], scheme, routers, arrival_s, arrival_s + AFTER_CURVE_S
    )


def _curve(result: Result, time: str, _scheme: str) -> Mapping[str, float]:
    intervals = result.intervals
    middle = np.asarray(intervals["time_s"]) - 0.01
    inside = np.abs(middle - float(time)) < CURVE_STEP_S / 2
    return {"rate": float(np.asarray(intervals["goodput_bps"])[inside].mean()) / 1e3}


def _marks(routers: Sequence[float]) -> dict[str, float]:
    """The moments at which the node crosses the edge of a cell, by what happens then."""
    marks = {}
    for this, following in itertools.pairwise(routers):
        leaves, enters = (
            DEPARTURE_S + (edge - routers[0]) / ADJACENT_SPEED
            for edge in (this + RANGE_M, following - RANGE_M)
        )
        if leaves == enters:
            marks[f"next cell, {leaves:g} s"] = leaves
        else:
            marks |= {f"leaves the cell, {leaves:g} s": leaves, f"enters the next, {enters:g} s": enters}
    return marks


def _drawn(key: str, title: str, source: str, routers: Sequence[float]) -> Item:
    """The rate over time, as drawn in the paper: one run, from the beginning."""
    end = DEPARTURE_S + (routers[-1] - routers[0]) / ADJACENT_SPEED + AFTER_CURVE_S
    return Item(
        key=key,
        title=title,
        source=source,
        rows=tuple(f"{time:g}" for time in np.arange(CURVE_STEP_S / 2, end, CURVE_STEP_S)),
        columns=(schemes.PAPERS[0],),
        metrics=CURVE,
        scenario=functools.partial(_curve_scenario, routers=routers),
        measure=_curve,
        precision=Precision.exactly(1),
        quick=Quick(precision=Precision.exactly(1)),
        is_drawn=False,
        charts=functools.partial(drawing.over_time, marks=_marks(routers)),
        row_label="Time in s",
        note=f"{ADJACENT_SPEED:g} m/s past access routers at "
        f"{', '.join(f'{x - RANGE_M:g}' for x in routers)} m.",
    )


CURVES = (
    _drawn(
        "fig3-air-curve",
        "The rate on the way past adjacent access routers, over the 802.11 MAC",
        "Figure 3",
        (RANGE_M, 3 * RANGE_M, 5 * RANGE_M),
    ),
    _drawn(
        "fig4-air-curve",
        "The rate on the way between access routers that are apart, over the 802.11 MAC",
        "Figure 4",
        (RANGE_M, 5 * RANGE_M),
    ),
)
