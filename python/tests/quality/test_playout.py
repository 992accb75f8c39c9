"""Playout buffers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.errors import UsageError
from whimbrel.quality import playout
from whimbrel.quality.playout import ExponentialAverage, SpikeAverage, Times

LOST = float("nan")


def _call(trips_ms: list[float], gap_before: tuple[int, ...] = ()) -> tuple[Times, Times]:
    """A packet every 20 ms; a pause of 200 ms before some; the trip time of each in ms."""
    pauses = np.array([0.2 if at in gap_before else 0.02 for at in range(len(trips_ms))])
    sent = np.cumsum(pauses) - pauses[0]
    return sent, sent + np.array(trips_ms) / 1000


def test_a_fixed_buffer_plays_packets_that_arrived_in_time() -> None:
    actual = playout.fixed(*_call([40, 61, LOST, 60]), 0.06)
    assert actual.played.tolist() == [True, False, False, True]
    assert (actual.loss_rate, actual.late_rate) == (0.5, 0.25)
    assert actual.mean_delay_s == pytest.approx(0.06)


def test_an_adaptive_buffer_by_hand() -> None:
    # w = 3/4, two deviations. First spurt, 40 ms: d = 40, v = 0, plays at 40. Then 60: d = 30 + 15 = 45,
    # v = 15 / 4 = 3.75. The second spurt begins with 50: d = 33.75 + 12.5 = 46.25, v = 2.81 + 0.94 = 3.75; it
    # is played at 46.25 + 7.5 = 53.75 ms.
    sent, received = _call([40, 60, 50, 53, 55], gap_before=(2,))
    actual = playout.adaptive(sent, received, estimator=ExponentialAverage(0.75), deviations=2)
    assert (1000 * actual.delay_s).tolist() == pytest.approx([40, 40, 53.75, 53.75, 53.75])
    assert actual.played.tolist() == [True, False, True, True, False]


def test_estimates_are_updated_in_the_order_of_arrival() -> None:
    # The packet sent first arrives last: the other one, 10 ms after sending, begins the spurt.
    sent, received = _call([100, 10])
    actual = playout.adaptive(sent, received, estimator=ExponentialAverage(0.5), deviations=0)
    assert actual.played.tolist() == [False, True]
    assert actual.delay_s.tolist() == pytest.approx([0.01, 0.01])


def test_a_spike_is_followed_by_hand() -> None:
    # 50, 50: d = 50, v = 0. 250 is 200 above: a spike, d = 50 + 200 = 250, v = 0. 230: slope
    # |460 - 250 - 50| / 8 = 20 ms, still one; d = 230. 225: slope 10 + |450 - 230 - 250| / 8 = 13.75;
    # d = 225.
    # 224: slope 6.875 + |448 - 225 - 230| / 8 = 7.75 < 7.875: over, and that packet teaches nothing.
    # 105 differs by 119 > 100: the next spike, d = 225 + 105 - 224.
    estimator = SpikeAverage()
    actual = []
    for trip_ms in (50, 50, 250, 230, 225, 224, 105):
        estimator.learn(trip_ms / 1000)
        actual.append(1000 * estimator.mean_s)
    assert actual == pytest.approx([50, 50, 250, 230, 225, 225, 106])
    # v = 0.125 |105 - 106|.
    assert 1000 * estimator.deviation_s == pytest.approx(0.125)


def test_variable_delays_raise_the_threshold_of_a_spike() -> None:
    # 50, then 130: d = 43.75 + 16.25 = 60, v = 70 / 8 = 8.75. 20 differs by 110 < 100 + 17.5: d = 52.5 + 2.5.
    estimator = SpikeAverage()
    for trip_ms in (50, 130, 20):
        estimator.learn(trip_ms / 1000)
    assert 1000 * estimator.mean_s == pytest.approx(55)


def test_between_spikes_the_faster_average_is_an_average() -> None:
    # 40, then 80: d = 35 + 10 = 45, v = 0.125 x 35.
    estimator = SpikeAverage()
    estimator.learn(0.04)
    estimator.learn(0.08)
    assert estimator.mean_s == pytest.approx(0.045)
    assert estimator.deviation_s == pytest.approx(0.004375)


def test_after_a_spike_the_delay_recovers_quickly_only_with_spike_detection() -> None:
    trips = [50.0] * 20 + [400.0, 350.0, 300.0, 250.0, 200.0, 150.0, 100.0] + [50.0] * 40
    sent, received = _call(trips, gap_before=tuple(range(5, 67, 5)))
    delays = {
        type(each): playout.adaptive(sent, received, estimator=each).delay_s[-1]
        for each in (SpikeAverage(), ExponentialAverage())
    }
    assert delays[SpikeAverage] == pytest.approx(0.05, abs=0.005)
    assert delays[ExponentialAverage] > 0.057


def test_a_spurt_without_arrivals_has_the_delay_of_the_one_before() -> None:
    actual = playout.adaptive(
        *_call([30, LOST, 50], gap_before=(1, 2)), estimator=ExponentialAverage(0), deviations=0
    )
    assert actual.delay_s.tolist() == pytest.approx([0.03, 0.03, 0.05])
    first_lost = playout.adaptive(*_call([LOST, 50], gap_before=(1,)))
    assert first_lost.delay_s.tolist() == pytest.approx([0.05, 0.05])


def test_a_first_packet_later_than_expected_is_played_at_once() -> None:
    actual = playout.adaptive(*_call([10, 90], gap_before=(1,)))
    # d = 0.998002 x 10 + 0.001998 x 90 = 10.16, v = 0.16; the packet itself arrives after 90 ms.
    assert actual.delay_s[1] == pytest.approx(0.09)


def test_a_pause_begins_a_spurt() -> None:
    sent = np.array([0.0, 0.02, 0.08, 0.141])
    assert playout.spurts(sent).tolist() == [0, 0, 0, 1]


def test_bursts_are_measured_relative_to_independent_loss() -> None:
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
def test_every_packet_is_played_lost_or_late_and_none_before_it_arrived(
    trips: list[float | None], delay_s: float
) -> None:
    sent, received = _call(
        [LOST if each is None else each for each in trips], gap_before=tuple(range(5, 40, 5))
    )
    buffers = [playout.fixed(sent, received, delay_s)]
    if not np.isnan(received).all():
        buffers.append(playout.adaptive(sent, received))
    for actual in buffers:
        assert actual.loss_rate == pytest.approx(actual.late_rate + float(np.mean(actual.lost)))
        assert (sent + actual.delay_s + 1e-8 >= received)[actual.played].all()
        assert not actual.played[actual.lost].any()


@given(st.lists(st.floats(0, 500), min_size=1, max_size=30), st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_longer_buffer_never_loses_more(trips: list[float], delay_s: float, more_s: float) -> None:
    sent, received = _call(trips)
    longer = playout.fixed(sent, received, delay_s + more_s)
    assert longer.loss_rate <= playout.fixed(sent, received, delay_s).loss_rate


def test_columns_of_different_lengths_are_refused() -> None:
    sent, received = _call([1, 2])
    with pytest.raises(UsageError, match="expected equal numbers"):
        playout.fixed(sent, received[:1], 0.1)
    with pytest.raises(UsageError, match="order of sending"):
        playout.fixed(sent[::-1], received, 0.1)
    with pytest.raises(UsageError, match="delay_s is -1"):
        playout.fixed(sent, received, -1)
    with pytest.raises(UsageError, match="no packet arrived"):
        playout.adaptive(sent, np.array([LOST, LOST]))
    with pytest.raises(UsageError, match="weight is 1"):
        ExponentialAverage(1)


def test_without_a_buffer_overtaken_packets_are_not_played() -> None:
    # The second packet arrives 5 ms after the third.
    actual = playout.as_it_comes(*_call([50, 75, 50, LOST, 60]))
    assert actual.played.tolist() == [True, False, True, False, True]
    assert actual.loss_rate == pytest.approx(0.4)
    assert actual.late_rate == pytest.approx(0.2)
    assert actual.delay_s.tolist() == pytest.approx([0.05, 0.16 / 3, 0.05, 0.16 / 3, 0.06])


def test_only_packets_after_all_earlier_ones_are_in_order() -> None:
    assert playout.in_order(np.array([0, 2, 1, 5, 3, 4, 6])).tolist() == [
        True,
        True,
        False,
        True,
        False,
        False,
        True,
    ]
    assert playout.in_order(np.array([], dtype=np.int64)).tolist() == []


def test_without_a_buffer_and_arrivals_there_is_no_delay() -> None:
    actual = playout.as_it_comes(*_call([LOST, LOST]))
    assert (actual.loss_rate, actual.mean_delay_s) == (1.0, 0.0)
