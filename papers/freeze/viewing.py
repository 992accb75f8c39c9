"""A looped clip over a walk: the sent stream, the scheme, and the pictures shown to a viewer.

The clip is H.264 of 1 Mbit/s, one slice per packet (`whimbrel.quality`). The sender drops a datagram that
waited `WORTH_S`; one that arrives more than `PLAYOUT_S` after its frame was taken counts as lost. The decoder
conceals missing data, and a frame of which nothing arrived repeats the picture before it.
"""

from __future__ import annotations

import functools
import math
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import whimbrel
from whimbrel.quality import clips, scores
from whimbrel.quality.delivery import arrivals
from whimbrel.quality.video import Stream
from whimbrel.result import Result
from whimbrel.scenario import Scenario

FloatArray = npt.NDArray[np.float64]

CLIP = "carphone_pristine"
BIT_RATE = 900_000
"""Section 5.3: "encoded and packetised using the H.264 codec with a 1 Mbps bit-rate". With all headers it
must fit into the 1 Mbit/s of the home network, which supports it in the paper."""
WORTH_S = 0.5
PLAYOUT_S = 2.0
"""More than a full queue of the slowest network and its delay: a stream, not a conversation."""

NAME = "video"
"""The flow's."""
QUEUE = 50
"""Packets that a link holds (Section 5.1)."""
PACKET = 1250
"""Bytes of the stream's largest packets on the link, which bound a full queue together with `QUEUE`."""

AVERAGED = 24
"""Frames over which the paper averages the PSNR, "about 1 s"."""

_preparing = threading.Lock()


@functools.cache
def _workspace() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="whimbrel-walk-")


@functools.cache
def _prepared(repeat: int) -> tuple[Stream, Path]:
    directory = Path(_workspace().name) / str(repeat)
    directory.mkdir()
    prepared = Stream.prepare(clips.fetch(CLIP), directory, bit_rate=BIT_RATE, repeat=repeat)
    schedule = directory / "schedule.csv"
    prepared.schedule.write_csv(schedule)
    return prepared, schedule


def stream(seconds: float) -> tuple[Stream, Path]:
    """The clip repeated for at least that long, and the file with its schedule; made once."""
    with _preparing:
        once, schedule = _prepared(1)
        repeat = max(1, math.ceil(seconds / once.schedule.duration_s))
        return (once, schedule) if repeat == 1 else _prepared(repeat)


def flow(scheme: str) -> dict[str, Any]:
    """The video's flow, without its traffic, which `watch` adds.

    Args:
        scheme: `tfrc`, `freeze`, `silence` (Freeze without notice), `ccid2`, `tcp` or `udp`.
    """
    made: dict[str, Any] = {"name": NAME, "from": "server", "to": "mobile", "transport": "dccp"}
    if scheme == "tcp":
        return made | {"transport": "tcp", "tcp": {"variant": "sack"}}
    if scheme == "udp":
        return made | {"transport": "udp"}
    dccp: dict[str, Any] = {"ecn": False, "sequence_window": 10_000}
    if scheme != "ccid2":
        dccp["initial_window"] = "rfc3390"
    if scheme == "freeze":
        dccp["freeze"] = {}
    if scheme == "silence":
        dccp["freeze"] = {"silence_in_rtt": 4}
    return made | {"ccid": 2 if scheme == "ccid2" else 3, "dccp": dccp}


def path(rate: str, delay: str) -> dict[str, Any]:
    """A server, and a link of the walker behind a router; only the latter limits the rate."""
    return {
        "node": [{"name": "server"}, {"name": "router"}, {"name": "mobile"}],
        "link": [
            {"name": "wire", "between": ["server", "router"], "rate": "1 Gbit/s", "queue": "unlimited"},
            {
                "name": "radio",
                "between": ["router", "mobile"],
                "rate": rate,
                "delay": delay,
                "queue": f"{QUEUE} packets",
            },
        ],
    }


