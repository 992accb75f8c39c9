from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

import whimbrel
from whimbrel.__main__ import main
from whimbrel.errors import UsageError

SEQUENCE = np.array([0, 1, 2, 4, 5, 6, 7, 9, 10, 11])
SENT = SEQUENCE * 0.01
# Packet 3 is missing and the next arrived on time, packet 8 is missing and the next was 70 ms late.
RECEIVED = 0.02 + SENT + np.where(SEQUENCE >= 9, 0.07, 0.0)


def test_radio_and_queue_losses_are_distinguished() -> None:
    losses = whimbrel.classify_losses("biaz", SEQUENCE, None, RECEIVED)
    assert losses.first.tolist() == [3, 8]
    assert losses.count.tolist() == [1, 1]
    assert losses.wireless.tolist() == [True, False]
    assert losses.base == ("biaz", "biaz")


def test_a_clock_offset_changes_nothing() -> None:
    plain = whimbrel.classify_losses("spike", SEQUENCE, SENT, RECEIVED)
    ahead = whimbrel.classify_losses("spike", SEQUENCE, SENT + 1e6, RECEIVED)
    assert plain.wireless.tolist() == ahead.wireless.tolist() == [True, False]


def test_the_command_returns_the_same(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = [
        f"{number},{sent:.3f},{at:.3f}" for number, sent, at in zip(SEQUENCE, SENT, RECEIVED, strict=True)
    ]
    file = tmp_path / "arrivals.csv"
    file.write_text("sequence,sent,received\n" + "\n".join(lines) + "\n")
    for scheme in ("biaz", "mbiaz", "spike", "zigzag", "zbs", "zbs2", "zbs3", "inherent", "standing"):
        losses = whimbrel.classify_losses(scheme, SEQUENCE, SENT, RECEIVED)
        assert main(["classify", str(file), "--scheme", scheme, "--json"]) == 0
        actual = json.loads(capfd.readouterr().out)
        assert [loss["first"] for loss in actual["losses"]] == losses.first.tolist()
        assert [loss["cause"] == "wireless" for loss in actual["losses"]] == losses.wireless.tolist()
        assert [loss["evidence"]["scheme"] for loss in actual["losses"]] == list(losses.base)


def test_wrong_arrays_are_named() -> None:
    with pytest.raises(UsageError, match=r"received has shape \(3,\); expected \(10,\)"):
        whimbrel.classify_losses("biaz", SEQUENCE, None, [1, 2, 3])
    with pytest.raises(UsageError, match=r"received\[2\] is before received\[1\]"):
        whimbrel.classify_losses("biaz", [1, 2, 3], None, [0.0, 0.2, 0.1])
    with pytest.raises(UsageError, match=r"sent\[1\] is not a finite number"):
        whimbrel.classify_losses("spike", [1, 2, 3], [0.0, np.nan, 1.0], [0.0, 0.1, 0.2])
    with pytest.raises(UsageError, match="expected whole numbers from 0"):
        whimbrel.classify_losses("biaz", [1.5], None, [0.0])
    with pytest.raises(ValueError, match="expected one of biaz, mbiaz"):
        whimbrel.classify_losses("zigzig", SEQUENCE, SENT, RECEIVED)


def test_no_arrivals_have_no_losses() -> None:
    assert len(whimbrel.classify_losses("zbs3", np.array([], dtype=int), [], [])) == 0


def _tcp_capture(file: Path) -> None:
    """Write a capture of a TCP handshake and ten segments, raw IPv4."""
    ends = (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    packets = [(0, 0, 0x02, b""), (1, 0, 0x12, b""), (0, 1, 0x10, b"")]
    packets += [(0, 1 + 100 * segment, 0x18, bytes(100)) for segment in range(10)]
    records = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 101)]
    for time, (sender, number, flags, data) in enumerate(packets):
        ports = (40_000, 80) if sender == 0 else (80, 40_000)
        segment = struct.pack(">HHIIBBHHH", *ports, number, 1, 5 << 4, flags, 8_192, 0, 0) + data
        header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, 64, 6, 0)
        packet = header + ends[sender] + ends[1 - sender] + segment
        records.append(struct.pack("<IIII", 1, 1_000 * time, len(packet), len(packet)) + packet)
    file.write_bytes(b"".join(records))


def test_a_capture_of_tcp_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The command says that a capture has TCP, and what reads it."""
    file = tmp_path / "tcp.pcap"
    _tcp_capture(file)
    assert main(["classify", str(file)]) != 0
    said = " ".join(capfd.readouterr().err.split())
    assert "TCP, whose losses are not classified" in said
    assert "whimbrel inspect" in said
