"""The measurements of a flow with repair."""

from __future__ import annotations

import math

from whimbrel.papers.repair.networks import FLOW
from whimbrel.papers.repair.videos import LARGE, Video
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


RATE = Metric("rate", "Mbit/s", "Goodput", 2, title="Data of the video that were delivered")
OTHERS = Metric("tcp", "kbit/s", "TCP beside it", 0, title="Goodput of the TCP beside the video")


def measure(result: Result, _row: str, _column: str, video: Video = LARGE) -> dict[str, float]:
    """The measurements of the video."""

    def value(name: str) -> float:
        return float(result.flows.one(name, flow=FLOW))

    frames = value("frames")
    whole, decodable = value("frames_in_time"), value("frames_decodable")
    return {
        "late": 100 * (1 - whole / frames) if frames else math.nan,
        "decodable": 100 * decodable / frames if frames else math.nan,
        "frozen": 100 * value("frozen_s") * video.frame_rate / frames if frames else math.nan,
        "freeze": 1e3 * value("freeze_p95_s"),
        "overhead": 100 * value("repair_overhead"),
    }


def measure_rate(result: Result, row: str, column: str) -> dict[str, float]:
    """The same, and the rate of the video."""
    rate = float(result.flows.one("goodput_bps", flow=FLOW))
    return {**measure(result, row, column), "rate": rate / 1e6}
