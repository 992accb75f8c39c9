"""Verdicts by hand: what a few repetitions support, and what they do not."""

import math

import numpy as np

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
