"""H.264 encoding for a lossy path.

Slices fit into one packet, so a lost packet costs one slice; parameter sets accompany every key frame, so
losing the first is survivable; there are no B frames, so frames are sent and received in display order. One
thread and no version strings: the same clip produces the same bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from whimbrel._base import ffmpeg
from whimbrel.errors import MediaError
from whimbrel.quality.frames import Frames

START_CODE = b"\x00\x00\x00\x01"

# Rec. ITU-T H.264, Table 7-1.
NAL_SLICE = 1
NAL_KEY_SLICE = 5
NAL_SEQUENCE_PARAMETERS = 7
NAL_PICTURE_PARAMETERS = 8


@dataclass(frozen=True, slots=True)
class EncodedFrame:
    """The NAL units of one frame, parameter sets first, without start codes."""

    nal_units: tuple[bytes, ...]

    @property
    def is_key(self) -> bool:
        """True if decoding can start here."""
        return any(nal_type(unit) == NAL_KEY_SLICE for unit in self.nal_units)

    @property
    def size(self) -> int:
        """Bytes of all NAL units."""
        return sum(map(len, self.nal_units))


@dataclass(frozen=True, slots=True)
class EncodedVideo:
    """A clip as H.264.

    Attributes:
        frames: in the order in which they are sent and shown.
        rate: frames per second.
        width: luma samples per line.
        height: lines.
    """

    frames: tuple[EncodedFrame, ...]
    rate: Fraction
    width: int
    height: int

    @property
    def parameter_sets(self) -> tuple[bytes, ...]:
        """The sequence and picture parameter sets, which are the same in every key frame."""
        kinds = (NAL_SEQUENCE_PARAMETERS, NAL_PICTURE_PARAMETERS)
        return tuple(unit for unit in self.frames[0].nal_units if nal_type(unit) in kinds)

    @property
    def duration_s(self) -> float:
        """Seconds from the first frame to the end of the last."""
        return float(len(self.frames) / self.rate)

    @property
    def bit_rate(self) -> float:
        """Mean rate of the NAL units in bit/s."""
        return 8 * sum(frame.size for frame in self.frames) / self.duration_s


def nal_type(unit: bytes) -> int:
    """The type of a NAL unit (`nal_unit_type`)."""
    return unit[0] & 0x1F


def encode(
    source: Frames, bit_rate: float = 1_000_000, *, max_nal_bytes: int = 1188, key_interval_s: float = 2.0
) -> EncodedVideo:
    """Encodes frames with libx264 at a constant rate with a one second buffer.

    Args:
        source: frames to encode.
        bit_rate: bit/s of the video, without RTP.
        max_nal_bytes: largest slice. The encoder may exceed it if a single macroblock needs more.
        key_interval_s: seconds between key frames.
    """
    interval = max(1, round(key_interval_s * source.rate))
    options = {
        "slice-max-size": max_nal_bytes,
        "repeat-headers": 1,
        "keyint": interval,
        "min-keyint": interval,
        "scenecut": 0,
    }
    kilobits = f"{bit_rate / 1000:g}k"
    with tempfile.TemporaryDirectory(prefix="whimbrel-") as directory:
        output = Path(directory) / "video.264"
        ffmpeg.run(
            ["-i", str(source.path), "-c:v", "libx264", "-preset", "medium", "-tune", "zerolatency"]
            + ["-b:v", kilobits, "-maxrate", kilobits, "-bufsize", kilobits, "-threads", "1"]
            + ["-x264-params", ":".join(f"{key}={value}" for key, value in options.items())]
            # Supplemental information (type 6) contains the encoder's name and options: a useless packet.
            + ["-bsf:v", "filter_units=remove_types=6", "-bitexact", "-f", "h264", str(output)]
        )
        frames = tuple(group_frames(split_nal_units(output.read_bytes())))
    if len(frames) != len(source):
        raise MediaError(f"{len(source)} frames were encoded as {len(frames)}")
    return EncodedVideo(frames, source.rate, source.width, source.height)


def split_nal_units(stream: bytes) -> list[bytes]:
    """The NAL units of an Annex B byte stream, without start codes and trailing zeros."""
    # A NAL unit cannot hold 00 00 01 inside, and never ends with a zero byte (H.264, 7.4.1).
    units = (unit.rstrip(b"\x00") for unit in stream.split(b"\x00\x00\x01")[1:])
    return [unit for unit in units if unit]


def group_frames(units: Sequence[bytes]) -> Iterator[EncodedFrame]:
    """Groups NAL units by frame.

    A slice whose `first_mb_in_slice` is 0 begins a frame, together with the units between it and the slice
    before: the encoder neither reorders slices nor repeats them.
    """
    frame: list[bytes] = []
    before: list[bytes] = []
    for unit in units:
        if nal_type(unit) not in (NAL_SLICE, NAL_KEY_SLICE):
            before.append(unit)
            continue
        # first_mb_in_slice is the first Exp-Golomb number of the slice: a leading one bit is zero.
        if unit[1] & 0x80 and frame:
            yield EncodedFrame(tuple(frame))
            frame = []
        frame += [*before, unit]
        before = []
    if frame:
        yield EncodedFrame(tuple(frame))
