"""The statistics of paper `confront` as a summary, and its means of flows, against manual arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel import flow_means
from whimbrel._values import statistics
from whimbrel.errors import SmallSampleWarning, StatisticsError
from whimbrel.summaries import NEVER, summarise


def test_a_summary_has_the_papers_n_and_interval_and_those_of_student() -> None:
    found = summarise([9.0, 10.0, 11.0])
    # (1.96 * 1 / (0.05 * 10))^2 = 15.37; t(0.975, 17) / sqrt(18) = 0.497 <= 0.5 < t(0.975, 16) / sqrt(17)
    assert (found.first_n, found.needed_n, found.student_n) == (16, 16, 18)
    assert found.normal.half_width == pytest.approx(1.96 / math.sqrt(3))
    assert found.student.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert not found.is_sufficient
    assert found.warning == "3 values are too few for a normal interval: Student's is 120% wider"
    # The bootstrap interval lies within the values.
    assert 9.0 <= found.bootstrap.low < 10.0 < found.bootstrap.high <= 11.0


def test_the_first_repetitions_decide_the_papers_n() -> None:
    # The first three: s = 1, mean 10. All six: s = 0.6325, so (1.96 * 0.6325 / 0.5)^2 = 6.15.
    found = summarise([9.0, 10.0, 11.0, 10.0, 10.0, 10.0])
    assert (found.first_n, found.needed_n) == (16, 7)
    # Undefined values are left out before the first three are taken.
    assert summarise([math.nan, 9.0, 10.0, math.nan, 11.0]).first_n == 16


def test_equal_values_need_no_more_repetitions() -> None:
    found = summarise([5.0] * 4)
    assert (found.first_n, found.needed_n, found.student_n) == (3, 3, 3)
    assert found.is_sufficient
    assert found.normal.half_width == 0.0


def test_no_number_of_repetitions_suffices_around_zero() -> None:
    found = summarise([-1.0, 0.0, 1.0])
    assert found.first_n == found.student_n == NEVER
    assert not found.is_sufficient


def test_a_sample_without_a_defined_value_is_refused() -> None:
    with pytest.raises(StatisticsError, match="empty"):
        summarise([math.nan])


def test_a_normal_interval_of_few_values_warns() -> None:
    sample = list(np.linspace(9, 11, 25))
    with pytest.warns(SmallSampleWarning, match=r"25 values are too few .*: Student's is 5% wider"):
        statistics.normal_interval(sample)
    # t(0.975, 25) = 2.0595 = 1.96 * 1.0508.
    with pytest.warns(SmallSampleWarning):
        statistics.normal_interval([*sample, 10.0])
    # t(0.975, 26) = 2.0555 = 1.96 * 1.0487: no warning, which would be an error in these tests.
    statistics.normal_interval([*sample, 10.0, 10.0])
    statistics.normal_interval([10.0])


def test_a_mean_over_the_experiment_counts_the_instants_before_the_start() -> None:
    # Ten instants, two of which before the start: 8 * 300 / 10.
    assert flow_means.mean_over_experiment([0.0, math.nan, *[300.0] * 8]) == 240.0


def test_normalisation_is_equation_5() -> None:
    # Of 2800 over 280 of 300 s: the partial mean is 2613.33, and 2613.33 (1 + 20 / 300) = 2787.56.
    partial = flow_means.mean_over_experiment([0.0] * 20 + [2800.0] * 280)
    assert partial == pytest.approx(2613.3333)
    assert flow_means.normalised(partial, 20, 300) == pytest.approx(2787.5556)
    # The first flow starts at once.
    assert flow_means.normalised(2800.0, 0, 300) == 2800.0
    with pytest.raises(StatisticsError, match="wait of 300 s"):
        flow_means.normalised(1.0, 300, 300)


def test_the_mean_of_two_flows_is_their_sum_over_f() -> None:
    assert flow_means.mean_of_flows([2900.0, 3000.0]) == 2950.0
    assert flow_means.mean_of_flows([2900.0]) == 2900.0


def test_a_reported_jitter_is_the_variation_itself() -> None:
    # QI is one less than the readings, of which the first two are before the start.
    assert flow_means.reported_jitter([math.nan, 0.0, 2.0, 3.0, 1.0]) == 1.5
    with pytest.raises(StatisticsError, match="at least 2"):
        flow_means.reported_jitter([1.0])


def test_jitter_is_the_mean_variation_between_consecutive_readings() -> None:
    # The paper's example: 10 ms and 11 ms are a variation of 1 ms.
    assert flow_means.jitter([10.0, 11.0]) == 1.0
    # |1| + |-3| + |0| over QI = 3.
    assert flow_means.jitter([10.0, 11.0, 8.0, 8.0]) == pytest.approx(4 / 3)
    # Readings before the start have no variation; QI stays T - 1 = 5.
    assert flow_means.jitter([math.nan, math.nan, 10.0, 12.0, 11.0, 11.0]) == pytest.approx(3 / 5)
    assert math.isnan(flow_means.jitter([math.nan, 1.0, math.nan]))
    with pytest.raises(StatisticsError, match="at least 2"):
        flow_means.jitter([1.0])


def test_the_effective_load_is_what_was_not_lost() -> None:
    # Table 3, line 1.
    assert flow_means.effective(394825.25, 293967.67) == pytest.approx(100857.58)
    with pytest.raises(StatisticsError, match="cannot be lost"):
        flow_means.effective(1.0, 2.0)


@given(st.floats(0, 1e6), st.floats(0, 99), st.integers(100, 1000))
def test_the_normalised_mean_never_exceeds_that_over_the_own_time(
    rate: float, waited: float, total: int
) -> None:
    partial = rate * (total - waited) / total
    found = flow_means.normalised(partial, waited, total)
    # (1 - x)(1 + x) = 1 - x^2 of the rate, where x = S / T.
    assert found == pytest.approx(rate * (1 - (waited / total) ** 2))
    assert partial <= found * (1 + 1e-12)
