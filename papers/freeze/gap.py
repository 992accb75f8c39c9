"""The model compared with the simulation during a disconnection (Figure 6)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

import whimbrel
from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import networks
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import POSITIVE, UNBOUNDED, Metric
from whimbrel.statistics import Precision

FloatArray = npt.NDArray[np.float64]

ROUND_TRIPS_MS = ("1", "2", "5", "10", "20", "50", "100")
"""Round-trip times without queueing (Section 3.4: "a range of delays (1-100 ms)")."""
RATES = ("10", "54", "100")
"""Capacities in Mbit/s."""
GAP_S = 60
"""Length of the disconnection."""
BEFORE_S = 20
"""Earliest time of the disconnection: "after a variable amount of time"."""
VARIABLE_S = 5
"""Largest additional delay of it."""
T_MBI_S = 64
"""The longest time between two packets."""

METRICS = [
    Metric("rate_error", "%", "Rates X^i: largest difference from (5)", 3, bounds=POSITIVE),
    Metric("timer_error", "ms", "Timeouts t_RTO^i: largest difference from (6)", 2),
    Metric("grain", "ms", "Grain of time at which the rate was sampled", 2),
    Metric("timeouts", "", "Timeouts compared", 0),
    Metric("lost", "packets", "Packets sent into the gap", 0),
    Metric("model", "packets", "The same, by (7)", 0),
    Metric("difference", "%", "Difference", 1, bounds=UNBOUNDED),
]


def scenario(row: str, column: str) -> Scenario:
    """A flow on a link that is down for a minute."""
    grain_ms = float(row) / 2
    return Scenario(
        {
            "title": f"{column} Mbit/s, {row} ms, away for {GAP_S} s",
            "simulation": {"duration": f"{BEFORE_S + VARIABLE_S + GAP_S} s"},
            **networks.path("802.11b", rate=f"{column} Mbit/s", delay=f"{float(row) / 2:g} ms"),
            "flow": [networks.flow()],
            "handover": [networks.handover(BEFORE_S, VARIABLE_S, f"{GAP_S} s")],
            "record": {"interval": f"{grain_ms:g} ms"},
        }
    )


def run(given: Scenario, seed: int) -> Result:
    """Simulates, and compares every timeout of the gap with the model."""
    result = whimbrel.run(given, seed)
    intervals = result.intervals
    time, rate, rtt = (np.asarray(intervals[key]) for key in ("time_s", "allowed_rate_bps", "rtt_s"))
    down, up = float(result["handovers"]["down_s"][0]), float(result["handovers"]["up_s"][0])
    inside = (time > down) & (time < up)
    compared = compare(time[inside], rate[inside] / 8 / networks.PAYLOAD, float(rtt[inside][-1]))
    grain = float(np.min(np.diff(time)))
    # Packets lost by the queue as the link went down were sent before; (7) counts those sent in the gap.
    sent = np.asarray(intervals["sent_packets"])
    before = rate[inside][0] / 8
    model = whimbrel.handover_model(
        (before, float(rtt[inside][-1])),
        (before, float(rtt[inside][-1])),
        networks.PAYLOAD,
        disconnection=GAP_S,
    )
    row = {
        **compared,
        "grain": 1e3 * grain,
        "lost": float(sent[inside].sum()),
        "model": float(model.lost_packets),
    }
    row["difference"] = 100 * (row["lost"] / row["model"] - 1)
    return Result({"gap": {key: [value] for key, value in row.items()}})


def compare(time: FloatArray, rate: FloatArray, rtt: float) -> dict[str, float]:
    """Rates and lengths of the no-feedback intervals of a gap, against (5) and (6).

    The first interval began with the last feedback, before the gap, so that its length is not compared.

    Args:
        time: of the samples, in seconds.
        rate: the allowed rate at each, in packets per second.
        rtt: the sender's round-trip time, in seconds.
    """
    steps = np.flatnonzero(rate[1:] != rate[:-1]) + 1
    # Feedback in flight when the gap began may still change the rate; halvings come after it.
    halvings = [step for step in steps if rate[step] < 0.6 * rate[step - 1] or rate[step] * T_MBI_S <= 1.0001]
    if not halvings:
        return {"rate_error": math.nan, "timer_error": math.nan, "timeouts": 0.0}
    start = rate[halvings[0] - 1]
    rate_errors, timer_errors = [], []
    for i, step in enumerate(halvings, 1):
        expected = max(start / 2**i, 1 / T_MBI_S)
        rate_errors.append(abs(rate[step] / expected - 1))
        if i < len(halvings):
            length = time[halvings[i]] - time[step]
            timer_errors.append(abs(length - max(4 * rtt, 2 / expected)))
    return {
        "rate_error": 100 * max(rate_errors),
        "timer_error": 1e3 * max(timer_errors, default=math.nan),
        "timeouts": float(len(halvings)),
    }


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """Reads the values of the run."""
    return result["gap"].only()


ITEM = Item(
    key="fig6",
    title="The model against the simulation, in a gap of 60 s",
    source="Figure 6",
    rows=ROUND_TRIPS_MS,
    columns=RATES,
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(4), rows=("1", "100"), columns=("10", "54")),
    run=run,
    is_drawn=False,
    row_label="R in ms",
    column_label="Capacity in Mbit/s",
    note="The model uses the sender's rate and round-trip time when the link went down.",
)
