"""H.264 in RTP packets and back (RFC 3550, RFC 6184).

The packetiser works as media servers do: a NAL unit that fits is a packet of its own, small neighbours of one
frame share a packet (STAP-A), and a NAL unit that does not fit is fragmented (FU-A). The depacketiser takes
the received packets, in sequence order, and returns the complete NAL units.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from whimbrel.errors import MediaError

HEADER_BYTES = 12
"""An RTP header without contributing sources (RFC 3550, Section 5.1)."""

CLOCK_HZ = 90_000
"""The timestamp clock of H.264 (RFC 6184, Section 8.2.1)."""

PAYLOAD_TYPE = 96
"""The first dynamic payload type (RFC 3551, Section 6)."""

PCMU = 0
"""G.711 mu-law at 8 kHz (RFC 3551, Section 6)."""

SOURCE = 0x57484942
"""The synchronisation source of generated packets; fixed, so that packets repeat byte by byte."""

# RFC 6184, Table 1.
_STAP_A = 24
_FU_A = 28

_HEADER = struct.Struct(">BBHII")
_VERSION = 2 << 6
_MARKER = 0x80


@dataclass(frozen=True, slots=True)
class RtpPacket:
    """One packet.

    Attributes:
        sequence: unwrapped; the header carries its low 16 bits.
        timestamp: in units of 1/90000 s (of 1/8000 s for G.711), also unwrapped.
        marker: last packet of its frame.
        payload: as in RFC 6184, or as defined by `payload_type`.
        payload_type: 96 for H.264.
    """

    sequence: int
    timestamp: int
    marker: bool
    payload: bytes
    payload_type: int = PAYLOAD_TYPE

    def encode(self) -> bytes:
        """The packet's bytes."""
        second = (_MARKER if self.marker else 0) | self.payload_type
        header = _HEADER.pack(_VERSION, second, self.sequence & 0xFFFF, self.timestamp & 0xFFFF_FFFF, SOURCE)
        return header + self.payload


def decode_packet(data: bytes, sequence: int | None = None) -> RtpPacket:
    """Reads a packet's bytes.

    Args:
        data: the packet; padding, contributing sources and header extensions are skipped.
        sequence: the unwrapped sequence number, if the caller knows it.

    Raises:
        MediaError: not RTP version 2, or truncated.
    """
    if len(data) < HEADER_BYTES or data[0] >> 6 != 2:
        raise MediaError("not an RTP packet")
    first, second, low, timestamp, _ = _HEADER.unpack_from(data)
    start = HEADER_BYTES + 4 * (first & 0x0F)
    if first & 0x10:
        if len(data) < start + 4:
            raise MediaError("the RTP header extension is cut short")
        start += 4 + 4 * struct.unpack_from(">H", data, start + 2)[0]
    end = len(data) - (data[-1] if first & 0x20 else 0)
    if start > end:
        raise MediaError("the RTP packet is shorter than its header says")
    number = low if sequence is None else sequence
    return RtpPacket(number, timestamp, bool(second & _MARKER), data[start:end], second & 0x7F)


def timestamp_of(frame: int, rate: Fraction) -> int:
    """RTP timestamp of a frame, from 0 at frame 0."""
    return round(frame * CLOCK_HZ / rate)


def packetise(units: Sequence[bytes], sequence: int, timestamp: int, max_payload: int) -> list[RtpPacket]:
    """The packets of one frame.

    Args:
        units: the NAL units of the frame.
        sequence: number of the first packet.
        timestamp: of all of them.
        max_payload: largest payload in bytes, without the RTP header.

    Raises:
        MediaError: `max_payload` leaves no room for a fragment.
    """
    if max_payload < 8:
        raise MediaError(f"a payload of {max_payload} bytes is too small for H.264")
    payloads: list[bytes] = []
    together: list[bytes] = []

    def aggregate_bytes(more: Sequence[bytes]) -> int:
        return 1 + sum(2 + len(unit) for unit in more)

    def flush() -> None:
        if len(together) == 1:
            payloads.append(together[0])
        elif together:
            payloads.append(_aggregate(together))
        together.clear()

    for unit in units:
        if together and aggregate_bytes([*together, unit]) > max_payload:
            flush()
        if len(unit) > max_payload:
            flush()
            payloads.extend(_fragments(unit, max_payload))
        else:
            together.append(unit)
    flush()
    last = len(payloads) - 1
    return [
        RtpPacket(sequence + index, timestamp, index == last, payload)
        for index, payload in enumerate(payloads)
    ]


def _aggregate(units: Sequence[bytes]) -> bytes:
    # RFC 6184, Section 5.7.1: F is the OR, NRI the maximum of the aggregated units.
    forbidden = max(unit[0] & 0x80 for unit in units)
    importance = max(unit[0] & 0x60 for unit in units)
    body = b"".join(struct.pack(">H", len(unit)) + unit for unit in units)
    return bytes([forbidden | importance | _STAP_A]) + body


def _fragments(unit: bytes, max_payload: int) -> Iterator[bytes]:
    # RFC 6184, Section 5.8: the unit's own header octet is split over the fragments and is not repeated.
    indicator = (unit[0] & 0xE0) | _FU_A
    room = max_payload - 2
    for start in range(1, len(unit), room):
        begins = 0x80 if start == 1 else 0
        ends = 0x40 if start + room >= len(unit) else 0
        yield bytes([indicator, begins | ends | (unit[0] & 0x1F)]) + unit[start : start + room]


def depacketise(packets: Iterable[RtpPacket]) -> dict[int, list[bytes]]:
    """The whole NAL units of the packets that arrived, by RTP timestamp.

    Args:
        packets: in order of their unwrapped sequence numbers; gaps are losses, repetitions are ignored.

    Returns:
        Timestamp to NAL units, both in sending order. NAL units with a missing fragment are omitted, and so
        are unparsable packets: on a real path any bytes may arrive.
    """
    frames: dict[int, list[bytes]] = {}
    pieces: list[bytes] = []
    last: int | None = None
    for packet in packets:
        if packet.sequence == last:
            continue
        follows = last is not None and packet.sequence == last + 1
        last = packet.sequence
        if not packet.payload:
            pieces = []
            continue
        units: list[bytes] = []
        kind = packet.payload[0] & 0x1F
        if kind == _FU_A:
            pieces = _collect(pieces if follows else [], packet.payload)
            if pieces and packet.payload[1] & 0x40:
                units, pieces = [b"".join(pieces)], []
        else:
            pieces = []
            if kind == _STAP_A:
                units = list(_separate(packet.payload))
            elif 1 <= kind < _STAP_A:
                units = [packet.payload]
        if units:
            frames.setdefault(packet.timestamp, []).extend(units)
    return frames


def _collect(pieces: list[bytes], payload: bytes) -> list[bytes]:
    """The fragments of a unit so far, after one more; empty while its beginning is missing."""
    if len(payload) < 3:
        return []
    indicator, header = payload[0], payload[1]
    if header & 0x80:
        return [bytes([(indicator & 0xE0) | (header & 0x1F)]), payload[2:]]
    return [*pieces, payload[2:]] if pieces else []


def _separate(payload: bytes) -> Iterator[bytes]:
    at = 1
    while at + 2 < len(payload):
        (size,) = struct.unpack_from(">H", payload, at)
        unit = payload[at + 2 : at + 2 + size]
        if size == 0 or len(unit) < size:
            return
        yield unit
        at += 2 + size
