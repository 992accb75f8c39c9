"""From what arrived to figures: frames in time, frames that can be decoded, delay, bytes, processor time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from live import stream
from live.end import RECORD
from whimbrel.errors import MediaError
from whimbrel.result import Result

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

TOLERANCE_S = 0.025
"""A frame may be this much later: SRT and RIST deliver a little after their latency."""
LEFT_OUT_S = 5.0
"""At the start, while rates are found; a quarter of a shorter stream."""


def identity(packet: bytes) -> bytes:
    """The parts that no transport may change: marker, payload type, time, payload. Numbers may change."""
    return packet[1:2] + packet[4:8] + packet[12:]


def arrivals(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The logged datagrams: time of arrival in ns, and content.

    Raises:
        MediaError: the log is cut short.
    """
    at = 0
    while at < len(content):
        if at + RECORD.size > len(content):
            raise MediaError("the log of arrivals is cut short")
        time_ns, size = RECORD.unpack_from(content, at)
        at += RECORD.size
        if at + size > len(content):
            raise MediaError("the log of arrivals is cut short")
        yield time_ns, content[at : at + size]
        at += size


def transfer(
    sent: Sequence[tuple[int, int, int]],
    ladder: Sequence[stream.Encoding],
    received: bytes,
) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """The tables of a transfer.

    Args:
        sent: for each frame its encoding, the number of its first packet, and the time of sending in ns.
        ladder: the encodings.
        received: the log of arrivals.

    Returns:
        `frames`: encoding, key frame or not, time of sending in s after the first. `packets`: frame, bytes of
        video, delay in s after the sending of the frame (NaN: lost). `stray`: numbers of the datagrams that
        arrived again, and of those that were never sent.
    """
    place: dict[bytes, int] = {}
    frame_of: list[int] = []
    size: list[int] = []
    for number, (rung, first, _) in enumerate(sent):
        for offset, packet in enumerate(ladder[rung].frames[number]):
            place[identity(stream.numbered(packet, first + offset, number))] = len(frame_of)
            frame_of.append(number)
            size.append(len(packet) - 12)
    if len(place) < len(frame_of):
        raise MediaError("two packets of the stream are equal: arrivals cannot be told apart")
    sent_ns = np.array([at for _, _, at in sent], dtype=np.int64)
    delay_s = np.full(len(frame_of), np.nan)
    again, foreign = 0, 0
    for time_ns, packet in arrivals(received):
        at = place.get(identity(packet))
        if at is None:
            foreign += 1
        elif not np.isnan(delay_s[at]):
            again += 1
        else:
            delay_s[at] = (time_ns - sent_ns[frame_of[at]]) / 1e9
    return {
        "frames": {
            "encoding": np.array([rung for rung, _, _ in sent], dtype=np.int64),
            "is_key": np.array([ladder[rung].is_key[at] for at, (rung, _, _) in enumerate(sent)]),
            "sent_s": (sent_ns - sent_ns[0]) / 1e9,
        },
        "packets": {
            "frame": np.array(frame_of, dtype=np.int64),
            "video_bytes": np.array(size, dtype=np.int64),
            "delay_s": delay_s,
        },
        "stray": {"again": np.array([again]), "foreign": np.array([foreign])},
    }


def complete(run: Result, limit_s: float) -> Bools:
    """For each frame, true if all its packets arrived within a time after its sending."""
    packets = run.tables["packets"]
    whole = np.ones(run.tables["frames"].rows, dtype=np.bool_)
    # NaN compares false.
    whole[packets["frame"][~(packets["delay_s"] <= limit_s)]] = False
    return whole


def decodable(whole: Bools, is_key: Bools) -> Bools:
    """For each frame, true if it is complete and so is everything back to its key frame."""
    found = np.zeros(whole.size, dtype=np.bool_)
    intact = False
    for at in range(whole.size):
        intact = bool(whole[at]) and (intact or bool(is_key[at]))
        found[at] = intact
    return found


def counted(run: Result) -> Bools:
    """The frames that count: without the start."""
    sent = run.tables["frames"]["sent_s"]
    return np.asarray(sent >= min(LEFT_OUT_S, sent[-1] / 4))


def figures(run: Result, base_s: float, budget_s: float) -> dict[str, float]:
    """The figures of a run for a budget; shares in percent, times in ms, rates in Mbit/s."""
    frames, packets, ends = (run.tables[name] for name in ("frames", "packets", "ends"))
    inside = counted(run)
    whole = complete(run, base_s + budget_s + TOLERANCE_S)
    usable = decodable(whole, frames["is_key"])
    delays = packets["delay_s"][inside[packets["frame"]]]
    arrived = delays[~np.isnan(delays)]
    video = float(packets["video_bytes"].sum())
    seconds = frames.rows / stream.FRAMES_PER_S
    ended = {name: float(ends[name][0]) for name in ends}
    return {
        "complete": 100 * float(whole[inside].mean()),
        "decodable": 100 * float(usable[inside].mean()),
        "lost": 100 * float(np.isnan(delays).mean()),
        "delay_median": 1e3 * float(np.median(arrived)) if arrived.size else np.nan,
        "delay_p99": 1e3 * float(np.percentile(arrived, 99)) if arrived.size else np.nan,
        "forward": 100 * (ended["forward_bytes"] / video - 1),
        "backward": 100 * ended["backward_bytes"] / video,
        "cpu": 30 * (ended["camera_cpu_s"] + ended["viewer_cpu_s"]) / seconds,
        "video": 8 * video / seconds / 1e6,
        "beside": ended["beside_bps"] / 1e6,
        "lateness": 1e3 * ended["lateness_p99_s"],
        "foreign": float(run.tables["stray"]["foreign"][0]),
    }


def of_emulation(report: dict[str, Any]) -> dict[str, float]:
    """Bytes of the two directions on the path, IP headers included, and the emulator's lateness."""
    flows = report["tables"]["flows"]
    rows = [dict(zip(flows, values, strict=True)) for values in zip(*flows.values(), strict=True)]
    sides = {"forward_bytes": 0.0, "backward_bytes": 0.0}
    for row in rows:
        if row["scheme"] == "emulated":
            side = "backward_bytes" if row["flow"] == "viewer>camera" else "forward_bytes"
            sides[side] += row["sent_bytes"] + row["feedback_bytes"]
    events = report["emulation"]["events"]
    return sides | {"lateness_p99_s": events["p99_s"], "lateness_max_s": events["max_s"]}


def of_download(file: Path) -> float:
    """The rate in bit/s that iperf3's report has; NaN without a report."""
    try:
        return float(json.loads(file.read_text())["end"]["sum_received"]["bits_per_second"])
    except (OSError, ValueError, KeyError):
        return np.nan
