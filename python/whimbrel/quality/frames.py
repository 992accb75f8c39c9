"""Uncompressed video on disk, one numpy record per frame.

Frames are YUV4MPEG2 files (`.y4m`): any player shows them, ffmpeg reads their size and rate, and numpy maps
them without reading, so a minute of video costs no memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whimbrel._base import ffmpeg
from whimbrel.errors import MediaError

Plane = npt.NDArray[np.uint8]

_FRAME_HEADER = b"FRAME\n"
_LONGEST_SIDE = 1 << 14
"""Pixels of a side, so that no head announces a frame that fills the memory."""


@dataclass(frozen=True)
class Frames:
    """A `.y4m` file of 4:2:0 frames with 8 bits per sample, in limited range.

    Attributes:
        path: the file.
        width: luma samples per line; even.
        height: lines; even.
        rate: frames per second.
        records: one record per frame with the planes `y` (height, width) and `u`, `v` (half of each).
    """

    path: Path
    width: int
    height: int
    rate: Fraction
    records: npt.NDArray[Any]

    def __len__(self) -> int:
        return int(self.records.shape[0])

    def luma(self, frame: int) -> Plane:
        """The Y plane of one frame, shape (height, width)."""
        return np.asarray(self.records[frame]["y"], dtype=np.uint8)

    def rgb(self, frame: int) -> Plane:
        """One frame as RGB, shape (height, width, 3): BT.601, limited range, chroma repeated."""
        record = self.records[frame]
        y = (record["y"].astype(np.float32) - 16) * (255 / 219)
        u, v = (
            np.repeat(np.repeat(record[plane].astype(np.float32) - 128, 2, axis=0), 2, axis=1) * (255 / 224)
            for plane in ("u", "v")
        )
        channels = (y + 1.402 * v, y - 0.344136 * u - 0.714136 * v, y + 1.772 * u)
        rounded: Plane = np.clip(np.rint(np.stack(channels, axis=-1)), 0, 255).astype(np.uint8)
        return rounded


def _layout(width: int, height: int) -> np.dtype[Any]:
    half = (height // 2, width // 2)
    planes = [("y", np.uint8, (height, width)), ("u", np.uint8, half), ("v", np.uint8, half)]
    return np.dtype([("header", f"S{len(_FRAME_HEADER)}"), *planes])


def open_frames(path: Path) -> Frames:
    """Maps a `.y4m` file.

    Raises:
        MediaError: the file is not a `.y4m` file, is truncated, or has odd sides or a format other than 8-bit
            4:2:0.
    """
    with path.open("rb") as file:
        header = file.readline(256)
    words = header.decode("ascii", errors="replace").split()
    if not words or words[0] != "YUV4MPEG2" or not header.endswith(b"\n"):
        raise MediaError(f"{path} is not a YUV4MPEG2 file")
    fields = {word[0]: word[1:] for word in words[1:] if word[0] != "X"}
    try:
        width, height = int(fields["W"]), int(fields["H"])
        rate = Fraction(fields["F"].replace(":", "/"))
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise MediaError(f"{path}: the head lacks a size or a frame rate: {error!r}") from error
    if not (0 < width <= _LONGEST_SIDE and 0 < height <= _LONGEST_SIDE):
        raise MediaError(f"{path}: {width}x{height}: expected sides of 1 to {_LONGEST_SIDE} pixels")
    if not fields.get("C", "420").startswith("420") or fields.get("C", "").startswith("420p1"):
        raise MediaError(f"{path}: the format is C{fields['C']}, not 8-bit 4:2:0")
    if width % 2 or height % 2:
        raise MediaError(f"{path}: {width}x{height} has an odd side")
    layout = _layout(width, height)
    body = path.stat().st_size - len(header)
    if body % layout.itemsize:
        raise MediaError(f"{path} is cut short: {body} bytes are not a whole number of frames")
    if body == 0:
        records: npt.NDArray[Any] = np.empty(0, dtype=layout)
    else:
        records = np.memmap(path, dtype=layout, mode="r", offset=len(header))
    return Frames(path, width, height, rate, records)


def write_frames(path: Path, like: Frames, records: Iterable[Any]) -> Frames:
    """Writes records with the size and rate of `like` to a new `.y4m` file and maps it."""
    with path.open("wb") as file:
        rate = f"{like.rate.numerator}:{like.rate.denominator}"
        file.write(f"YUV4MPEG2 W{like.width} H{like.height} F{rate} Ip A1:1 C420jpeg\n".encode())
        for record in records:
            file.write(np.asarray(record).tobytes())
    return open_frames(path)


def black(like: Frames) -> npt.NDArray[Any]:
    """One black record with the size of `like`: the screen before any picture arrived."""
    record = np.zeros((), dtype=like.records.dtype)
    record["header"] = _FRAME_HEADER
    record["y"], record["u"], record["v"] = 16, 128, 128
    return record


def decode_clip(clip: Path, destination: Path, *, seconds: float | None = None) -> Frames:
    """Decodes a clip to `.y4m` at its own constant frame rate: the reference of every score.

    Args:
        clip: any file ffmpeg reads.
        destination: the `.y4m` file to write.
        seconds: only the beginning.
    """
    limit = [] if seconds is None else ["-t", f"{seconds:g}"]
    ffmpeg.run(
        ["-threads", "1", "-i", str(clip), *limit, "-map", "0:v:0", "-fps_mode", "cfr"]
        + ["-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", str(destination)]
    )
    return open_frames(destination)
