"""Verdicts by hand: conclusions that a few repetitions support or not."""

import math

import numpy as np
import pytest

from whimbrel._reproduce import claims
from whimbrel.sheet import Value, value_of

NOISE = np.array([0.0, 30.0, -30.0, 10.0])
SEEDS = (1, 2, 3, 4)


def paired(offset: float, jitter: float = 0.1, name: str = "x") -> Value:
    wobble = jitter * np.array([1.0, -1.0, 1.0, -1.0])
    return Value(50 + offset + NOISE + wobble, seeds=SEEDS, name=name, unit="%")


def test_paired_runs_resolve_small_differences() -> None:
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


def exact(number: float, **about: str) -> Value:
    return value_of([number], is_exact=True, **about)


def test_a_single_run_decides_nothing() -> None:
    one, two = value_of([1.0], name="x"), value_of([2.0], name="y")
    for verdict in (
        claims.above(two, one),
        claims.above(two, 1.5),
        claims.below(one, 1.5),
        claims.between(one, 0.0, 2.0),
        claims.at_least(two, 1.0),
        claims.close(one, two, 5.0),
        claims.times(two, one, 1.5),
        claims.not_above(one, two),
        claims.never_above(one, 2.0),
    ):
        assert verdict.holds is None
        assert verdict.word == "undecided"
        assert "(one run)" in verdict.evidence


def test_a_number_that_is_not_random_needs_no_interval() -> None:
    one, two = exact(1.0), exact(2.0)
    assert claims.above(two, one).holds is True
    assert claims.above(one, exact(1.0)).holds is False
    assert claims.at_most(one, 1.0).holds is True
    assert claims.times(exact(0.3), exact(0.2), 1.5).holds is True
    assert claims.times(two, one, 0, 1.9).holds is False
    assert claims.never_above(one, 1.0).holds is True
    # Compared with an exact number, only the random one's spread counts: 10 -+ 2.484.
    ten = value_of([9.0, 10.0, 11.0])
    assert claims.above(ten, exact(7.5)).holds is True
    assert claims.above(ten, exact(7.6)).holds is None


def test_an_interval_across_the_bound_is_undecided() -> None:
    # a mean alone would pass: 742 with an interval from below zero, and 3.7 %, required at most 10
    wide = value_of([0.0, 200.0, 2026.0], name="wasted")
    assert claims.at_least(wide, 549.0).holds is None
    few = value_of([0.0, 0.0, 3.0, 11.8], name="M_c")
    assert claims.at_most(few, 10.0).holds is None
    assert claims.between(few, 0.0, 10.0).holds is None
    assert claims.at_most(few, 20.0).holds is True
    assert claims.at_most(few, -9.0).holds is False


def test_fewer_runs_never_show_an_absence() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0.0, 10.0, 400)
    a, b = (Value(50 + 2 * k + noise[k::2], seeds=tuple(range(200)), name=n) for k, n in ((0, "a"), (1, "b")))
    few_a, few_b = (Value(v.sample[:3], seeds=v.seeds[:3], name=v.name) for v in (a, b))
    assert claims.not_above(few_b, few_a, by=1.0).holds is None
    assert claims.not_above(b, a, by=10.0).holds is True
    assert claims.not_above(b, a, by=-10.0).holds is False


def test_a_claim_on_every_run_is_refuted_by_one() -> None:
    lost = value_of([0.0, 0.0, 5.0], name="lost")
    assert claims.at_most(lost, 0.0).holds is None
    verdict = claims.never_above(lost, 0.0)
    assert verdict.holds is False
    assert verdict.evidence.endswith("more than 0 in 1 of 3 runs")
    assert claims.never_above(value_of([0.0, math.nan, 0.0]), 0.0).holds is True
    assert claims.never_above(value_of([math.nan, 0.0]), 0.0).holds is None


def test_undefined_values_support_nothing() -> None:
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
        assert verdict.holds is None
    assert "empty undefined" in claims.above(nothing, one).evidence


def test_pairs_that_one_side_leaves_undefined_are_left_out() -> None:
    holed = Value(np.array([51.0, math.nan, 21.2, 60.9]), seeds=SEEDS)
    assert claims.above(holed, paired(0.0, jitter=0.0)).holds


def test_extremes_and_nearness() -> None:
    low, middle, high = (exact(x, name=name, unit="s") for x, name in ((1, "a"), (2, "b"), (3, "c")))
    assert claims.highest(high, low, middle).holds
    assert not claims.highest(middle, low, high).holds
    assert claims.lowest(low, high, middle).holds
    assert claims.highest(high, low, middle).evidence.startswith("c 3 s against b 2 s: difference +1 s; ")
    assert claims.close(low, middle, within=1).holds
    assert not claims.close(low, high, within=1).holds
    assert claims.between(middle, 2, 2).holds
    assert not claims.between(middle, 2.1, 3).holds


def test_the_evidence_of_a_failure_is_the_failing_part() -> None:
    good, bad = claims.Verdict(True, "good"), claims.Verdict(False, "bad")
    assert claims.every(good, good) == claims.Verdict(True, "good; good")
    assert claims.every(good, bad) == claims.Verdict(False, "1 of 2 parts do not hold: bad")
    assert (good & bad) == claims.Verdict(False, "good; bad")


def test_the_evidence_has_the_numbers() -> None:
    actual = claims.above(paired(1.0, name="Spike"), paired(0.0, jitter=0.0, name="TFRC")).evidence
    assert actual.startswith("Spike 53.5 [")
    assert "against TFRC 52.5 [" in actual
    assert actual.endswith("difference +1 [+0.816, +1.18] %")