@dataclass(frozen=True)
class Viewed:
    """The pictures shown to the viewer, and the run behind them.

    Attributes:
        time_s: time at which each frame was taken, on the walk's clock.
        psnr_db: of the frame shown in its place.
        vmaf: the same; empty if it was not requested.
        frozen: true if that was an earlier picture.
        sent_s: time at which each datagram was handed over, on the walk's clock.
        arrived: true if it arrived in time.
        result: of the simulation.
    """

    time_s: FloatArray
    psnr_db: FloatArray
    vmaf: FloatArray
    frozen: npt.NDArray[np.bool_]
    sent_s: FloatArray
    arrived: npt.NDArray[np.bool_]
    result: Result

    def in_time(self, start_s: float, end_s: float) -> npt.NDArray[np.bool_]:
        """Marks the datagrams of a span of time that arrived in time."""
        return self.arrived[(self.sent_s >= start_s) & (self.sent_s < end_s)]

    def moving(self) -> FloatArray:
        """The PSNR averaged over the frames before, as in the paper."""
        return np.convolve(self.psnr_db, np.ones(AVERAGED) / AVERAGED)[: self.psnr_db.size]


def watch(given: Scenario, seed: int, seconds: float, *, with_vmaf: bool = False) -> Viewed:
    """Simulates a walk of that length, decodes the data that arrived in time and scores every frame.

    The walk is the same in every run. The clip's beginning differs, by up to a length of the clip.
    """
    sent, schedule = stream(seconds)
    start = phase(seed) * stream(0)[0].schedule.duration_s
    traffic = f'{{ kind = "video", schedule = "{schedule}", playout = "{WORTH_S} s" }}'
    begun = given.changed(f"flow.{NAME}.traffic={traffic}", f"flow.{NAME}.start={start:.6f} s")
    result = whimbrel.run(begun, seed)
    arrival = arrivals(result, NAME, sent.schedule.size_bytes, start)
    with tempfile.TemporaryDirectory(dir=_workspace().name) as directory:
        reception = sent.receive(arrival, Path(directory) / "shown.y4m", playout_delay_s=PLAYOUT_S)
        shown = reception.shown
        psnr = scores.psnr_of(sent.reference, shown.frames)
        vmaf = scores.vmaf(sent.reference, shown.frames) if with_vmaf else np.empty(0)
        frozen = shown.frozen
    time = start + np.arange(sent.schedule.frame_count) / float(sent.schedule.rate)
    return Viewed(time, psnr, vmaf, frozen, start + sent.schedule.time_s, reception.arrived, result)


def phase(seed: int) -> float:
    """A random part of a loop for each seed."""
    return float(np.random.default_rng(seed).random())


def received(result: Result, start_s: float, end_s: float) -> tuple[FloatArray, FloatArray]:
    """Arrival times of the video's packets in a span of time, and their bytes on the link."""
    rows = result.packets.where(flow=NAME)
    time = np.asarray(rows["received_s"], dtype=np.float64)
    inside = (time >= start_s) & (time < end_s)
    order = np.argsort(time[inside], kind="stable")
    return time[inside][order], np.asarray(rows["size_bytes"], dtype=np.float64)[inside][order]


def until_full(result: Result, start_s: float, end_s: float, target_bps: float, span_s: float) -> float:
    """Seconds from `start_s` until `target_bps` arrives for a span of time; all of them if it never does."""
    time, size = received(result, start_s, end_s)
    total = np.concatenate([[0.0], np.cumsum(size)])
    begins = np.arange(start_s, end_s - span_s, 0.1)
    came = total[np.searchsorted(time, begins + span_s)] - total[np.searchsorted(time, begins)]
    full = np.flatnonzero(8 * came / span_s >= target_bps)
    return float(begins[full[0]] - start_s) if full.size else end_s - start_s


def into_gap(result: Result) -> Mapping[str, float]:
    """Losses due to a missing path: packets, and their bytes on the link."""
    rows = result.packets.where(flow=NAME, fate="link-down")
    return {
        "packets": float(rows.rows),
        "bytes": float(np.asarray(rows["size_bytes"], dtype=np.float64).sum()),
    }
