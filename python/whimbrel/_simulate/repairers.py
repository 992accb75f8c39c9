"""Repair of lost datagrams by a program: its knowledge and its decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class RepairFeedback:
    """The knowledge of the sending end of a repaired flow.

    Attributes:
        now_s: the simulated time.
        step_s: time since the last decision.
        latency_s: the time that repair may use, from the fastest arrival to delivery.
        budget_s: what is left of it: the latency less the queueing delay of the path.
        rtt_s: the round-trip time; NaN before the ends have agreed on repair.
        rate: the rate in bit/s that congestion control allows to data and repair; NaN before it has one.
        loss_rate: the share of packets that are lost without congestion, by the sender's model.
        burst_length: the packets that are lost in a row on average, by the same model.
        sent: datagrams that were sent for the first time in the step.
        repeated: datagrams that were repeated in the step.
        coded: coded packets that were sent in the step.
        lost_frames: frames of which the sender learnt in the step that they are lost.
    """

    now_s: float
    step_s: float
    latency_s: float
    budget_s: float
    rtt_s: float
    rate: float
    loss_rate: float
    burst_length: float
    sent: int
    repeated: int
    coded: int
    lost_frames: int


COUNTERS = ("sent", "repeated", "coded", "lost_frames")
"""The fields that the simulator counts from the start."""


class Repairer(Protocol):
    """A policy of repair."""

    def on_feedback(self, feedback: RepairFeedback, /) -> tuple[float, bool]:
        """Coded packets as a share of each frame's, 0 to 1, and whether lost packets are repeated.

        Both hold until the next call. Coded packets never exceed the data (RFC 6363, Section 8.2).
        """