def test_the_same_scheme_in_two_tables_is_distinguished() -> None:
    here = exact(1.0, name="TCP", source="Table 2")
    there = exact(2.0, name="TCP", source="Table 3")
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
    # 2.9 3.0 3.1 over 1.9 2.0 2.1: Fieller's interval of the ratio is 1.44 to 1.57
    assert claims.times(a, b, 1.4).holds is True
    assert claims.times(a, b, 1.5).holds is None
    assert claims.times(a, b, 1.6).holds is False
    assert claims.times(a, b, 1.0, 1.4).holds is False
    assert claims.times(b, a, 0, 0.7).holds is True
    assert claims.times(a, b, 1, 2).evidence.endswith("1.5 [1.44, 1.57] times as much, required: 1 to 2")
    # a zero denominator leaves no ratio, and still decides
    assert claims.times(a, exact(0.0), 1).holds is True
    assert claims.times(a, exact(0.0), 0, 2).holds is False
    assert "no ratio defined" in claims.times(a, exact(0.0), 1).evidence


def test_limits_are_decided_by_the_interval() -> None:
    (a,) = three(3.0)  # 3 -+ 0.248
    assert claims.at_least(a, 2.75).holds is True
    assert claims.at_least(a, 3.0).holds is None
    assert claims.at_least(a, 3.25).holds is False
    assert claims.at_most(a, 3.25).holds is True
    assert claims.at_most(a, 3.0).holds is None
    assert claims.at_most(a, 2.75).holds is False
    nothing = value_of([math.nan])
    assert claims.at_least(nothing, 0).holds is None
    assert claims.at_most(nothing, 0).holds is None
    # against another value, the seeds' common effect cancels out
    assert claims.at_most(a, three(3.0)[0]).holds is True
    assert claims.at_least(a, three(3.01)[0]).holds is False


def test_printed_orders() -> None:
    a, b, c = three(1.0, 2.0, 3.0)
    assert claims.ordered(a, b, c).holds
    assert not claims.ordered(a, c, b).holds
    # A number is neither above nor below itself.
    assert claims.not_above(a, a).holds
    assert not claims.ordered(a, a).holds
    assert claims.not_above(a, b).holds
    assert not claims.not_above(b, a).holds
    assert claims.not_above(b, a, by=1.0).holds
    assert claims.not_above(value_of([math.nan]), a).holds is None


def test_curves() -> None:
    assert claims.rising(*three(1.0, 1.0, 2.0)).holds
    assert not claims.rising(*three(1.0, 3.0, 2.0)).holds
    assert not claims.rising(*three(1.0, 1.0)).holds
    assert claims.rising(*three(1.0, 2.0, 1.9, 3.0), within=0.1).holds
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
    # with more runs on one side, those that both have
    more = Value(np.array([5.0, 6.0, 7.0, 8.0, 9.0]), seeds=(3, 4, 5, 6, 7))
    mean = claims.average([second, more], "b")
    np.testing.assert_array_equal(mean.sample, [5.0, 6.0])
    assert mean.seeds == (3, 4)


def test_spans_and_sums_are_taken_run_by_run() -> None:
    a, b, c = three(1.0, 5.0, 2.0)
    found = claims.span([a, b, c], "spread")
    np.testing.assert_allclose(found.sample, [4.0, 4.0, 4.0])
    assert (found.name, found.seeds) == ("spread", SEEDS[:3])
    np.testing.assert_allclose(claims.total([a, b, c], "sum").sample, [7.7, 8.0, 8.3])


def of_cells(mean: float, key: str) -> Value:
    """Three runs, one apart, of a cell."""
    return Value(
        mean + np.array([-1.0, 0.0, 1.0]), seeds=SEEDS[:3], name=key, cells=frozenset({("t", key, "c")})
    )


def test_an_undecided_claim_names_the_cells_to_repeat() -> None:
    a, b = of_cells(10.0, "a"), of_cells(20.0, "b")
    assert claims.at_least(a, 10.0).cells == {("t", "a", "c")}
    assert claims.at_least(a, 5.0).cells == set()
    sure = claims.at_least(b, 5.0)
    assert claims.every(claims.at_least(a, 10.0), sure).cells == {("t", "a", "c")}
    # a part that fails decides: no run of the others would change it
    assert claims.every(claims.at_least(a, 10.0), claims.at_least(b, 50.0)).cells == set()
    assert claims.most(claims.at_least(a, 10.0), sure).cells == {("t", "a", "c")}
    assert claims.some(claims.at_least(a, 10.0), sure).cells == set()
    mean = claims.average([a, b], "mean")
    assert claims.at_least(mean, 15.0).cells == {("t", "a", "c"), ("t", "b", "c")}


def test_three_verdicts_together() -> None:
    yes, no, open_ = (claims.Verdict(holds, word) for holds, word in ((True, "y"), (False, "n"), (None, "?")))
    assert claims.every(yes, open_).holds is None
    assert claims.every(yes, open_, no).holds is False
    assert claims.every(yes, open_, no).evidence == (
        "1 of 3 parts do not hold: n. 1 of 3 parts are undecided: ?"
    )
    assert claims.some(no, open_).holds is None
    assert claims.some(no, open_, yes).holds is True
    assert claims.some(no, no).holds is False
    assert claims.most(yes, yes, open_).holds is True
    assert claims.most(yes, open_).holds is None
    assert claims.most(no, open_).holds is False
    assert (yes & open_).holds is None
    assert (no & open_).holds is False


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
