"""A minimal MPEG transport stream (ISO/IEC 13818-1), to pass H.264 with exact times to ffmpeg.

A raw H.264 file has no times: after a lost frame a decoder would renumber the rest, and scores would compare
each picture with its neighbour. One program, one stream, one frame per PES packet.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

_PACKET_BYTES = 188
_SYNC = 0x47
_PROGRAM_MAP_PID = 0x1000
_VIDEO_PID = 0x0100
_STREAM_TYPE_H264 = 0x1B
_VIDEO_STREAM_ID = 0xE0


def mux(frames: Iterable[tuple[int, bytes]]) -> bytes:
    """A transport stream of frames.

    Args:
        frames: presentation time in units of 1/90000 s, and the frame as an Annex B byte stream.
    """
    packets = [_tables()]
    counter = 0
    for time, content in frames:
        for packet in _packets(_pes(time, content), counter):
            packets.append(packet)
            counter = (counter + 1) % 16
    return b"".join(packets)


def _tables() -> bytes:
    program = struct.pack(">HH", 1, 0xE000 | _PROGRAM_MAP_PID)
    stream = struct.pack(">BHH", _STREAM_TYPE_H264, 0xE000 | _VIDEO_PID, 0xF000)
    map_body = struct.pack(">HH", 0xE000 | _VIDEO_PID, 0xF000) + stream
    return _section(0, 0x00, program) + _section(_PROGRAM_MAP_PID, 0x02, map_body)


def _section(pid: int, table: int, body: bytes) -> bytes:
    # Identifier 1, version 0, current, section 0 of 0.
    inner = struct.pack(">HBBB", 1, 0xC1, 0, 0) + body
    section = struct.pack(">BH", table, 0xB000 | (len(inner) + 4)) + inner
    section += struct.pack(">I", _crc32(section))
    packet = struct.pack(">BHB", _SYNC, 0x4000 | pid, 0x10) + b"\x00" + section
    return packet.ljust(_PACKET_BYTES, b"\xff")


def _pes(time: int, content: bytes) -> bytes:
    stamp = bytes(
        [
            0x21 | (time >> 29) & 0x0E,
            (time >> 22) & 0xFF,
            (time >> 14) & 0xFE | 1,
            (time >> 7) & 0xFF,
            (time << 1) & 0xFE | 1,
        ]
    )
    # A length of 0 means unbounded, which is allowed for video.
    return b"\x00\x00\x01" + bytes([_VIDEO_STREAM_ID, 0, 0, 0x80, 0x80, len(stamp)]) + stamp + content


def _packets(content: bytes, counter: int) -> Iterator[bytes]:
    room = _PACKET_BYTES - 4
    for start in range(0, len(content), room):
        piece = content[start : start + room]
        header = struct.pack(">BH", _SYNC, (0x4000 if start == 0 else 0) | _VIDEO_PID)
        missing = room - len(piece)
        if missing == 0:
            yield header + bytes([0x10 | counter]) + piece
        else:
            # An adaptation field fills the last packet; its first byte is its length without itself.
            field = bytes([missing - 1]) + (b"\x00" + b"\xff" * (missing - 2) if missing > 1 else b"")
            yield header + bytes([0x30 | counter]) + field + piece
        counter = (counter + 1) % 16


def _crc32(data: bytes) -> int:
    """The CRC of 13818-1, Annex A: polynomial 04C11DB7, most significant bit first, no final inversion."""
    crc = 0xFFFF_FFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1) ^ (0x04C1_1DB7 if crc & 0x8000_0000 else 0)
        crc &= 0xFFFF_FFFF
    return crc
