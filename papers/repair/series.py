"""Rates of mobile networks, second by second, generated from the statistics of recordings.

`recorded.csv` of paper `freeze` has the statistics of the recordings, which are not part of Whimbrel.

    python -m whimbrel.papers.repair.series

writes the series, a file for each network.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from whimbrel.papers.freeze import recorded_networks

NETWORKS = ("lte", "5g", "wifi", "cellular")
SECONDS = 300
LEAST_BPS = 8_000.0
"""A second with a lower rate has this rate: a packet a second."""


def path(network: str) -> Path:
    """The file with the series of a network."""
    return Path(__file__).with_name(f"series-{network}.csv")


def text(network: str) -> str:
    """The series of a network, in the format of a scenario's `trace`."""
    rates = np.maximum(recorded_networks.read()[network].series(SECONDS, 1), LEAST_BPS)
    lines = (f"{at},{rate / 1e3:.0f}\n" for at, rate in enumerate(rates))
    return "time_s,rate_kbps\n" + "".join(lines)


if __name__ == "__main__":
    for each in NETWORKS:
        path(each).write_text(text(each), encoding="utf-8")
