#!/usr/bin/env python3
"""A congestion control for video, written in Python, that shares its bottleneck with a download.

Usage: examples/media_sender.py [--law gcc]

The law below raises the rate while the path is idle, and lowers it when packets queue or are lost. With
`--law`, one of the laws of Whimbrel takes its place.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import whimbrel

SCENARIO = Path(__file__).parent / "scenarios" / "media.toml"


class Cautious:
    """Increases by 5 % of the rate per step, decreases to 85 % of what arrived."""

    def __init__(self, start: float = 300e3, queueing_s: float = 0.03) -> None:
        self.rate, self.queueing_s, self.least_s = start, queueing_s, math.inf

    def on_feedback(self, feedback: whimbrel.Feedback) -> float:
        """The rate until the next report."""
        if feedback.size.size == 0:
            return self.rate
        if not math.isnan(feedback.delay_s):
            self.least_s = min(self.least_s, feedback.delay_s)
        queueing_s = feedback.delay_s - self.least_s
        if feedback.loss_rate > 0.05 or queueing_s > self.queueing_s:
            self.rate = max(150e3, 0.85 * min(self.rate, feedback.delivery_rate))
        else:
            self.rate *= 1.05
        return self.rate


def main() -> None:
    """Runs the scenario and prints the flows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--law", default="external", help="external (the class above), gcc, nada, scream, copa"
    )
    law = parser.parse_args().law
    overrides = [f"variables.law={law}"]
    if law == "external":
        result = whimbrel.drive(SCENARIO, {"video": Cautious()}, overrides=overrides)
    else:
        result = whimbrel.run(SCENARIO, overrides=overrides)
    for name in ("video", "download"):
        flow = {key: result.flows.one(key, flow=name) for key in ("goodput_bps", "delay_p95_s", "lost_queue")}
        print(
            f"{name:10} {flow['goodput_bps'] / 1e6:5.2f} Mbit/s, "
            f"{1e3 * flow['delay_p95_s']:4.0f} ms (95th percentile), {flow['lost_queue']:.0f} packets lost"
        )


if __name__ == "__main__":
    main()
