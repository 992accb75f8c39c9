"""The stationary state on each network (Table 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import networks
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

FloatArray = npt.NDArray[np.float64]

COLUMNS = ("tfrc", "damped", "rfc")
"""TFRC as in ns-2's DCCP; the same with damping, which slows down while the round-trip time grows (RFC 5348,
Section 4.5); and TFRC by RFC 5348, without damping."""

DURATION_S: Mapping[str, int] = {"umts": 1000, "802.16": 400, "802.11b": 200, "802.11g": 160}
"""Simulated time; the second half is stationary."""

SMOOTHED_S = 10
"""Seconds over which the rate is averaged to find T_stat."""
WITHIN = 0.05
"""Largest deviation from the mean of the second half from T_stat on, as a part of it."""

METRICS = [
    Metric("rate", "MB/s", "X_recv", 3),
    Metric("rtt", "s", "R", 3),
    Metric("stationary", "s", "T_stat", 1),
    Metric("loss_event_rate", "", "p", 7),
]


def scenario(row: str, column: str) -> Scenario:
    """One flow alone on one network."""
    flow = networks.flow()
    flow["dccp"]["oscillation_damping"] = column == "damped"
    if column == "rfc":
        flow["dccp"] |= networks.RFC
    duration = DURATION_S[row]
    return Scenario(
        {
            "title": f"{column} alone on {row}",
            "simulation": {"duration": f"{duration} s", "warm_up": f"{duration / 2:g} s"},
            **networks.path(row),
            "flow": [flow],
            "record": {"interval": "1 s"},
        }
    )


def settled(time: FloatArray, rate: FloatArray, final: float) -> float:
    """Time from which a smoothed rate stays near its final value, in seconds; NaN if never.

    Args:
        time: ends of intervals of a second each.
        rate: in each.
        final: the value.
    """
    smooth = np.convolve(rate, np.ones(SMOOTHED_S) / SMOOTHED_S, mode="valid")
    off = np.flatnonzero(np.abs(smooth - final) > WITHIN * final)
    if off.size == 0:
        return float(time[0])
    return float(time[off[-1] + 1]) if off[-1] + 1 < smooth.size else math.nan


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """Means over the second half, and the time at which they were reached."""
    flow, intervals = result.flows, result.intervals
    rate = float(flow["goodput_bps"][0])
    return {
        "rate": rate / 8e6,
        "rtt": float(flow["rtt_mean_s"][0]),
        "stationary": settled(np.asarray(intervals["time_s"]), np.asarray(intervals["goodput_bps"]), rate),
        "loss_event_rate": float(flow["loss_event_rate_mean"][0]),
    }


ITEM = Item(
    key="table3",
    title="The stationary state on each network",
    source="Table 3",
    rows=networks.NETWORKS,
    columns=COLUMNS,
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(1), columns=("tfrc", "rfc")),
    is_drawn=False,
    row_label="Network",
    note=f"T_stat: time from which the mean over {SMOOTHED_S} s stays within {WITHIN:.0%} of the "
    "second half's.",
)
