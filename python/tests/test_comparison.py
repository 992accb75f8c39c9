"""Differences and ratios of means, against their definitions and by the coverage of their intervals."""

import math

import numpy as np
import pytest
from scipy import stats

from whimbrel.comparison import difference, estimate, ratio
from whimbrel.sheet import Value, value_of

SEEDS = (1, 2, 3, 4, 5, 6)
A = Value(np.array([9.1, 10.4, 11.2, 8.8, 10.0, 10.9]), seeds=SEEDS)
B = Value(np.array([4.8, 5.1, 5.9, 4.4, 5.2, 5.3]), seeds=SEEDS)


def apart(value: Value) -> Value:
    """The same numbers from other seeds."""
    return Value(value.sample, seeds=tuple(seed + 100 for seed in value.seeds))


def test_pairs_share_their_seeds() -> None:
    found = difference(A, B, 2.0)
    assert found is not None
    expected = stats.ttest_1samp(A.sample - 2 * B.sample, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    # The order is irrelevant, and of more runs on one side only the common ones count.
    shuffled = Value(B.sample[::-1], seeds=SEEDS[::-1])
    assert difference(A, shuffled, 2.0) == found
    longer = Value(np.append(B.sample, [99.0, -99.0]), seeds=(*SEEDS, 7, 8))
    assert difference(A, longer, 2.0) == found


def test_other_seeds_are_independent() -> None:
    found = difference(A, apart(B))
    assert found is not None
    expected = stats.ttest_ind(A.sample, B.sample, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_a_ratio_is_in_its_interval_where_the_interval_of_the_difference_contains_zero() -> None:
    for b in (B, apart(B)):
        found = ratio(A, b)
        assert found is not None
        assert found.mean == pytest.approx(A.mean / B.mean)
        assert found.low < found.mean < found.high
    found = ratio(A, B)
    assert found is not None
    # Fieller: at a bound r of the ratio, a bound of the interval of a - r b is zero.
    for bound, side in ((found.low, "low"), (found.high, "high")):
        at_bound = difference(A, B, bound)
        assert at_bound is not None
        assert getattr(at_bound, side) == pytest.approx(0.0, abs=1e-9)


def test_a_denominator_that_may_be_zero_leaves_the_ratio_unbounded() -> None:
    found = ratio(A, Value(B.sample - B.mean + 0.1, seeds=SEEDS))
    assert found is not None
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert ratio(A, value_of([0.0], is_exact=True)) is None
    assert ratio(A, value_of([math.nan])) is None


def test_exact_numbers_have_no_spread() -> None:
    two = value_of([2.0], is_exact=True)
    found = estimate(two)
    assert found is not None
    assert (found.low, found.high) == (2.0, 2.0)
    found = ratio(A, two)
    alone = difference(A, value_of([0.0], is_exact=True))
    assert found is not None
    assert alone is not None
    assert (found.low, found.high) == pytest.approx((alone.low / 2, alone.high / 2))


def test_single_runs_have_no_bounds() -> None:
    for found in (difference(value_of([1.0]), value_of([2.0])), ratio(value_of([1.0]), A)):
        assert found is not None
        assert math.isnan(found.low)
        assert math.isnan(found.high)


def test_intervals_contain_the_truth_as_often_as_stated() -> None:
    rng = np.random.default_rng(7)
    trials, n = 2000, 6
    seeds = tuple(range(n))
    hits = {"paired": 0, "apart": 0}
    for _ in range(trials):
        shared, own_a, own_b = rng.normal(0.0, 1.0, (3, n))
        a, b = (Value(mean + shared + 0.5 * own, seeds=seeds) for mean, own in ((12.0, own_a), (8.0, own_b)))
        independent = Value(8.0 + 1.1 * rng.normal(0.0, 1.0, n), seeds=tuple(range(10, 10 + n)))
        for name, other in (("paired", b), ("apart", independent)):
            found = ratio(a, other)
            assert found is not None
            hits[name] += found.low <= 1.5 <= found.high
    # 95 %, within four standard deviations of 2000 trials; Welch's degrees of freedom are approximate
    assert 0.93 < hits["paired"] / trials < 0.97
    assert 0.93 < hits["apart"] / trials < 0.975
