"""A real video over a lossy path: schedule, losses, pictures, scores.

`Stream.prepare` converts a clip into RTP packets with their sending times. The schedule is sent by the
simulator (or by a real transport), which returns the arrival time of each packet; `Stream.receive` shows the
pictures of a player with a given playout delay, and `Reception.quality` scores them against the clip.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whimbrel.errors import MediaError
from whimbrel.quality import rtp
from whimbrel.quality.decode import Shown, decode
from whimbrel.quality.encode import EncodedVideo, encode
from whimbrel.quality.frames import Frames, decode_clip
from whimbrel.quality.scores import Quality, score

MAX_RTP_BYTES = 1200
"""Largest RTP packet: leaves room for DCCP, UDP and IPv6 in the 1280 bytes that every IPv6 path carries."""


@dataclass(frozen=True)
class Schedule:
    """The packets of a video in sending order, as columns of one length.

    Attributes:
        time_s: time at which the application hands the packet over, in seconds from the first frame.
        size_bytes: RTP header and payload.
        frame: number of the frame the packet belongs to.
        kind: `I` for a packet of a key frame, `P` for one of any other.
        sequence: RTP sequence number, not wrapped.
        packets: the packets' bytes.
        rate: frames per second.
        frame_count: number of frames.
    """

    time_s: npt.NDArray[np.float64]
    size_bytes: npt.NDArray[np.int64]
    frame: npt.NDArray[np.int64]
    kind: npt.NDArray[np.str_]
    sequence: npt.NDArray[np.int64]
    packets: tuple[bytes, ...]
    rate: Fraction
    frame_count: int

    def __len__(self) -> int:
        return len(self.packets)

    @property
    def duration_s(self) -> float:
        """Seconds from the first frame to the end of the last."""
        return float(self.frame_count / self.rate)

    def write_csv(self, path: Path) -> None:
        """Writes the file for a scenario's `traffic = { kind = "video", schedule = ... }`.

        Columns: `time_s` (exact to the nanosecond), `size_bytes`, `frame`, `type`.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["time_s", "size_bytes", "frame", "type"])
        for row in zip(self.time_s, self.size_bytes, self.frame, self.kind, strict=True):
            writer.writerow([f"{row[0]:.9f}", row[1], row[2], row[3]])
        path.write_text(text.getvalue(), encoding="ascii")

    def received(self, arrived: npt.NDArray[np.bool_]) -> dict[int, list[bytes]]:
        """The complete NAL units by frame number, ascending, given the packets that arrived."""
        packets = (rtp.decode_packet(self.packets[at], int(at)) for at in np.flatnonzero(arrived))
        numbers = {rtp.timestamp_of(n, self.rate) & 0xFFFF_FFFF: n for n in range(self.frame_count)}
        return {numbers[stamp]: units for stamp, units in rtp.depacketise(packets).items()}


def make_schedule(video: EncodedVideo, *, repeat: int = 1, max_rtp_bytes: int = MAX_RTP_BYTES) -> Schedule:
    """The packets of an encoded video, each frame's at the instant of the frame.

    Args:
        video: as from `encode`.
        repeat: number of repetitions of the video.
        max_rtp_bytes: largest packet with its RTP header.
    """
    packets: list[bytes] = []
    frame_of: list[int] = []
    kinds: list[str] = []
    for number in range(repeat * len(video.frames)):
        frame = video.frames[number % len(video.frames)]
        stamp = rtp.timestamp_of(number, video.rate)
        made = rtp.packetise(frame.nal_units, len(packets), stamp, max_rtp_bytes - rtp.HEADER_BYTES)
        packets += [packet.encode() for packet in made]
        frame_of += [number] * len(made)
        kinds += ["I" if frame.is_key else "P"] * len(made)
    frame_column = np.array(frame_of, dtype=np.int64)
    return Schedule(
        time_s=frame_column / np.float64(video.rate),
        size_bytes=np.array([len(packet) for packet in packets], dtype=np.int64),
        frame=frame_column,
        kind=np.array(kinds, dtype=np.str_),
        sequence=np.arange(len(packets), dtype=np.int64),
        packets=tuple(packets),
        rate=video.rate,
        frame_count=repeat * len(video.frames),
    )


