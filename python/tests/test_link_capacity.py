"""The capacity of a bottleneck over time, compared with the throughput of a link that is always busy."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from whimbrel._simulate import simulation
from whimbrel._simulate.scenario import Scenario

BUSY = """
[simulation]
duration = "30 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
RATE
delay = "1 us"
queue = "1000 packets"
[[flow]]
name = "up"
from = "a"
to = "b"
transport = "udp"
packet_size = "100 B"
traffic = { kind = "cbr", rate = "20 Mbit/s" }
[record]
interval = "500 ms"
"""
BORDER = 1500 * 8 / 0.5
"""A delivery at the very end of an interval may be counted in the next one, in bit/s."""
STEPS = "time_s,note,rate_kbps\n10,,2000\n11,,500\n13.2,,12000\n14,,0\n15.5,,4000\n17,,7000\n"
LINES = "# seconds and Mbit/s\n0 2\n1 0.5\n3.2\t12\n4 0\n5.5 4\n7 7\n"
STAMPS = "".join(f"{stamp}\n" for stamp in sorted([*range(3, 4000, 9), *range(4000, 7000, 2), *[7001] * 40]))


def trace(kind: str, more: str = "") -> str:
    """A recorded rate of the link."""
    return f"trace = {{ file = '$recording', format = '{kind}'{more} }}\nreverse = {{ rate = '1 Mbit/s' }}"


def text(rate: str, more: str = "") -> str:
    """The scenario with the given rate of its link."""
    variables = '[variables]\nrecording = "a.rec"\n' if "$recording" in rate else ""
    return variables + BUSY.replace("RATE", rate) + more


def rates(folder: Path, rate: str, more: str = "", seed: int = 1) -> tuple[np.ndarray | None, np.ndarray]:
    """The capacity of the link in the intervals of a run, if it varies, and the throughput."""
    (folder / "busy.toml").write_text(text(rate, more))
    intervals = simulation.run(Scenario.from_file(folder / "busy.toml"), seed).intervals
    capacity = np.asarray(intervals["capacity_bps"]) if "capacity_bps" in intervals else None
    return capacity, np.asarray(intervals["throughput_bps"])


@pytest.mark.parametrize("start", ["", ", start = 'random'"])
@pytest.mark.parametrize("seed", [1, 8])
@pytest.mark.parametrize(
    ("kind", "content"),
    [("rate", STEPS), ("rate", LINES), ("mahimahi", STAMPS)],
    ids=["table", "lines", "stamps"],
)
def test_a_busy_link_sends_its_capacity(
    tmp_path: Path, kind: str, content: str, seed: int, start: str
) -> None:
    (tmp_path / "a.rec").write_bytes(gzip.compress(content.encode()))
    found, throughput = rates(tmp_path, trace(kind, start), seed=seed)
    assert found == pytest.approx(throughput, abs=BORDER)
    assert found is not None
    assert np.ptp(found) > 4e6


EVENTS = """
[[event]]
time = "17.2 s"
link = "radio"
rate = "3 Mbit/s"
direction = "forward"
[[event]]
time = "4.25 s"
link = "radio"
rate = "6 Mbit/s"
[[event]]
time = "9 s"
link = "radio"
up = false
when_down = "hold"
[[event]]
time = "10.1 s"
link = "radio"
up = true
[[event]]
time = "20 s"
link = "radio"
rate = "9 Mbit/s"
direction = "reverse"
[[handover]]
time = "25 s"
jitter = "2 s"
link = "radio"
duration = "lte"
when_down = "hold"
rate = "500 kbit/s"
"""


def test_events_and_handovers_change_it(tmp_path: Path) -> None:
    for rate in ('rate = "2 Mbit/s"', trace("rate")):
        (tmp_path / "a.rec").write_text(LINES)
        found, throughput = rates(tmp_path, rate, EVENTS)
        assert found == pytest.approx(throughput, abs=BORDER)
        assert found is not None
        assert found[-1] == 5e5


def test_a_constant_capacity_has_no_column(tmp_path: Path) -> None:
    events = EVENTS.partition("[[handover]]")[0].rpartition("[[event]]")[2]
    assert rates(tmp_path, 'rate = "2 Mbit/s"')[0] is None
    assert rates(tmp_path, 'rate = "2 Mbit/s"', f"[[event]]{events}")[0] is None
