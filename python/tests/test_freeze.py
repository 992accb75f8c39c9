"""Paper `freeze`: its networks and handovers as Section 5 has them, and its measures by hand."""

import math

import numpy as np
import pytest

from whimbrel import paper
from whimbrel.papers.freeze import gap, handovers, networks, schemes, stationary
from whimbrel.result import Result


def test_a_handover_is_as_section_5_1_has_it() -> None:
    document = handovers.scenario("802.16 to 802.11b", "freeze").document
    (handover,) = document["handover"]
    assert handover["to"] == "802.11b"
    assert handover["duration"] == "mobile-ipv6"
    # Uniform over four round-trip times; frozen one before, unfrozen 0.1 ms after.
    assert handover["jitter"] == "0.68 s"
    assert handover["freeze"] == {"flows": ["flow"], "lead": "170 ms", "lag": "0.1 ms"}
    assert document["link"][1] == {"name": "radio", "between": ["router", "mobile"], "network": "802.16"}
    assert "freeze" not in handovers.scenario("802.16 to 802.11b", "tfrc").document["handover"][0]


@pytest.mark.parametrize("scheme", schemes.ALL)
def test_schemes_differ_in_what_they_say(scheme: str) -> None:
    dccp = schemes.flow(scheme)["dccp"]
    assert dccp.get("faster_restart", False) == (scheme == "faster")
    assert ("freeze" in dccp) == bool(schemes.warned(scheme, "umts")) == (scheme in schemes.RESTART)


def test_headers_leave_500_of_536_bytes() -> None:
    assert networks.packets_per_second("umts") == pytest.approx(384e3 / (8 * 536))


def at(rate: list[float], *, up: float = 1.0, lost_down: int = 3) -> Result:
    """A flow with so many packets in each tenth of a second."""
    time = [0.1 * (i + 1) for i in range(len(rate))]
    return Result(
        {
            "intervals": {
                "time_s": time,
                "goodput_bps": [8 * 500 * 10 * packets for packets in rate],
                "lost_queue": [1.0] * len(rate),
            },
            "handovers": {"up_s": [up], "down_s": [up - 0.5]},
            "flows": {"lost_down": [lost_down]},
        }
    )


def test_wasted_capacity_is_what_is_missing_from_the_link() -> None:
    full = networks.packets_per_second("umts") / 10
    # Up after 1 s; half of the capacity for 2 s, then all of it, to the end of 4 s.
    measured = handovers.measure(at([full] * 10 + [full / 2] * 20 + [full] * 10), "umts to umts", "tfrc")
    assert measured["wasted"] == pytest.approx(10 * full)
    assert measured["wasted_first"] == measured["wasted"]
    assert measured["lost"] == 3
    assert measured["lost_after"] == 30
    # The first half second with nine tenths on average has four full tenths and one half: 2.4 s after.
    assert measured["restored"] == pytest.approx(2.4)
    never = handovers.measure(at([full] * 10 + [full / 2] * 20), "umts to umts", "tfrc")
    assert never["restored"] == handovers.WINDOW_S


def test_a_rate_settles_when_its_mean_stays_near_the_final_one() -> None:
    time = np.arange(1.0, 41.0)
    rate = np.where(time <= 20, 50.0, 100.0)
    # The mean of ten seconds is within 5 % once it has no more than one second of 50: those of 12 to 21 s.
    assert stationary.settled(time, rate, 100.0) == 20.0
    assert math.isnan(stationary.settled(time, rate, 60.0))


def test_timeouts_of_a_gap_are_compared_with_equations_5_and_6() -> None:
    # 32 packets per second, R = 0.25 s: halved every second, four times; two packets then take 2 s, and 4 s.
    time = np.arange(0.0, 14.0, 0.125)
    ends = [1.5, 2.5, 3.5, 4.5, 5.5, 7.5, 11.5]
    rate = 32.0 / 2 ** np.searchsorted(ends, time, side="right")
    compared = gap.compare(time, rate, 0.25)
    assert compared["timeouts"] == 7
    assert compared["rate_error"] == 0.0
    assert compared["timer_error"] == pytest.approx(0.0)
    late = gap.compare(time, 32.0 / 2 ** np.searchsorted([*ends[:5], 8.0, 12.0], time, side="right"), 0.25)
    assert late["timer_error"] == pytest.approx(500.0)
    wrong = gap.compare(time, np.where(rate == 1.0, 1.5, rate), 0.25)
    assert wrong["rate_error"] == pytest.approx(50.0)


def test_the_printed_numbers_are_all_there() -> None:
    printed = paper.expected(paper.load("freeze"))
    assert printed["table6"]["802.11b to 802.11g", "freeze", "wasted"] == 1045.05
    assert printed["table7"]["umts to 802.11g", "freeze", "ratio"] == 0.1
    counts = {key: len(numbers) for key, numbers in printed.items()}
    assert counts["table3"] == 12
    assert counts["table4"] == counts["table6"] == counts["table7"] == 32
