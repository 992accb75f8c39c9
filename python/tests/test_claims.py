"""Verdicts by hand: what a few repetitions support, and what they do not."""

import math

import numpy as np
import pytest

from whimbrel import claims
from whimbrel.sheet import Value, value_of

NOISE = np.array([0.0, 30.0, -30.0, 10.0])
SEEDS = (1, 2, 3, 4)


def paired(offset: float, jitter: float = 0.1, name: str = "x") -> Value:
    wobble = jitter * np.array([1.0, -1.0, 1.0, -1.0])
    return Value(50 + offset + NOISE + wobble, seeds=SEEDS, name=name, unit="%")


def test_paired_runs_tell_small_differences_apart() -> None:
    assert claims.above(paired(1.0), paired(0.0, jitter=0.0)).holds
    assert not claims.above(paired(0.0, jitter=0.0), paired(1.0)).holds
    assert claims.below(paired(0.0, jitter=0.0), paired(1.0)).holds
    # differences of 0.9 and 1.1: mean 1, half width 0.184; so more than 0.8, but not surely more than 0.9
    assert claims.above(paired(1.0), paired(0.0, jitter=0.0), by=0.8).holds
    assert not claims.above(paired(1.0), paired(0.0, jitter=0.0), by=0.9).holds


def test_unpaired_runs_do_not() -> None:
    other = Value(paired(1.0).sample, seeds=(11, 12, 13, 14), name="y", unit="%")
    assert not claims.above(other, paired(0.0)).holds
    far = Value(paired(200.0).sample, seeds=(11, 12, 13, 14), name="y", unit="%")
    assert claims.above(far, paired(0.0)).holds


def test_a_difference_within_chance_is_no_difference() -> None:
    assert not claims.above(paired(0.1, jitter=5.0), paired(0.0, jitter=0.0)).holds
    assert not claims.below(paired(-0.1, jitter=5.0), paired(0.0, jitter=0.0)).holds


def test_against_a_number_the_whole_interval_counts() -> None:
    # 9, 10, 11: 10 -+ 2.484
    ten = value_of([9.0, 10.0, 11.0], name="ten")
    assert claims.above(ten, 7.5).holds
    assert not claims.above(ten, 7.6).holds
    assert claims.below(ten, 12.5).holds
    assert not claims.below(ten, 12.4).holds
    assert claims.below(ten, 20.0, by=7.0).holds
    assert not claims.below(ten, 20.0, by=8.0).holds


def test_single_runs_are_judged_by_their_value() -> None:
    assert claims.above(value_of([2.0]), value_of([1.0])).holds
    assert not claims.above(value_of([1.0]), value_of([1.0])).holds
    assert claims.above(value_of([2.0]), 1.5).holds


def test_what_is_undefined_supports_nothing() -> None:
    nothing, one = value_of([math.nan, math.nan], name="empty"), value_of([1.0])
    for verdict in (
        claims.above(nothing, one),
        claims.above(one, nothing),
        claims.below(nothing, one),
        claims.above(nothing, 0.0),
        claims.below(nothing, 0.0),
        claims.between(nothing, 0, 1),
        claims.close(nothing, one, 10),
        claims.highest(nothing, one),
        claims.highest(one, nothing),
        claims.lowest(one, nothing),
    ):
        assert not verdict.holds
    assert "empty undefined" in claims.above(nothing, one).evidence


def test_pairs_that_one_side_leaves_undefined_are_left_out() -> None:
    holed = Value(np.array([51.0, math.nan, 21.2, 60.9]), seeds=SEEDS)
    assert claims.above(holed, paired(0.0, jitter=0.0)).holds


def test_extremes_and_nearness() -> None:
    low, middle, high = (value_of([x], name=name, unit="s") for x, name in ((1, "a"), (2, "b"), (3, "c")))
    assert claims.highest(high, low, middle).holds
    assert not claims.highest(middle, low, high).holds
    assert claims.lowest(low, high, middle).holds
    assert claims.highest(high, low, middle).evidence == "c 3 s; next is b 2 s"
    assert claims.close(low, middle, within=1).holds
    assert not claims.close(low, high, within=1).holds
    assert claims.between(middle, 2, 2).holds
    assert not claims.between(middle, 2.1, 3).holds


def test_the_evidence_of_a_failure_is_the_failure() -> None:
    good, bad = claims.Verdict(True, "good"), claims.Verdict(False, "bad")
    assert claims.every(good, good) == claims.Verdict(True, "good; good")
    assert claims.every(good, bad) == claims.Verdict(False, "1 of 2 parts do not hold: bad")
    assert (good & bad) == claims.Verdict(False, "good; bad")


