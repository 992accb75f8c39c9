"""The walk to the cafe with real programs: scenario, measures, and a quick walk where it can be made."""

from __future__ import annotations

import json
import os
import shlex
import socket
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from shell_blocks import ROOT, commands

from whimbrel.testbed import command, measures, runs, walk
from whimbrel.testbed.interfaces import IFF_LOWER_UP, IFLA_IFNAME, RTM_NEWLINK, Monitor
from whimbrel.testbed.measures import Viewed
from whimbrel.testbed.runs import Run
from whimbrel.testbed.source import recorded

PROGRAM = os.environ.get("WHIMBREL_PROGRAM")
"""The compiled command, instead of the package's."""
WHIMBREL = [sys.executable, "-m", "whimbrel"]


def test_the_walk_visits_the_papers_networks_with_gaps_of_mobile_ipv6() -> None:
    visits = walk.visits(50.0)
    assert [visit.network.kbps for visit in visits] == [1000, 500, 700, 500, 1000]
    # 50 packets of 1250 bytes take 1 s at 500 kbit/s; two delays of 250 ms; and 2.5 s.
    assert visits[1].start_s - visits[0].end_s == pytest.approx(4.0)
    assert visits[0].end_s == 57.0
    scenario = walk.scenario(visits)
    ups = {}
    for event in sorted(scenario["event"], key=lambda each: float(each["time"].split()[0])):
        ups[event["link"]] = event["up"]
        # At most one network is there at a time.
        assert sum(ups.get(each.name, True) for each in walk.NETWORKS) <= 1 or len(ups) < 2
    assert ups == {"home": True, "cell": False, "cafe": False}


def test_stalls_are_pictures_that_stand_for_half_a_second() -> None:
    frozen = np.zeros(100, dtype=np.bool_)
    frozen[10:24] = frozen[40:56] = frozen[90:] = True
    # At 30 frames per second: 0.47, 0.53 and 0.33 s.
    assert measures.stalls(frozen, 1 / 30) == 1
    assert measures.stalls(~frozen, 1 / 30) == 2


def viewed(arrival_s: np.ndarray[tuple[int], np.dtype[np.float64]], rate: float = 100.0) -> Viewed:
    """A stream of 1000-byte packets at 100 packets a second from 4 s on."""
    sent = 4 + np.arange(arrival_s.size) / rate
    run = Run("tfrc", 4.0, arrival_s, {})
    none = np.empty(0)
    size = np.full(arrival_s.size, 1000.0)
    arrived = ~np.isnan(arrival_s)
    return Viewed(run, none, none, none, none.astype(np.bool_), sent, size, arrived)


def test_recovery_is_counted_from_the_return_of_the_interface() -> None:
    visits = walk.visits(20.0, 2)
    back = visits[1].start_s
    sent = np.arange(4000) / 100
    arrival = sent + 0.3
    # Nothing sent between the end of the first visit and 1.5 s after the second's beginning arrives.
    arrival[(sent + 4 > visits[0].end_s) & (sent + 4 < back + 1.5)] = np.nan
    seen = viewed(arrival)
    assert measures.first_again(seen, visits[1]) == pytest.approx(1.8, abs=0.02)
    # 842 kbit/s come at 500 kbit/s of capacity: nine tenths of that within 2 s need 1.07 s of the stream.
    assert measures.full_again(seen, visits[1]) == pytest.approx(1.8 - (2 - 1.07), abs=0.11)
    nothing = viewed(np.where(sent + 4 < back, arrival, np.nan))
    assert measures.full_again(nothing, visits[1]) == measures.first_again(nothing, visits[1]) == 20.0


def test_losses_in_a_gap_are_those_of_packets_to_the_phone() -> None:
    rows = {
        "time_s": [27.0, 28.0, 28.0, 28.0, 60.0],
        "lost_down": [0, 7, 3, 2, 100],
        "flow": ["home", "home", "cell", "home>server", "cell"],
    }
    visits = walk.visits(20.0, 3)
    run = Run("tfrc", 4.0, np.empty(0), {"tables": {"intervals": rows}})
    assert measures.lost_after(run, visits[0], visits[1].end_s) == 10


