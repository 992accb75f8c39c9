"""The model of handovers, from Python and from the command line."""

from __future__ import annotations

import json

import pytest

import whimbrel
from whimbrel.__main__ import main
from whimbrel.errors import UsageError


def test_a_handover_between_equal_networks_by_hand() -> None:
    # 32 packets of 500 B per second over 250 ms: intervals of 1 s carry 32, 16 and 8 packets within 3.5 s;
    # then the rate is an eighth. The next packet is due in 1/8 s, 32 x 1/8 packets; then 28, 24 and 16 per
    # second are missing for 1/4 s each.
    actual = whimbrel.handover_model((16e3, 0.25), (16e3, 0.25), disconnection=3.5)
    assert (actual.lost_packets, actual.timeouts, actual.slow_start_rtts) == (56, 3, 3)
    assert actual.rate_on_return == pytest.approx(2e3)
    assert actual.wasted_packets == pytest.approx(32 / 8 + (28 + 24 + 16) / 4)


def test_mobile_ipv6_takes_a_round_trip_and_two_and_a_half_seconds() -> None:
    assert whimbrel.handover_model("umts", "802.16").disconnection_s == pytest.approx(2.67)


def test_the_command_prints_the_functions_result(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "handover", "--network", "home=1.2MB/s,50ms", "--json"]) == 0
    actual = json.loads(capfd.readouterr().out)
    assert len(actual["handovers"]) == 25
    for handover in actual["handovers"]:
        old, new = ((1.2e6, 0.05) if name == "home" else name for name in (handover["from"], handover["to"]))
        model = whimbrel.handover_model(old, new)
        assert handover["lost_packets"] == model.lost_packets
        assert handover["wasted_packets"] == model.wasted_packets


def test_both_halves_of_table_4_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "handover"]) == 0
    lines = capfd.readouterr().out.splitlines()
    # 3.46, 2.67, 2.55 and 2.54 s at 88 packets per second, and 4R is longer.
    assert lines[2].split() == ["umts", "304", "234", "224", "223"]
    assert lines[8].split()[:3] == ["from", "\\", "to"]
    assert len(lines) == 13


def test_mistakes_are_reported(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=r"old is 'wimax'; expected one of umts, 802\.16"):
        whimbrel.handover_model("wimax", "umts")
    with pytest.raises(UsageError, match="new is"):
        whimbrel.handover_model("umts", (1e6, 0.0))
    with pytest.raises(UsageError, match="less than 32 s"):
        whimbrel.handover_model("umts", (1e6, 40.0))
    with pytest.raises(UsageError, match="segment_size is 0"):
        whimbrel.handover_model("umts", "umts", segment_size=0)
    with pytest.raises(UsageError, match="disconnection is -1"):
        whimbrel.handover_model("umts", "umts", disconnection=-1)
    assert main(["model", "handover", "--network", "home=1.2,50ms"]) == 2
    assert "rate of home" in capfd.readouterr().err
    assert main(["model", "handover", "--network", "umts=1MB/s,50ms"]) == 1
    assert "another network has this name" in capfd.readouterr().err
