"""Buffers in front of the ear."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.errors import UsageError
from whimbrel.quality import playout
from whimbrel.quality.playout import Times

LOST = float("nan")


def _call(trips_ms: list[float], gap_before: tuple[int, ...] = ()) -> tuple[Times, Times]:
    """A packet every 20 ms; a pause of 200 ms before some; how long each took in ms."""
    pauses = np.array([0.2 if at in gap_before else 0.02 for at in range(len(trips_ms))])
    sent = np.cumsum(pauses) - pauses[0]
    return sent, sent + np.array(trips_ms) / 1000


def test_a_fixed_buffer_plays_what_is_there_in_time() -> None:
    told = playout.fixed(*_call([40, 61, LOST, 60]), 0.06)
    assert told.played.tolist() == [True, False, False, True]
    assert (told.loss_rate, told.late_rate) == (0.5, 0.25)
    assert told.mean_delay_s == pytest.approx(0.06)


def test_an_adaptive_buffer_by_hand() -> None:
    # w = 1/2, two deviations. First spurt, 40 ms: d = 40, v = 0, plays at 40. 60: d = 50, v = 10 / 2 = 5.
    # Second spurt begins with 50: d = 50, v = 5 / 2 = 2.5, plays at 50 + 2 x 2.5 = 55 ms.
    sent, received = _call([40, 60, 50, 54, 56], gap_before=(2,))
    told = playout.adaptive(sent, received, weight=0.5, deviations=2)
    assert (1000 * told.delay_s).tolist() == pytest.approx([40, 40, 55, 55, 55])
    assert told.played.tolist() == [True, False, True, True, False]


def test_packets_teach_in_the_order_of_their_arrival() -> None:
    # The packet sent first arrives last: the other one, 10 ms after sending, begins the spurt.
    sent, received = _call([100, 10])
    told = playout.adaptive(sent, received, weight=0.5, deviations=0)
    assert told.played.tolist() == [False, True]
    assert told.delay_s.tolist() == pytest.approx([0.01, 0.01])


def test_a_spurt_of_which_nothing_came_is_played_like_the_one_before() -> None:
    told = playout.adaptive(*_call([30, LOST, 50], gap_before=(1, 2)), weight=0.0, deviations=0)
    assert told.delay_s.tolist() == pytest.approx([0.03, 0.03, 0.05])
    first_lost = playout.adaptive(*_call([LOST, 50], gap_before=(1,)))
    assert first_lost.delay_s.tolist() == pytest.approx([0.05, 0.05])


def test_what_takes_longer_than_expected_at_the_beginning_is_played_at_once() -> None:
    told = playout.adaptive(*_call([10, 90], gap_before=(1,)))
    # d = 0.998002 x 10 + 0.001998 x 90 = 10.16, v = 0.16; the packet itself is there after 90 ms.
    assert told.delay_s[1] == pytest.approx(0.09)


def test_a_pause_begins_a_spurt() -> None:
    sent = np.array([0.0, 0.02, 0.08, 0.141])
    assert playout.spurts(sent).tolist() == [0, 0, 0, 1]


def test_bursts_are_measured_against_chance() -> None:
    # 4 of 8 lost in 2 runs: 2 packets a run; by chance 1 / (1 - 1/2) = 2.
    assert playout.burst_ratio(np.array([1, 0, 0, 1, 1, 0, 0, 1], dtype=np.bool_)) == pytest.approx(1)
    # In one run: 4 / 2.
    assert playout.burst_ratio(np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=np.bool_)) == pytest.approx(2)
    assert playout.burst_ratio(np.ones(4, dtype=np.bool_)) == 1


def test_a_chain_of_two_states_has_the_burst_ratio_of_the_recommendation() -> None:
    # G.107, Section 7.5: BurstR = 1 / (p + q), with p into loss and q out of it: 1 / (0.02 + 0.38) = 2.5.
    generator = np.random.default_rng(3)
    draws, state = generator.random(400_000), True
    played = np.empty(draws.size, dtype=np.bool_)
    for at, draw in enumerate(draws.tolist()):
        state = draw >= 0.02 if state else draw < 0.38
        played[at] = state
    assert playout.burst_ratio(played) == pytest.approx(2.5, rel=0.03)


@given(st.lists(st.one_of(st.none(), st.floats(0, 500)), min_size=1, max_size=40), st.floats(0, 0.6))
def test_every_packet_is_played_lost_or_late_and_none_before_it_came(
    trips: list[float | None], delay_s: float
) -> None:
    sent, received = _call(
        [LOST if each is None else each for each in trips], gap_before=tuple(range(5, 40, 5))
    )
    buffers = [playout.fixed(sent, received, delay_s)]
    if not np.isnan(received).all():
        buffers.append(playout.adaptive(sent, received))
    for told in buffers:
        assert told.loss_rate == pytest.approx(told.late_rate + float(np.mean(told.lost)))
        assert (sent + told.delay_s + 1e-8 >= received)[told.played].all()
        assert not told.played[told.lost].any()


@given(st.lists(st.floats(0, 500), min_size=1, max_size=30), st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_longer_buffer_never_loses_more(trips: list[float], delay_s: float, more_s: float) -> None:
    sent, received = _call(trips)
    longer = playout.fixed(sent, received, delay_s + more_s)
    assert longer.loss_rate <= playout.fixed(sent, received, delay_s).loss_rate


def test_what_fits_nothing_is_refused() -> None:
    sent, received = _call([1, 2])
    with pytest.raises(UsageError, match="expected one of each"):
        playout.fixed(sent, received[:1], 0.1)
    with pytest.raises(UsageError, match="order of sending"):
        playout.fixed(sent[::-1], received, 0.1)
    with pytest.raises(UsageError, match="delay_s is -1"):
        playout.fixed(sent, received, -1)
    with pytest.raises(UsageError, match="no packet arrived"):
        playout.adaptive(sent, np.array([LOST, LOST]))
    with pytest.raises(UsageError, match="weight is 1"):
        playout.adaptive(sent, received, weight=1)
