"""A viewer's figures on the walk, network by network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whimbrel.quality import scores
from whimbrel.quality.video import Stream
from whimbrel.testbed.runs import FloatArray, Run
from whimbrel.testbed.walk import NETWORKS, STREAM_AT_S, Visit

PLAYOUT_S = 2.0
"""A frame is shown this long after it was taken: more than a full queue of 3G and its delay."""
AVERAGED = 24
"""Frames over which the paper averages the PSNR, "about 1 s"."""
STALL_S = 0.5
"""A picture that stands at least this long is a stall."""
LEFT_OUT_S = STREAM_AT_S + 4.0
"""Of the first visit: the sender finds its rate."""
FULL = 0.9
"""The share of what could arrive that counts as all of it, over `FULL_FOR_S`."""
FULL_FOR_S = 2.0
HEADERS = 52
"""Bytes of IP, UDP and DCCP around a datagram: a path of a rate carries less of the stream."""


@dataclass(frozen=True)
class Viewed:
    """The pictures of a run.

    Attributes:
        run: the run.
        time_s: time at which each frame was taken, on the network's clock.
        psnr_db: of the picture shown in its place.
        vmaf: the same; empty if it was not requested.
        frozen: true if that was an earlier picture.
        sent_s: time at which each packet was handed over, on the network's clock.
        size: bytes of each packet.
        arrived: true if it arrived in time.
    """

    run: Run
    time_s: FloatArray
    psnr_db: FloatArray
    vmaf: FloatArray
    frozen: npt.NDArray[np.bool_]
    sent_s: FloatArray
    size: FloatArray
    arrived: npt.NDArray[np.bool_]

    def moving(self) -> FloatArray:
        """The PSNR averaged over the frames before, as in the paper."""
        return np.convolve(self.psnr_db, np.ones(AVERAGED) / AVERAGED)[: self.psnr_db.size]

    def of_second(self, second: int) -> float:
        """Mean PSNR of the frames taken in a second of the network's clock; NaN without any."""
        inside = (self.time_s >= second) & (self.time_s < second + 1)
        return float(np.mean(self.psnr_db[inside])) if inside.any() else float("nan")


def watch(run: Run, stream: Stream, directory: Path, *, with_vmaf: bool) -> Viewed:
    """Decodes what arrived in time, and scores every frame against the clip."""
    shown_in = directory / "shown.y4m"
    reception = stream.receive(run.arrival_s, shown_in, playout_delay_s=PLAYOUT_S)
    frames = reception.shown.frames
    psnr = scores.psnr_of(stream.reference, frames)
    vmaf = scores.vmaf(stream.reference, frames) if with_vmaf else np.empty(0)
    frozen = reception.shown.frozen
    # The pictures are large, and can be made again from the arrivals.
    shown_in.unlink()
    schedule = stream.schedule
    time = run.stream_at_s + np.arange(schedule.frame_count) / float(schedule.rate)
    sent = run.stream_at_s + schedule.time_s
    return Viewed(
        run, time, psnr, vmaf, frozen, sent, schedule.size_bytes.astype(np.float64), reception.arrived
    )


def visit_figures(viewed: Viewed, visit: Visit, *, is_first: bool) -> dict[str, float]:
    """The measurements of a visit; a frame belongs to the time at which it was taken.

    Measurements end a round-trip time before the next gap, when a sender that is notified freezes.
    """
    length = visit.end_s - visit.start_s
    start = visit.start_s + min(LEFT_OUT_S, length * 0.8) if is_first else visit.start_s
    end = visit.end_s - visit.network.full_rtt_s
    inside = (viewed.time_s >= start) & (viewed.time_s < end)
    settled = inside & (viewed.time_s >= (start + end) / 2)
    sent = (viewed.sent_s >= start) & (viewed.sent_s < end)
    moving = viewed.moving()
    share = min(1.0, 1e3 * visit.network.kbps / stream_rate_bps(viewed))
    return {
        "psnr": float(np.mean(viewed.psnr_db[inside])),
        "vmaf": float(np.mean(viewed.vmaf[inside])) if viewed.vmaf.size else float("nan"),
        "least": float(np.min(moving[inside])),
        "swing": float(np.std(moving[settled])),
        "frozen": 100 * float(np.mean(viewed.frozen[inside])),
        "stalls": float(stalls(viewed.frozen[inside], float(viewed.time_s[1] - viewed.time_s[0]))),
        "used": 100 * float(viewed.size[sent & viewed.arrived].sum() / viewed.size[sent].sum()) / share,
        "first": float("nan") if is_first else first_again(viewed, visit),
        "full": float("nan") if is_first else full_again(viewed, visit),
    }


def lost_after(run: Run, visit: Visit, until_s: float) -> float:
    """Packets to the phone that were lost because no link was there, from the end of a visit on."""
    rows = run.emulation["tables"]["intervals"]
    counts = zip(rows["time_s"], rows["lost_down"], rows["flow"], strict=True)
    own = {network.name for network in NETWORKS}
    return float(sum(lost for time, lost, flow in counts if flow in own and visit.end_s < time <= until_s))


def stream_rate_bps(viewed: Viewed) -> float:
    """Rate of the stream on a link, with headers."""
    span = float(viewed.sent_s[-1] - viewed.sent_s[0])
    return float(8 * (viewed.size + HEADERS).sum() / span)


def stalls(frozen: npt.NDArray[np.bool_], frame_s: float) -> int:
    """Number of times at which a picture stood for `STALL_S` or longer."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], frozen.astype(np.int8), [0]])))
    return int(np.sum((edges[1::2] - edges[::2]) * frame_s >= STALL_S))


def arrivals(viewed: Viewed) -> FloatArray:
    """Arrival of each packet on the network's clock; NaN for those that did not arrive in time."""
    return np.where(viewed.arrived, viewed.run.stream_at_s + viewed.run.arrival_s, np.nan)


def first_again(viewed: Viewed, visit: Visit) -> float:
    """Seconds from the carrier's return until the first packet that was made after it arrives."""
    later = arrivals(viewed)[viewed.sent_s >= visit.start_s]
    later = later[~np.isnan(later)]
    length = visit.end_s - visit.start_s
    return min(float(np.min(later)) - visit.start_s, length) if later.size else length


def full_again(viewed: Viewed, visit: Visit) -> float:
    """Seconds from the carrier's return until all that can arrive does; the whole visit if it never does."""
    came = arrivals(viewed)
    rate = min(1e3 * visit.network.kbps, stream_rate_bps(viewed))
    begins = np.arange(visit.start_s, visit.end_s - FULL_FOR_S, 0.1)
    order = np.argsort(came)
    order = order[: int(np.sum(~np.isnan(came)))]
    total = np.concatenate([[0.0], np.cumsum(viewed.size[order] + HEADERS)])
    within = (
        total[np.searchsorted(came[order], begins + FULL_FOR_S)] - total[np.searchsorted(came[order], begins)]
    )
    reached = np.flatnonzero(8 * within / FULL_FOR_S >= FULL * rate)
    return float(begins[reached[0]] - visit.start_s) if reached.size else visit.end_s - visit.start_s
