"""A real video over the wireless backbone with the paper's schemes.

The paper's motive is video, its tables are throughput. Here a clip of 500 kbit/s crosses the wireless
backbone of Section 5.1 with one scheme after the other, and the data that arrive in time are decoded and
scored.
"""

from __future__ import annotations

import functools
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

import whimbrel
from whimbrel.papers.lda import topology
from whimbrel.quality import clips
from whimbrel.quality.delivery import arrivals
from whimbrel.quality.strip import telling_frames, write_strip
from whimbrel.quality.video import Stream
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Picture

CLIP = "bikes"
BIT_RATE = 500_000
PLAYOUT_S = 0.4
"""Playout delay of a frame: a delay acceptable for conversation (ITU-T G.114)."""

LABELS = {"udp": "UDP", "tcp": "TCP", "tfrc": "CCID 3", "omniscient": "CCID 3, omniscient"}

METRICS = [
    Metric("on_time", "%", "Frames on time"),
    Metric("psnr", "dB", "PSNR"),
    Metric("ssim", "", "SSIM", 3),
    Metric("vmaf", "", "VMAF"),
    Metric("lost", "%", "Packets lost or late"),
]

_preparing = threading.Lock()


@functools.cache
def _workspace() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="whimbrel-video-")


@functools.cache
def _prepared() -> tuple[Stream, Path]:
    directory = Path(_workspace().name)
    prepared = Stream.prepare(clips.fetch(CLIP), directory, bit_rate=BIT_RATE)
    schedule = directory / "schedule.csv"
    prepared.schedule.write_csv(schedule)
    return prepared, schedule


def stream() -> tuple[Stream, Path]:
    """The clip prepared for sending, and the file with its schedule; made once per process."""
    with _preparing:
        return _prepared()


def scenario(_row: str, column: str) -> Scenario:
    """The paper's wireless backbone with one video instead of a bulk flow."""
    scheme = "tfrc" if column == "udp" else column
    document = dict(topology.scenario("WB", scheme).document)
    video = dict(document["flow"][0])
    for key in ("count", "packet_size", "start_jitter"):
        video.pop(key)
    video |= {"name": "video", "from": "s0", "to": "d0"}
    if column == "udp":
        for key in ("ccid", "classifier", "dccp"):
            video.pop(key)
        video["transport"] = "udp"
    elif column == "tcp":
        video["tcp"] = {"variant": "sack", "timestamps": False}
    document["flow"] = [video, *document["flow"][1:]]
    document["simulation"] = {"duration": "40 s", "warm_up": f"{topology.WARM_UP_S} s"}
    document["record"] = {"packets": True}
    return Scenario(document)


def run(given: Scenario, seed: int) -> Result:
    """Simulates the video, decodes the data that arrived in time and scores every frame."""
    sent, schedule = stream()
    traffic = f'{{ kind = "video", schedule = "{schedule}", playout = "{PLAYOUT_S} s" }}'
    result = whimbrel.run(given.changed(f"flow.video.traffic={traffic}"), seed)
    arrival = arrivals(result, "video", sent.schedule.size_bytes, topology.WARM_UP_S)
    with tempfile.TemporaryDirectory(dir=_workspace().name) as directory:
        reception = sent.receive(arrival, Path(directory) / "shown.y4m", playout_delay_s=PLAYOUT_S)
        quality = reception.quality()
    whole = np.ones(sent.schedule.frame_count, dtype=np.bool_)
    whole[sent.schedule.frame[~reception.arrived]] = False
    return Result(
        {
            "frames": {
                "on_time": whole.astype(np.float64),
                "psnr_db": quality.psnr_db,
                "ssim": quality.ssim,
                "vmaf": quality.vmaf,
            },
            "datagrams": {"arrival_s": arrival},
            "summary": {"loss_rate": [reception.loss_rate]},
        }
    )


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """The values of one run for the sheet."""
    frames = result["frames"]
    return {
        "on_time": 100 * float(np.mean(frames["on_time"])),
        "psnr": float(np.mean(frames["psnr_db"])),
        "ssim": float(np.mean(frames["ssim"])),
        "vmaf": float(np.mean(frames["vmaf"])),
        "lost": 100 * float(result["summary"]["loss_rate"][0]),
    }


def pictures(
    first: Callable[[str, str], Result], directory: Path, labels: Mapping[str, str] = LABELS
) -> Sequence[Picture]:
    """A strip of frames side by side, at the moments at which the schemes differ most."""
    sent, _ = stream()
    results = {column: first("1", column) for column in labels}
    moments = telling_frames(
        {column: list(result["frames"]["psnr_db"]) for column, result in results.items()}
    )
    with tempfile.TemporaryDirectory(dir=_workspace().name) as temporary:
        shown = {
            labels[column]: sent.receive(
                np.asarray(result["datagrams"]["arrival_s"]),
                Path(temporary) / f"{column}.y4m",
                playout_delay_s=PLAYOUT_S,
            ).shown.frames
            for column, result in results.items()
        }
        write_strip(directory / "video-strip.png", {"sent": sent.reference} | shown, moments)
    caption = f"The same moments as each scheme showed them, {PLAYOUT_S:g} s after they were taken."
    return [Picture("video-strip.png", caption)]
