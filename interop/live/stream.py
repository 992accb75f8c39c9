"""The video that is sent: an encoding at a rate, as frames of RTP packets, made once and kept.

ffmpeg draws a zoom into the Mandelbrot set, which no encoder finds easy, encodes it as a live encoder does,
and its own RTP muxer divides it into packets. The same program gives the same packets.
"""

from __future__ import annotations

import os
import socket
import struct
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whimbrel._base import ffmpeg
from whimbrel.errors import MediaError
from whimbrel.quality import rtp
from whimbrel.quality.encode import NAL_KEY_SLICE, nal_type

FRAMES_PER_S = 30
SOURCE = f"mandelbrot=size=1280x720:rate={FRAMES_PER_S}"
RATE_BPS = 1_500_000
KEY_EVERY = 50
"""Frames from one key frame to the next."""
LADDER_BPS = (200_000, 300_000, 450_000, 600_000, 800_000, 1_000_000, 1_250_000, RATE_BPS)
LADDER_KEY_EVERY = 10
"""An encoder that follows a rate changes it at a key frame: three times a second."""
RESTART_EVERY = 2
"""An encoder that is asked for a key frame makes it after so many frames at the latest."""
PACKET_BYTES = 1200
BUFFER_S = 0.1
"""Of the rate control: a frame may be as large as the rate fills in this time."""
SOURCE_ID = 0x4C495645
_PART = struct.Struct(">H")
_HEADER = struct.Struct(">BBHII")


@dataclass(frozen=True, slots=True)
class Encoding:
    """A video at one rate.

    Attributes:
        frames: the RTP packets of each frame. Each encoding has its own numbers and times.
        is_key: for each frame, true if decoding can begin with it.
    """

    frames: tuple[tuple[bytes, ...], ...]
    is_key: tuple[bool, ...]


def file_of(folder: Path, rate_bps: int, frames: int, key_every: int, first_key: int = 0) -> Path:
    """The file of an encoding."""
    shift = f"+{first_key}" if first_key else ""
    return folder / f"video-{rate_bps // 1000}k-{frames}-{key_every}{shift}.rtp"


def make(folder: Path, rate_bps: int, frames: int, key_every: int, first_key: int = 0) -> Path:
    """The file with an encoding, which is made if it does not exist.

    Args:
        folder: of the files.
        rate_bps: of the video.
        frames: its length.
        key_every: frames from one key frame to the next.
        first_key: number of the frame after which they are counted; the very first one is a key frame, too.
    """
    path = file_of(folder, rate_bps, frames, key_every, first_key)
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    rate, buffer = f"{rate_bps}", f"{int(rate_bps * BUFFER_S)}"
    encode = ["-f", "lavfi", "-i", SOURCE, "-frames:v", str(frames), "-c:v", "libx264"]
    encode += ["-preset", "veryfast", "-tune", "zerolatency", "-threads", "1", "-g", str(key_every)]
    encode += ["-b:v", rate, "-maxrate", rate, "-bufsize", buffer, "-pix_fmt", "yuv420p"]
    encode += ["-x264-params", f"scenecut=0:repeat-headers=1:min-keyint={key_every}"]
    if first_key:
        encode += ["-force_key_frames", f"expr:eq(n,{first_key})", "-forced-idr", "1"]
    packets = _packets([*encode, "-flags", "+bitexact", "-fflags", "+bitexact"])
    partial = path.with_suffix(f".partial-{os.getpid()}")
    with partial.open("wb") as file:
        for packet in packets:
            file.write(_PART.pack(len(packet)) + packet)
    partial.replace(path)
    return path


def _packets(encode: Sequence[str]) -> list[bytes]:
    """The packets that ffmpeg's muxer makes; a Unix socket keeps their bounds and loses none."""
    found: list[bytes] = []
    with tempfile.TemporaryDirectory(prefix="whimbrel-") as folder:
        address = f"{folder}/packets"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            receiver.bind(address)

            def take() -> None:
                while packet := receiver.recv(65_536):
                    found.append(packet)

            taking = threading.Thread(target=take)
            taking.start()
            try:
                ffmpeg.run(
                    [*encode, "-rtpflags", "skip_rtcp", "-packetsize", str(PACKET_BYTES)]
                    + ["-type", "datagram", "-f", "rtp", f"unix:{address}"]
                )
            finally:
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ending:
                    ending.sendto(b"", address)
                taking.join()
    return found


def read(path: Path) -> Encoding:
    """Reads an encoding.

    Raises:
        MediaError: the file is cut short, or holds something else than RTP.
    """
    content = path.read_bytes()
    packets: list[bytes] = []
    at = 0
    while at < len(content):
        if at + _PART.size > len(content):
            raise MediaError(f"{path} is cut short")
        (size,) = _PART.unpack_from(content, at)
        packet = content[at + _PART.size : at + _PART.size + size]
        if len(packet) < size:
            raise MediaError(f"{path} is cut short")
        packets.append(packet)
        at += _PART.size + size
    return group(packets)


def group(packets: Sequence[bytes]) -> Encoding:
    """Groups packets in sending order by their timestamps.

    Raises:
        MediaError: a packet is not RTP.
    """
    frames: list[list[bytes]] = []
    stamp: int | None = None
    decoded = [rtp.decode_packet(packet, at) for at, packet in enumerate(packets)]
    for packet, parsed in zip(packets, decoded, strict=True):
        if parsed.timestamp != stamp:
            frames.append([])
            stamp = parsed.timestamp
        frames[-1].append(packet)
    units = rtp.depacketise(decoded)
    keys = (any(nal_type(unit) == NAL_KEY_SLICE for unit in each) for each in units.values())
    return Encoding(tuple(map(tuple, frames)), tuple(keys))


def numbered(packet: bytes, sequence: int, frame: int) -> bytes:
    """A packet of an encoding with the number and the time that it has in the stream."""
    first, second, *_ = _HEADER.unpack_from(packet)
    stamp = frame * rtp.CLOCK_HZ // FRAMES_PER_S
    header = _HEADER.pack(first, second, sequence & 0xFFFF, stamp & 0xFFFF_FFFF, SOURCE_ID)
    return header + packet[_HEADER.size :]


def choose(rate_bps: float, ladder_bps: Sequence[int]) -> int:
    """The place in an ascending ladder of the highest rate that does not exceed one; the lowest otherwise."""
    return max((at for at, each in enumerate(ladder_bps) if each <= rate_bps), default=0)
