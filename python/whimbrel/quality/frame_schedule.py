"""The packets of a video of equal frames: a real-time encoder under rate control, without key frames."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from whimbrel.errors import UsageError


def equal_frames(
    bit_rate: float, frame_rate: float, duration_s: float, *, begin_s: float = 0.0, most_bytes: int = 1200
) -> list[tuple[float, int]]:
    """Times and sizes of datagrams: all datagrams of a frame at one time, all but the last of equal size.

    Args:
        bit_rate: of the video, in bit/s.
        frame_rate: in frames per second.
        duration_s: end of the last frame, in seconds.
        begin_s: time of the first frame.
        most_bytes: of a datagram.

    Raises:
        UsageError: values without a valid video.
    """
    if not (bit_rate > 0 and frame_rate > 0 and most_bytes > 0 and 0 <= begin_s < duration_s):
        raise UsageError(
            f"{bit_rate:g} bit/s, {frame_rate:g} frames/s, datagrams of {most_bytes} bytes, "
            f"{begin_s:g} to {duration_s:g} s; expected all above 0, and an end after the beginning"
        )
    made = []
    for frame in range(math.ceil((duration_s - begin_s) * frame_rate - 1e-9)):
        # Whole bytes; the rate is exact over several frames.
        end, start = ((frame + each) * bit_rate / (8 * frame_rate) for each in (1, 0))
        size = max(1, round(end) - round(start))
        parts = math.ceil(size / most_bytes)
        each = math.ceil(size / parts)
        sizes = [each] * (parts - 1) + [size - each * (parts - 1)]
        time_s = round(begin_s + frame / frame_rate, 9)
        made += [(time_s, bytes_) for bytes_ in sizes]
    return made


def write_csv(file: Path, datagrams: Sequence[tuple[float, int]]) -> None:
    """Writes a schedule with the columns `time_s` and `size_bytes`."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("time_s", "size_bytes"))
        writer.writerows((f"{time_s:.9f}", size) for time_s, size in datagrams)
