"""The measurements of a flow of the matrix."""

from __future__ import annotations

import math

import numpy as np

from whimbrel.papers.matrix.networks import FIRST, SECOND, WARM_UP_S
from whimbrel.papers.matrix.schemes import ALL, ROWS
from whimbrel.quality import g1070
from whimbrel.result import Result
from whimbrel.sheet import Metric

ALONE = "nothing"
"""The column of a flow without a competing one."""
FRAME_RATE = 30.0
SCREEN = g1070.screen("6in")

METRICS = [
    Metric("share", "%", "Share", 0, title="Share of the data of both flows"),
    Metric("rate", "Mbit/s", "Goodput", 2),
    Metric("loss", "%", "Loss", 2, title="Packets lost in the network"),
    Metric("delay", "ms", "Delay, p95", 0, title="One-way delay of packets, 95th percentile"),
    Metric("variation", "%", "Variation", 0, title="Coefficient of variation of the goodput of seconds"),
    Metric("video", "", "Video", 2, title="Video quality (G.1070)", bounds=(1.0, 5.0)),
]


def pair(row: str, column: str) -> tuple[str, str | None]:
    """The schemes of the first and the second flow of a cell: the same for both cells of a pair."""
    scheme = ROWS[row]
    if column == ALONE:
        return scheme, None
    order = list(ALL)
    first, second = sorted((scheme, column), key=order.index)
    return first, second


def measure(result: Result, row: str, column: str) -> dict[str, float]:
    """The measurements of the flow of scheme `row` that competes with one of scheme `column`."""
    first, second = pair(row, column)
    name = FIRST if ROWS[row] == first else SECOND
    flows = result.flows
    own = float(flows.one("goodput_bps", flow=name))
    names = [FIRST] if second is None else [FIRST, SECOND]
    total = sum(float(flows.one("goodput_bps", flow=each)) for each in names)
    sent = float(flows.one("sent_packets", flow=name))
    lost = sum(
        float(flows.one(f"lost_{cause}", flow=name)) for cause in ("queue", "wireless", "down", "other")
    )
    loss = min(1.0, lost / sent) if sent else math.nan
    table = result["intervals"]
    is_measured = (table["flow"] == name) & (table["time_s"] > WARM_UP_S)
    seconds = np.asarray(table["goodput_bps"][is_measured], dtype=np.float64)
    mean = float(seconds.mean())
    is_video = ALL[ROWS[row]].is_media and own > 0 and not math.isnan(loss)
    video = g1070.rate(SCREEN, own, FRAME_RATE, loss).mos if is_video else math.nan
    return {
        "share": 100 * own / total if total else math.nan,
        "rate": own / 1e6,
        "loss": 100 * loss,
        "delay": 1e3 * float(flows.one("delay_p95_s", flow=name)),
        "variation": 100 * float(seconds.std()) / mean if mean else math.nan,
        "video": video,
    }