def test_the_evidence_has_the_numbers() -> None:
    told = claims.above(paired(1.0, name="Spike"), paired(0.0, jitter=0.0, name="TFRC")).evidence
    assert told.startswith("Spike 53.5 [")
    assert "against TFRC 52.5 [" in told
    assert told.endswith("difference +1 [+0.816, +1.18] %")


def test_the_same_scheme_in_two_tables_is_told_apart() -> None:
    here = value_of([1.0], name="TCP", source="Table 2")
    there = value_of([2.0], name="TCP", source="Table 3")
    assert claims.below(here, there).evidence == "TCP in Table 2 1 against TCP in Table 3 2: difference -1"
    assert claims.close(here, there, 1).evidence.startswith("TCP in Table 2 1 and TCP in Table 3 2: ")


def three(*means: float) -> list[Value]:
    """Values of three repetitions each, 0.1 apart."""
    return [
        Value(mean + np.array([-0.1, 0.0, 0.1]), seeds=SEEDS[:3], name=f"x{position}", unit="%")
        for position, mean in enumerate(means)
    ]


def test_multiples() -> None:
    a, b = three(3.0, 2.0)
    assert claims.times(a, b, 1.5).holds
    assert not claims.times(a, b, 1.6).holds
    assert not claims.times(a, b, 1.0, 1.4).holds
    assert claims.times(b, a, 0, 0.67).holds
    assert claims.times(a, b, 1, 2).evidence.endswith("1.5 times as much, asked for 1 to 2")
    assert not claims.times(a, value_of([0.0]), 1).holds


def test_limits_are_the_means() -> None:
    (a,) = three(3.0)
    assert claims.at_least(a, 3.0).holds
    assert not claims.at_least(a, 3.01).holds
    assert claims.at_most(a, 3.0).holds
    assert not claims.at_most(a, 2.99).holds
    nothing = value_of([math.nan])
    assert not claims.at_least(nothing, 0).holds
    assert not claims.at_most(nothing, 0).holds


def test_printed_orders() -> None:
    a, b, c = three(1.0, 2.0, 3.0)
    assert claims.ordered(a, b, c).holds
    assert not claims.ordered(a, c, b).holds
    # The same number is not above itself, nor is it below.
    assert claims.not_above(a, a).holds
    assert not claims.ordered(a, a).holds
    assert claims.not_above(a, b).holds
    assert not claims.not_above(b, a).holds
    assert claims.not_above(b, a, by=1.0).holds
    assert not claims.not_above(value_of([math.nan]), a).holds


def test_curves() -> None:
    assert claims.rising(*three(1.0, 1.0, 2.0)).holds
    assert not claims.rising(*three(1.0, 3.0, 2.0)).holds
    assert not claims.rising(*three(1.0, 1.0)).holds
    assert claims.steady(2.0, *three(1.0, 3.0, 2.0)).holds
    assert not claims.steady(1.9, *three(1.0, 3.0, 2.0)).holds


def test_the_average_is_taken_run_by_run() -> None:
    first = Value(np.array([1.0, 2.0, math.nan, math.nan]), seeds=SEEDS, name="a (1)", unit="%", paper=7.0)
    second = Value(np.array([3.0, math.nan, 5.0, math.nan]), seeds=SEEDS, name="a (2)", unit="%")
    mean = claims.average([first, second], "a over N")
    np.testing.assert_array_equal(mean.sample, [2.0, 2.0, 5.0, math.nan])
    assert (mean.name, mean.unit, mean.paper, mean.seeds) == ("a over N", "%", None, SEEDS)
    other = Value(np.array([1.0, 2.0, 3.0, 4.0]), seeds=(5, 6, 7, 8))
    with pytest.raises(ValueError, match="seeds"):
        claims.average([first, other], "a over N")


def test_most_is_more_than_half() -> None:
    good, bad = claims.Verdict(True, "good"), claims.Verdict(False, "bad")
    assert claims.most(good, bad, good) == claims.Verdict(True, "2 of 3 cases hold; not: bad")
    assert not claims.most(good, bad).holds
    assert claims.most(good).evidence == "1 of 1 cases hold"


def test_long_evidence_is_cut() -> None:
    good, bad = claims.Verdict(True, "good"), claims.Verdict(False, "bad")
    assert claims.every(*[good] * 9).evidence == "; ".join(["good"] * 6 + ["and 3 more"])
    assert claims.every(*[bad] * 7, good).evidence == (
        "7 of 8 parts do not hold: " + "; ".join(["bad"] * 6 + ["and 1 more"])
    )
