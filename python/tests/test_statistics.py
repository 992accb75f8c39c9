"""The statistics against manual arithmetic and laws."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special

from whimbrel._values import statistics
from whimbrel.errors import StatisticsError
from whimbrel.statistics import Precision

# Small samples are what most of these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::whimbrel.errors.SmallSampleWarning")

finite = st.floats(-1e6, 1e6, allow_subnormal=False)
samples = st.lists(finite, min_size=2, max_size=30)


def test_normal_interval_is_equation_10() -> None:
    # mean 10, s = 1, so the half width is 1.96 / sqrt(3) = 1.1316
    found = statistics.normal_interval([9.0, 10.0, 11.0])
    assert found.mean == 10.0
    assert found.low == pytest.approx(8.868394, abs=1e-6)
    assert found.high == pytest.approx(11.131606, abs=1e-6)
    assert (found.n, found.confidence, found.method) == (3, 0.95, "normal")


def test_student_interval_uses_two_degrees_of_freedom_for_three_values() -> None:
    # t(0.975, 2) = 4.302653, so the half width is 4.302653 / sqrt(3) = 2.484138
    found = statistics.student_interval([9.0, 10.0, 11.0])
    assert found.low == pytest.approx(7.515862, abs=1e-6)
    assert found.high == pytest.approx(12.484138, abs=1e-6)


def test_an_interval_of_one_value_has_no_bounds() -> None:
    for make in (statistics.normal_interval, statistics.student_interval, statistics.bootstrap_interval):
        found = make([4.0])
        assert found.mean == 4.0
        assert found.n == 1
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        assert not found.contains(4.0)


def test_equal_values_give_an_interval_of_width_zero() -> None:
    # 0.1 + 0.1 + 0.1 is not 0.3: a careless standard deviation is 1.7e-17 here
    for make in (statistics.normal_interval, statistics.student_interval, statistics.bootstrap_interval):
        found = make([0.1] * 3)
        assert found.low == found.high == found.mean
        assert found.mean == pytest.approx(0.1)


@pytest.mark.parametrize("bad", [[], [1.0, math.nan], [math.inf, 1.0]])
def test_empty_samples_nan_and_infinity_are_refused(bad: list[float]) -> None:
    for make in (statistics.normal_interval, statistics.student_interval, statistics.bootstrap_interval):
        with pytest.raises(StatisticsError):
            make(bad)
    with pytest.raises(StatisticsError):
        statistics.repetitions_needed(bad)


def test_the_error_names_the_bad_value() -> None:
    with pytest.raises(StatisticsError, match="value 1 of the sample is nan"):
        statistics.normal_interval([1.0, math.nan])


def test_repetitions_are_equation_15() -> None:
    # s = 1, mean 10: (1.96 * 1 / (0.05 * 10))^2 = 15.3664
    assert statistics.repetitions_needed([9.0, 10.0, 11.0]) == 16
    # the example of the paper: 12 repetitions, that is 9 after the first three
    spread = 0.05 * 100 / 1.96 * math.sqrt(12)
    assert statistics.repetitions_needed([100 - spread, 100.0, 100 + spread]) == 12
    # s = 1, mean 100: 0.15 repetitions would suffice, three are made
    assert statistics.repetitions_needed([99.0, 100.0, 101.0]) == 3


def test_repetitions_before_the_first_evaluation() -> None:
    assert statistics.repetitions_needed([5.0]) == 3
    assert statistics.repetitions_needed([5.0, 6.0]) == 3
    assert statistics.repetitions_needed([5.0], n_base=1) == 2


def test_repetitions_of_a_constant_and_of_zero() -> None:
    assert statistics.repetitions_needed([7.0] * 3) == 3
    assert statistics.repetitions_needed([0.0] * 3) == 3
    with pytest.raises(StatisticsError, match="absolute error"):
        statistics.repetitions_needed([-1.0, 0.0, 1.0])
    # (1.96 * 1 / 0.5)^2 = 15.37
    assert statistics.repetitions_needed([-1.0, 0.0, 1.0], absolute_error=0.5) == 16


def test_a_negative_mean_needs_as_many_repetitions_as_a_positive_one() -> None:
    assert statistics.repetitions_needed([-9.0, -10.0, -11.0]) == 16


def test_precision_follows_the_most_uncertain_metric() -> None:
    calm, rough = [100.0, 100.1, 99.9], [9.0, 10.0, 11.0]
    precision = Precision(maximum=30)
    assert precision.repetitions({"calm": calm}) == 3
    # s = 1 and 0.5 required: t(0.975, 16) / sqrt(17) = 2.1199 / 4.1231 = 0.514, t(0.975, 17) / sqrt(18) =
    # 0.497
    assert precision.repetitions({"calm": calm, "rough": rough}) == 18
    assert Precision(maximum=10).repetitions({"rough": rough}) == 10
    assert Precision.exactly(4).repetitions({"rough": rough}) == 4


def test_precision_ignores_undefined_values() -> None:
    precision = Precision(maximum=30)
    assert precision.repetitions({"m": [math.nan, math.nan, math.nan]}) == 3
    # eighteen numbers, and the missing one
    assert precision.repetitions({"m": [9.0, math.nan, 10.0, 11.0]}) == 19
    # an unreachable precision requires the maximum, an absolute error makes it reachable
    assert precision.repetitions({"m": [-1.0, 0.0, 1.0]}) == 30
    assert Precision(absolute_error={"m": 0.5}).repetitions({"m": [-1.0, 0.0, 1.0]}) == 18


def test_precision_stops_by_the_interval_that_is_printed() -> None:
    random = np.random.default_rng(5)
    stopped_early = 0
    for _ in range(200):
        sample = list(random.normal(10.0, 0.4, size=3))
        precision = Precision(relative_error=0.05, maximum=100)
        while (wanted := precision.repetitions({"m": sample})) > len(sample):
            sample += list(random.normal(10.0, 0.4, size=wanted - len(sample)))
        found = statistics.student_interval(sample)
        assert precision.is_met_by(found)
        assert found.half_width <= 0.05 * found.mean * (1 + 1e-9)
        # The normal quantile would have stopped after the first three in many of these.
        stopped_early += statistics.repetitions_needed(sample[:3]) <= 3 < len(sample)
    assert stopped_early > 50
    assert not Precision().is_met_by(statistics.student_interval([1.0]))
    assert not Precision().is_met_by(None)


def test_students_repetitions_are_sufficient_and_minimal() -> None:
    sample = [9.0, 10.0, 11.5, 10.5]
    needed = statistics.student_repetitions_needed(sample)
    spread = statistics.standard_deviation(sample)

    def half(n: int) -> float:
        return float(special.stdtrit(n - 1, 0.975)) * spread / math.sqrt(n)

    wanted = 0.05 * float(np.mean(sample))
    assert half(needed) <= wanted < half(needed - 1)
    assert statistics.student_repetitions_needed([5.0]) == 3
    assert statistics.student_repetitions_needed([5.0, 5.0, 5.0]) == 3
    with pytest.raises(StatisticsError, match="absolute error"):
        statistics.student_repetitions_needed([-1.0, 0.0, 1.0])


@pytest.mark.parametrize("wrong", [{"n_base": 0}, {"n_base": 5, "maximum": 4}, {"relative_error": 0.0}])
def test_an_invalid_precision_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(StatisticsError):
        Precision(**wrong)  # type: ignore[arg-type]


def test_paired_difference_removes_common_noise() -> None:
    noise = np.array([0.0, 50.0, -50.0, 100.0])
    a, b = 11.0 + noise, 10.0 + noise + np.array([0.1, -0.1, 0.1, -0.1])
    # the differences are 0.9 and 1.1 twice: mean 1, s = 0.11547, t(0.975, 3) = 3.182446
    found = statistics.paired_difference(a, b)
    assert found.mean == pytest.approx(1.0)
    assert found.half_width == pytest.approx(3.182446 * 0.1154701 / 2, abs=1e-6)
    assert statistics.student_interval(a).overlaps(statistics.student_interval(b))
    with pytest.raises(StatisticsError, match="equal length"):
        statistics.paired_difference([1.0], [1.0, 2.0])


def test_bootstrap_is_repeatable_and_skewed_where_the_sample_is() -> None:
    sample = [1.0, 1.1, 1.2, 1.3, 1.4, 9.0]
    found = statistics.bootstrap_interval(sample)
    assert found == statistics.bootstrap_interval(sample)
    assert found.high - found.mean > 2 * (found.mean - found.low)
    median = statistics.bootstrap_interval(sample, np.median)
    assert median.mean == pytest.approx(1.25)
    assert median.high < found.high or median.low < found.low


def test_jain_index_by_hand() -> None:
    assert statistics.jain_index([5.0, 5.0, 5.0, 5.0]) == pytest.approx(1.0)
    assert statistics.jain_index([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    # (1 + 2 + 3)^2 / (3 * (1 + 4 + 9)) = 36 / 42
    assert statistics.jain_index([1.0, 2.0, 3.0]) == pytest.approx(6 / 7)
    assert statistics.jain_index([0.0, 0.0]) == 1.0
    assert statistics.jain_index([1e200, 1e200]) == pytest.approx(1.0)
    with pytest.raises(StatisticsError):
        statistics.jain_index([1.0, -1.0])


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=20), st.floats(0.01, 100))
def test_jain_index_is_between_one_nth_and_one_and_independent_of_the_unit(
    shares: list[float], unit: float
) -> None:
    index = statistics.jain_index(shares)
    assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
    assume(max(shares) == 0 or max(shares) > 1e-6)
    assert statistics.jain_index([share * unit for share in shares]) == pytest.approx(index, rel=1e-6)


@given(samples)
def test_students_interval_contains_the_normal_one_and_both_contain_the_mean(sample: list[float]) -> None:
    normal, student = statistics.normal_interval(sample), statistics.student_interval(sample)
    assert student.low <= normal.low <= normal.mean <= normal.high <= student.high
    assert normal.contains(normal.mean)
    assert normal.overlaps(student)


@given(st.lists(st.floats(1, 1e3), min_size=3, max_size=20), st.floats(0.01, 0.5), st.floats(1.01, 3))
def test_a_wider_error_never_needs_more_repetitions(sample: list[float], error: float, wider: float) -> None:
    tight = statistics.repetitions_needed(sample, error)
    assert statistics.repetitions_needed(sample, error * wider) <= tight
    assert tight >= statistics.N_BASE


@given(st.lists(st.floats(10, 20), min_size=3, max_size=12), st.floats(0.5, 2))
def test_the_repetitions_do_not_depend_on_the_unit(sample: list[float], unit: float) -> None:
    needed = statistics.repetitions_needed(sample)
    scaled = statistics.repetitions_needed([value * unit for value in sample])
    assert abs(scaled - needed) <= 1


def test_identical_runs_have_no_interval_to_show() -> None:
    same = statistics.student_interval([3.5, 3.5, 3.5])
    assert same.is_identical
    assert same.spread(1) == same.bounds() == "(identical in 3 runs)"
    # Sums of the same numbers in another order.
    rounded = statistics.student_interval([0.011599999999999736, 0.011599999999999737, 0.011599999999999739])
    assert rounded.spread(2) == rounded.bounds() == "(identical in 3 runs)"
    assert not statistics.student_interval([0.0116, 0.0116, 0.0116 + 1e-12]).is_identical
    varied = statistics.student_interval([3.0, 4.0, 3.5])
    assert not varied.is_identical
    assert varied.spread(1) == "± 1.2"
    assert varied.bounds(".2f") == "[2.26, 4.74]"
    single = statistics.student_interval([3.5])
    assert not single.is_identical
    assert single.spread(1) == single.bounds() == ""