def in_time(
    schedule: Schedule, arrival_s: npt.NDArray[np.float64], playout_delay_s: float | None
) -> npt.NDArray[np.bool_]:
    """Marks the packets that arrived in time.

    Args:
        schedule: the packets sent.
        arrival_s: arrival of every packet on the schedule's clock, in seconds; NaN for a lost one.
        playout_delay_s: a frame is shown this long after its instant, and later packets count as lost. None
            waits forever.
    """
    if arrival_s.shape != schedule.time_s.shape:
        raise MediaError(f"{arrival_s.size} arrivals for {len(schedule)} packets")
    if playout_delay_s is None:
        return ~np.isnan(arrival_s)
    # NaN compares false. The nanosecond tolerates the sum's rounding.
    return np.asarray(arrival_s <= schedule.time_s + playout_delay_s + 1e-9)


@dataclass(frozen=True)
class Stream:
    """A clip prepared for sending.

    Attributes:
        reference: the clip's frames.
        video: the clip as H.264.
        schedule: its packets.
    """

    reference: Frames
    video: EncodedVideo
    schedule: Schedule

    @classmethod
    def prepare(
        cls,
        clip: Path,
        workspace: Path,
        *,
        bit_rate: float = 500_000,
        seconds: float | None = None,
        repeat: int = 1,
        key_interval_s: float = 2.0,
        max_rtp_bytes: int = MAX_RTP_BYTES,
    ) -> Stream:
        """Decodes a clip for reference, encodes it for the path and cuts it into packets.

        Args:
            clip: any video ffmpeg reads, such as `clips.fetch("bikes")`.
            workspace: an existing directory; the reference is kept there as `reference.y4m`.
            bit_rate: bit/s of the H.264.
            seconds: only the beginning of the clip.
            repeat: number of repetitions of the clip.
            key_interval_s: seconds between key frames.
            max_rtp_bytes: largest packet with its RTP header.
        """
        reference = decode_clip(clip, workspace / "reference.y4m", seconds=seconds)
        video = encode(
            reference,
            bit_rate,
            max_nal_bytes=max_rtp_bytes - rtp.HEADER_BYTES,
            key_interval_s=key_interval_s,
        )
        return cls(reference, video, make_schedule(video, repeat=repeat, max_rtp_bytes=max_rtp_bytes))

    def receive(
        self,
        arrival_s: npt.NDArray[np.float64],
        destination: Path,
        *,
        playout_delay_s: float | None = None,
        signalled: bool = True,
    ) -> Reception:
        """The pictures that a player shows from the packets that arrived in time.

        Args:
            arrival_s: arrival of every packet of the schedule in seconds, on the schedule's clock; NaN for a
                lost one.
            destination: the `.y4m` file to write.
            playout_delay_s: see `in_time`.
            signalled: true if the receiver has the parameter sets from the description of the session, as RTP
                receivers do; otherwise nothing is shown until a pair of them arrives.
        """
        arrived = in_time(self.schedule, arrival_s, playout_delay_s)
        units = self.schedule.received(arrived)
        sets = self.video.parameter_sets if signalled else ()
        shown = decode(units, self.reference, self.schedule.frame_count, destination, signalled=sets)
        return Reception(self, arrived, shown)


@dataclass(frozen=True)
class Reception:
    """The result of sending a stream.

    Attributes:
        stream: that was sent.
        arrived: true for packets that arrived in time.
        shown: the pictures.
    """

    stream: Stream
    arrived: npt.NDArray[np.bool_]
    shown: Shown

    @property
    def loss_rate(self) -> float:
        """Share of packets that did not arrive in time."""
        return 1 - float(np.mean(self.arrived))

    def quality(self, *, with_vmaf: bool = True) -> Quality:
        """The scores of every frame against the clip."""
        return score(self.stream.reference, self.shown.frames, with_vmaf=with_vmaf)