def test_the_kernels_messages_on_links_are_changes_of_carriers() -> None:
    monitor = Monitor.__new__(Monitor)
    monitor._known = {}

    def message(name: str, flags: int) -> bytes:
        attribute = struct.pack("=HH", 5 + len(name), IFLA_IFNAME) + name.encode() + b"\0"
        body = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, 7, flags, 0) + attribute.ljust(12, b"\0")
        return struct.pack("=IHHII", 16 + len(body), RTM_NEWLINK, 0, 0, 0) + body

    both = message("cell", IFF_LOWER_UP | 1) + message("home", 1)
    assert [(each.interface, each.has_carrier) for each in monitor._parsed(both, 1.0)] == [("home", False)]
    assert monitor._parsed(message("home", 1), 2.0) == []
    (change,) = monitor._parsed(message("home", IFF_LOWER_UP), 3.0)
    assert change.has_carrier


def test_a_recording_is_read_packet_by_packet(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("time_s,size_bytes,frame,type\n0.0,2,0,I\n0.5,3,1,P\n")
    (tmp_path / "s.bin").write_bytes(b"abcde")
    assert list(recorded(tmp_path / "s")) == [(0.0, b"ab"), (0.5, b"cde")]


def test_mistakes_on_the_command_line_are_reported(capfd: pytest.CaptureFixture[str]) -> None:
    from whimbrel.__main__ import main

    assert main(["testbed", "coffee-walk", "--visit", "1000"]) == 2
    assert "expected 4 to 100 s" in capfd.readouterr().err


def test_the_kernels_tcp_and_our_dccp_carry_the_stream_across_real_handovers(tmp_path: Path) -> None:
    if reason := command.missing([PROGRAM] if PROGRAM else WHIMBREL):
        if os.environ.get("REQUIRE_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    (printed,) = (words for words in commands(ROOT / "docs" / "testbed.md") if " --quick" in words)
    words = ["testbed", "coffee-walk", "--quick", "--transports", "freeze-following,tcp-kernel", "--json"]
    assert shlex.split(printed)[1:4] == words[:3]
    words += ["--whimbrel", PROGRAM] if PROGRAM else []
    done = subprocess.run(
        [*WHIMBREL, *words, "--out", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    visits = walk.visits(command.QUICK_VISIT_S, command.QUICK_VISITS)
    for transport in ("freeze-following", "tcp-kernel"):
        folder = tmp_path / "runs" / f"{transport}-1"
        phone = json.loads((folder / "phone.json").read_text())
        at = {(name, up): time - phone["epoch_s"] for time, name, up in phone["changes"]}
        # The kernel's notifications come at the scenario's times.
        assert at["home", False] == pytest.approx(visits[0].end_s, abs=0.3)
        assert at["cell", True] == pytest.approx(visits[1].start_s, abs=0.3)
        assert at["cafe", True] == pytest.approx(visits[2].start_s, abs=0.3)
        table = report["tables"]["fig10-visits"]
        for visit in ("3G", "cafe"):
            # A busy machine delays programs; without a handover of the connection nothing would come at all.
            assert table[visit][transport]["first"] < visits[1].end_s - visits[1].start_s - 1
            assert table[visit][transport]["used"] > 10
    assert (tmp_path / "index.html").is_file()
    assert (tmp_path / "coffee-walk" / "psnr-psnr.svg").is_file()


def test_each_transport_has_two_ends_and_only_freezing_ones_are_noticed() -> None:
    found = {each.key: each for each in runs.transports(["whimbrel"], Path("quic_carry"))}
    assert list(found) == ["tfrc", "freeze", "freeze-following", "tcp-kernel", "quic-datagram"]
    assert [key for key, each in found.items() if each.is_noticed] == ["freeze", "freeze-following"]
    assert "loss-rate" in found["freeze"].receive
    assert "--restart" not in found["freeze-following"].receive
