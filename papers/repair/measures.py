"""The measurements of a flow with repair."""

from __future__ import annotations

import math

from whimbrel.papers.repair.networks import FLOW, FRAME_RATE
from whimbrel.result import Result
from whimbrel.sheet import Metric

METRICS = [
    Metric("late", "%", "Late", 2, title="Frames that are not whole within the budget"),
    Metric(
        "decodable",
        "%",
        "Decodable",
        1,
        title="Frames in time of which all before them are, back to the key frame",
    ),
    Metric("frozen", "%", "Frozen", 2, title="Time for which the picture stands still"),
    Metric("freeze", "ms", "Freeze, p95", 0, title="Length of a freeze, 95th percentile"),
    Metric(
        "overhead",
        "%",
        "Overhead",
        1,
        title="Bytes of headers, repeats and coded packets over those of the data",
    ),
]


def measure(result: Result, _row: str, _column: str) -> dict[str, float]:
    """The measurements of the video."""

    def value(name: str) -> float:
        return float(result.flows.one(name, flow=FLOW))

    frames = value("frames")
    whole, decodable = value("frames_in_time"), value("frames_decodable")
    return {
        "late": 100 * (1 - whole / frames) if frames else math.nan,
        "decodable": 100 * decodable / frames if frames else math.nan,
        "frozen": 100 * value("frozen_s") * FRAME_RATE / frames if frames else math.nan,
        "freeze": 1e3 * value("freeze_p95_s"),
        "overhead": 100 * value("repair_overhead"),
    }
