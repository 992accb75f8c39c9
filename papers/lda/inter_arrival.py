"""The hybrids' input: the time between packets as an indicator of the topology (Section 7).

The numbers come from the arrivals of a flow, not from the classifiers, and are computed here independently.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy import signal

import whimbrel
from whimbrel.paper import Item, Quick
from whimbrel.papers.lda import topology
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

FloatArray = npt.NDArray[np.float64]

LIMITS = (0.95, 1.1, 1.5)
"""Threshold of T_narr at which ZBS changes its choice (Section 7.1)."""
GAIN = 0.25
"""Weight of a new sample in T_avg (Section 7)."""
ROTT_GAIN = 1 / 32
"""Weight of a new sample in rott_mean; rott_dev gives it twice that (Section 3.3)."""

METRICS = [
    Metric("narr", "", "T_narr", 2),
    Metric("unshared", "%", "T_narr of 0.95 to 1.1"),
    Metric("shared", "%", "T_narr of 1.5 and more"),
    Metric("steady", "%", "rott_dev below T_min / 2"),
]


def average(samples: FloatArray, gain: float, first: float) -> FloatArray:
    """An exponential average of samples, with an initial value of its own."""
    state = np.array([(1 - gain) * first])
    return np.asarray(signal.lfilter([gain], [1, gain - 1], samples, zi=state)[0])


def seen(sequence: FloatArray, sent: FloatArray, received: FloatArray) -> dict[str, FloatArray]:
    """T_narr, and rott_dev in terms of T_min, at every arrival but the first.

    Args:
        sequence: of the packets that arrived, in the order of their arrival, which equals the order of
            sending.
        sent: departure times, in seconds.
        received: arrival times, in seconds.
    """
    interval = np.diff(received)
    least = np.minimum.accumulate(interval)
    per_packet = interval / np.diff(sequence)
    narr = average(per_packet[1:], GAIN, per_packet[0]) / least[1:]
    rott = received - sent
    mean = average(rott[1:], ROTT_GAIN, rott[0])
    deviation = average(np.abs(rott[1:] - mean), 2 * ROTT_GAIN, 0.0) / least
    return {"narr": np.concatenate([per_packet[:1] / least[:1], narr]), "deviation": deviation}


def run(scenario: Scenario, seed: int) -> Result:
    """Simulates a scenario and keeps the observations of its flows in the measured time."""
    packets = whimbrel.run(scenario, seed, packets=True).packets
    rows: dict[str, list[float]] = {metric.key: [] for metric in METRICS}
    for flow in sorted(set(packets["flow"])):
        if not flow.startswith("flow"):
            continue
        mine = packets.where(flow=flow, fate="received")
        order = np.argsort(mine["received_s"], kind="stable")
        sequence, sent, received = (
            np.asarray(mine[column], dtype=np.float64)[order]
            for column in ("sequence", "sent_s", "received_s")
        )
        counted = received[1:] >= topology.WARM_UP_S + topology.SETTLE_S
        found = {name: values[counted] for name, values in seen(sequence, sent, received).items()}
        low, unclear, shared = LIMITS
        narr = found["narr"]
        rows["narr"].append(float(np.mean(narr)))
        rows["unshared"].append(100 * float(np.mean((narr >= low) & (narr < unclear))))
        rows["shared"].append(100 * float(np.mean(narr >= shared)))
        rows["steady"].append(100 * float(np.mean(found["deviation"] < 0.5)))
    return Result({"seen": rows})


def _scenario(row: str, column: str) -> Scenario:
    return topology.scenario(column, "omniscient", int(row))


def _measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    return {metric.key: float(np.mean(result["seen"][metric.key])) for metric in METRICS}


ITEM = Item(
    key="inter-arrival",
    title="The time between packets as an indicator of the topology",
    source="Section 7",
    rows=["1", "2", "4", "8"],
    columns=["WLH", "WB"],
    metrics=METRICS,
    scenario=_scenario,
    measure=_measure,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(2), rows=["1", "2", "4"]),
    run=run,
    is_drawn=False,
    row_label="Flows",
    column_label="Topology",
    note="Flows of omniscient TFRC; means over all arrivals of all flows.",
)
