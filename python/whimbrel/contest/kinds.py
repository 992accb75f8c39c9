"""The decision of contestants: the rate of a live video, or its repair."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from whimbrel._simulate.controllers import Feedback
from whimbrel._simulate.repairers import RepairFeedback
from whimbrel._simulate.result import Result


@dataclass(frozen=True)
class Kind:
    """A kind of contest.

    Attributes:
        name: in records.
        class_name: of the class that a file defines.
        key: of a flow: `external` for a file, else the name of a reference.
        is_place: true for the table of a flow that a contestant may have.
        places: these flows in words.
        folder: of the packaged networks, below `examples`.
        columns: of a decision.
        idle: the decision for a contestant that has failed.
        feedback: from JSON to the argument of `on_feedback`.
        reply: an answer of `on_feedback` as numbers.
        wrong: what is wrong with a decision; empty if nothing is.
        score: of a flow.
        scored: the score in words.
    """

    name: str
    class_name: str
    key: str
    is_place: Callable[[Mapping[str, Any]], bool]
    places: str
    folder: str
    columns: tuple[str, ...]
    idle: tuple[float, ...]
    feedback: Callable[[Mapping[str, Any]], Feedback | RepairFeedback]
    reply: Callable[[Any], tuple[float, ...]]
    wrong: Callable[[Sequence[float]], str]
    score: Callable[[Result, str], float]
    scored: str


def told(feedback: Feedback | RepairFeedback) -> dict[str, Any]:
    """A feedback for JSON."""
    return {
        name: value.tolist() if hasattr(value, "tolist") else value
        for name, value in asdict(feedback).items()
    }


_LOST = ("lost_queue", "lost_wireless", "lost_down", "lost_other")
_WORST = -10.0
"""The score of a flow that delivers nothing."""


def _control_score(result: Result, flow: str) -> float:
    """The decimal logarithm of the rate in Mbit/s, less losses and delay.

    A tenth of the packets lost, or 100 ms of delay in the 95th percentile, costs as much as nine tenths of
    the rate.
    """
    flows = result.flows
    rate = flows.one("goodput_bps", flow=flow)
    sent = flows.one("sent_packets", flow=flow)
    if rate <= 0 or sent <= 0:
        return _WORST
    lost = sum(flows.one(name, flow=flow) for name in _LOST)
    delay = flows.one("delay_p95_s", flow=flow)
    found = math.log10(rate / 1e6) - 10 * lost / sent - 10 * (0.0 if math.isnan(delay) else delay)
    return max(found, _WORST)


def _repair_score(result: Result, flow: str) -> float:
    """Ten times the share of frames that cannot be decoded in time, and the rate that repair takes, below 0.

    Bytes of repair take the place of pictures: with an overhead of 1 the encoder has half of the rate. The
    rate counts by its decimal logarithm and a frame as much as a packet, as in `_control_score`.
    """
    flows = result.flows
    frames = flows.one("frames", flow=flow)
    if frames <= 0:
        return _WORST
    missed = 1 - flows.one("frames_decodable", flow=flow) / frames
    return max(-10 * missed - math.log10(1 + flows.one("repair_overhead", flow=flow)), _WORST)


def _feedback(told: Mapping[str, Any]) -> Feedback:
    arrays: dict[str, Any] = {name: np.array(told[name], dtype=kind) for name, kind in _COLUMNS.items()}
    return Feedback(told["now_s"], told["step_s"], told["rate"], told["rtt_s"], **arrays)


_COLUMNS = {
    "sequence": np.uint64,
    "sent_s": np.float64,
    "received_s": np.float64,
    "size": np.uint64,
    "is_marked": np.bool_,
}
"""Of a feedback."""


def _repair_reply(answer: Any) -> tuple[float, ...]:  # noqa: ANN401 - a stranger's answer
    share, repeats = answer
    return float(share), float(bool(repeats))


def _wrong_rate(decision: Sequence[float]) -> str:
    (rate,) = decision
    is_rate = math.isfinite(rate) and rate >= 0
    return "" if is_rate else f"set the rate {rate}; expected bit/s, 0 or more"


def _wrong_repair(decision: Sequence[float]) -> str:
    share, repeats = decision
    is_repair = 0 <= share <= 1 and repeats in (0, 1)
    return "" if is_repair else f"set the share of coded packets {share}; expected 0 to 1"


CONTROL = Kind(
    name="control",
    class_name="Controller",
    key="media.controller",
    is_place=lambda flow: flow.get("transport") == "media",
    places='transport = "media"',
    folder="contest",
    columns=("rate_bps",),
    idle=(0.0,),
    feedback=_feedback,
    reply=lambda answer: (float(answer),),
    wrong=_wrong_rate,
    score=_control_score,
    scored="The score is the decimal logarithm of the rate in Mbit/s, less ten times the share lost, less ten"
    " times the 95th percentile of the delay in seconds.",
)
REPAIR = Kind(
    name="repair",
    class_name="Repairer",
    key="repair.kind",
    is_place=lambda flow: flow.get("transport") == "dccp" and "repair" in flow,
    places='transport = "dccp" and repair',
    folder="contest_repair",
    columns=("coded_share", "repeats"),
    idle=(0.0, 0.0),
    feedback=lambda told: RepairFeedback(**told),
    reply=_repair_reply,
    wrong=_wrong_repair,
    score=_repair_score,
    scored="The score is minus ten times the share of frames that could not be decoded in time, less the"
    " decimal logarithm of 1 and the overhead: bytes of repair over those of the data.",
)
KINDS = {kind.name: kind for kind in (CONTROL, REPAIR)}
