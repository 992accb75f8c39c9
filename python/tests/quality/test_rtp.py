"""RFC 6184 packetisation and depacketisation."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.errors import MediaError
from whimbrel.quality import rtp

# Types 1 to 23 are NAL units of their own; the header octet is never zero.
nal_units = st.builds(
    lambda head, body: bytes([head]) + body,
    st.integers(1, 23).map(lambda kind: 0x60 | kind),
    st.binary(min_size=1, max_size=300),
)
frames = st.lists(nal_units, min_size=1, max_size=8)


def test_header_is_rfc_3550() -> None:
    packet = rtp.RtpPacket(sequence=0x1_2345, timestamp=0x2_0000_0E10, marker=True, payload=b"\x65\x88")
    assert packet.encode().hex(" ") == "80 e0 23 45 00 00 0e 10 57 48 49 42 65 88"


def test_a_unit_that_fits_is_its_own_packet() -> None:
    (packet,) = rtp.packetise([b"\x65" + bytes(9)], 7, 3600, 10)
    assert packet == rtp.RtpPacket(7, 3600, True, b"\x65" + bytes(9))


def test_small_units_share_a_packet() -> None:
    # RFC 6184, Figure 7: header octet, then a 16-bit size before every unit.
    (packet,) = rtp.packetise([b"\x67\x01\x02", b"\x48\x03"], 0, 0, 100)
    assert packet.payload.hex(" ") == "78 00 03 67 01 02 00 02 48 03"


def test_a_large_unit_is_fragmented() -> None:
    # RFC 6184, Section 5.8: indicator with type 28, then start and end bits with the unit's type.
    packets = rtp.packetise([b"\x65" + bytes(range(1, 15))], 0, 0, 8)
    assert [packet.payload[:2].hex() for packet in packets] == ["7c85", "7c05", "7c45"]
    assert b"".join(packet.payload[2:] for packet in packets) == bytes(range(1, 15))
    assert [packet.marker for packet in packets] == [False, False, True]


@given(st.lists(frames, min_size=1, max_size=5), st.integers(8, 400))
def test_packetised_units_are_recovered(video: list[list[bytes]], max_payload: int) -> None:
    packets: list[rtp.RtpPacket] = []
    for number, units in enumerate(video):
        packets += rtp.packetise(units, len(packets), 3600 * number, max_payload)
    assert all(len(packet.payload) <= max_payload for packet in packets)
    assert [packet.sequence for packet in packets] == list(range(len(packets)))
    assert [packet.timestamp for packet in packets if packet.marker] == [3600 * n for n in range(len(video))]
    reread = [rtp.decode_packet(packet.encode(), packet.sequence) for packet in packets]
    assert reread == packets
    assert rtp.depacketise(reread) == {3600 * n: units for n, units in enumerate(video)}


@given(st.lists(frames, min_size=1, max_size=5), st.integers(8, 400), st.data())
def test_losses_remove_whole_units_and_add_none(
    video: list[list[bytes]], max_payload: int, data: st.DataObject
) -> None:
    packets: list[rtp.RtpPacket] = []
    touched: dict[int, set[int]] = {}
    for number, units in enumerate(video):
        for unit in units:
            # One call per unit, so that every packet belongs to one unit.
            made = rtp.packetise([unit], len(packets), 3600 * number, max_payload)
            touched[len(touched)] = {packet.sequence for packet in made}
            packets += made
    lost = data.draw(st.sets(st.integers(0, len(packets) - 1)))
    arrived = [packet for packet in packets if packet.sequence not in lost]
    sent = [(3600 * number, unit) for number, units in enumerate(video) for unit in units]
    expected = [pair for index, pair in enumerate(sent) if not touched[index] & lost]
    found = [(stamp, unit) for stamp, units in rtp.depacketise(arrived).items() for unit in units]
    assert found == expected


@given(st.lists(st.tuples(st.integers(0, 5), st.binary(max_size=30)), max_size=20))
def test_arbitrary_packets_are_tolerated(noise: list[tuple[int, bytes]]) -> None:
    packets = [rtp.RtpPacket(sequence, 0, False, payload) for sequence, payload in sorted(noise)]
    for units in rtp.depacketise(packets).values():
        assert all(units)


@given(st.binary(max_size=40))
def test_bytes_that_are_no_packet_are_an_error(data: bytes) -> None:
    try:
        packet = rtp.decode_packet(data)
    except MediaError:
        return
    assert len(packet.payload) <= len(data) - rtp.HEADER_BYTES


def test_a_repeated_packet_counts_once() -> None:
    (packet,) = rtp.packetise([b"\x41abc"], 3, 0, 100)
    assert rtp.depacketise([packet, packet]) == {0: [b"\x41abc"]}


def test_timestamps_follow_the_frame_rate() -> None:
    assert rtp.timestamp_of(25, Fraction(25)) == 90_000
    assert rtp.timestamp_of(30_000, Fraction(30_000, 1001)) == 1001 * 90_000


def test_a_payload_without_room_is_refused() -> None:
    with pytest.raises(MediaError, match="too small"):
        rtp.packetise([b"\x41abc"], 0, 0, 7)
