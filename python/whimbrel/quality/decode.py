"""Decoding of received packets into shown pictures: one for every frame that was sent.

The decoder conceals missing slices in its own way. This module enforces timing: a frame of which nothing
arrived, or which cannot be decoded, repeats the picture before it; the screen is black until the first.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whimbrel._base import ffmpeg
from whimbrel.errors import MediaError
from whimbrel.quality import mpegts
from whimbrel.quality.encode import (
    NAL_KEY_SLICE,
    NAL_PICTURE_PARAMETERS,
    NAL_SEQUENCE_PARAMETERS,
    NAL_SLICE,
    START_CODE,
    nal_type,
)
from whimbrel.quality.frames import Frames, black, open_frames, write_frames
from whimbrel.quality.rtp import CLOCK_HZ, timestamp_of

# Starts every frame in the stream, so that a frame without its first slice is not taken for a part of the one
# before. Type 9, any slice type (H.264, 7.3.2.4).
_ACCESS_UNIT_DELIMITER = START_CODE + b"\x09\xf0"


@dataclass(frozen=True)
class Shown:
    """The pictures shown on the screen.

    Attributes:
        frames: one picture for every frame sent.
        source: for every frame, the number of the frame whose picture was shown: its own, an earlier one,
            or -1 for a black screen.
    """

    frames: Frames
    source: npt.NDArray[np.int64]

    @property
    def frozen(self) -> npt.NDArray[np.bool_]:
        """Frames that showed an earlier picture, or none."""
        return np.not_equal(self.source, np.arange(self.source.size))


def decodable(
    received: Mapping[int, Sequence[bytes]], signalled: Sequence[bytes] = ()
) -> dict[int, list[bytes]]:
    """The NAL units that a live decoder can use, given the parameter sets known at their arrival.

    A slice is useless without parameter sets. ffmpeg would look ahead in the file for the next ones, which no
    live receiver can do, so slices before the first complete pair of sets are removed here; and without any
    key frame nothing can be shown.

    Args:
        received: frame number to NAL units, in sending order.
        signalled: parameter sets known to the receiver before the first packet, from the description of the
            session (RFC 6184, Section 8.2.1); they are put before everything else.
    """
    known = {nal_type(unit) for unit in signalled}
    before = list(signalled)
    started = False
    usable: dict[int, list[bytes]] = {}
    for frame in sorted(received):
        kept: list[bytes] = []
        for unit in received[frame]:
            kind = nal_type(unit)
            if kind in (NAL_SEQUENCE_PARAMETERS, NAL_PICTURE_PARAMETERS):
                known.add(kind)
                kept.append(unit)
            elif kind in (NAL_SLICE, NAL_KEY_SLICE) and len(known) == 2:
                started |= kind == NAL_KEY_SLICE
                kept.append(unit)
        if kept:
            usable[frame] = [*before, *kept]
            before = []
    return usable if started else {}


def decode(
    received: Mapping[int, Sequence[bytes]],
    like: Frames,
    count: int,
    destination: Path,
    *,
    signalled: Sequence[bytes] = (),
) -> Shown:
    """Decodes the received NAL units and aligns the pictures with the sent frames.

    Args:
        received: frame number to NAL units, in sending order.
        like: frames with the size and rate of the video, such as its source.
        count: number of frames sent.
        destination: the `.y4m` file to write, with `count` frames.
        signalled: see `decodable`.
    """
    usable = decodable(received, signalled)
    with tempfile.TemporaryDirectory(prefix="whimbrel-") as directory:
        numbers, pictures = _decode_stream(usable, like, Path(directory))
        source = np.full(count, -1, dtype=np.int64)
        index = np.full(count, -1, dtype=np.int64)
        for position, number in enumerate(numbers):
            if not 0 <= number < count:
                raise MediaError(f"the decoder put a picture at frame {number} of {count}")
            source[number] = number
            index[number] = position
        np.maximum.accumulate(source, out=source)
        np.maximum.accumulate(index, out=index)

        def shown() -> Iterator[Any]:
            nothing = black(like)
            for position in index:
                yield nothing if position < 0 else pictures[position]

        frames = write_frames(destination, like, shown())
    return Shown(frames, source)


def _decode_stream(
    usable: Mapping[int, Sequence[bytes]], like: Frames, directory: Path
) -> tuple[list[int], npt.NDArray[Any]]:
    """Frame numbers, ascending, and the records of the decoded pictures."""
    if not usable:
        return [], like.records[:0]
    stream = directory / "received.ts"
    stream.write_bytes(
        mpegts.mux(
            (
                timestamp_of(frame, like.rate),
                _ACCESS_UNIT_DELIMITER + b"".join(START_CODE + unit for unit in units),
            )
            for frame, units in sorted(usable.items())
        )
    )
    decoded, times = directory / "decoded.y4m", directory / "times.txt"
    # The decoder's own times, neither dropped nor repeated nor rounded to a guessed frame rate.
    exact = ["-map", "0:v:0", "-fps_mode", "passthrough", "-enc_time_base", f"1:{CLOCK_HZ}"]
    ffmpeg.run(
        # One thread: with more, the concealment of missing slices differs from run to run.
        ["-threads", "1", "-copyts", "-probesize", str(2**31 - 1), "-analyzeduration", str(2**31 - 1)]
        + ["-f", "mpegts", "-i", str(stream)]
        + [*exact, "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", str(decoded)]
        + [*exact, "-pix_fmt", "yuv420p", "-f", "framecrc", str(times)]
    )
    pictures = open_frames(decoded)
    numbers = _frame_numbers(times.read_text(encoding="ascii"), like.rate)
    if len(numbers) != len(pictures):
        raise MediaError(f"the decoder wrote {len(pictures)} pictures and {len(numbers)} times")
    if (pictures.width, pictures.height) != (like.width, like.height):
        raise MediaError("the decoded video has another size than its source")
    return numbers, pictures.records


def _frame_numbers(report: str, rate: Fraction) -> list[int]:
    """Frame numbers out of ffmpeg's framecrc report."""
    base = Fraction(1, CLOCK_HZ)
    numbers: list[int] = []
    for line in report.splitlines():
        if line.startswith("#tb 0:"):
            base = Fraction(line.split(":")[1].strip())
        elif line and not line.startswith("#"):
            numbers.append(round(int(line.split(",")[2]) * base * rate))
    if any(later <= earlier for earlier, later in itertools.pairwise(numbers)):
        raise MediaError("the decoder's times do not ascend")
    return numbers
