"""Statistics of repeated runs.

The method of paper `confront`, Section 3.6: repeat an experiment `N_BASE` times, derive from the spread the
number of repetitions that brings the mean within five per cent, repeat that often, and state a normal
interval with every mean. With three to twenty repetitions the normal quantile is too optimistic, so Whimbrel
prints and stops by Student's t interval; skewed metrics have the BCa bootstrap.

Every function takes a one-dimensional sample with one value per repetition, in the metric's own unit.
An empty sample, a NaN or an infinity raises `StatisticsError`. A single value has a mean but no spread:
its interval has NaN for bounds. A sample without spread has an interval of width zero, which is shown as
"identical in n runs": such runs are one measurement, and say nothing about chance.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whimbrel._base import extras
from whimbrel.errors import SmallSampleWarning, StatisticsError

FloatArray: TypeAlias = npt.NDArray[np.float64]
Sample: TypeAlias = Sequence[float] | npt.NDArray[np.floating]

N_BASE = 3
"""Repetitions before the first evaluation of the spread (`confront`, Section 3.6)."""

Z_95 = 1.96
"""The normal quantile as `confront` rounds it (equation 11); scipy's has more digits."""

SHORTFALL = 0.05
"""Part by which a normal interval may be narrower than Student's without a warning."""

RELATIVE_ERROR = 0.05
"""Required half width of the interval, as a part of the mean (`confront`, equation 13)."""

ROUNDING = 1e-12
"""Part of the mean by which sums of the same numbers in another order may differ."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the interval that holds the true one with probability `confidence`.

    Attributes:
        mean: arithmetic mean of the sample, or the bootstrapped statistic.
        low: lower bound; NaN for a single value.
        high: upper bound; NaN for a single value.
        n: size of the sample.
        confidence: such as 0.95.
        method: `normal`, `student` or `bca`.
    """

    mean: float
    low: float
    high: float
    n: int
    confidence: float
    method: str

    @property
    def half_width(self) -> float:
        """Half the distance between the bounds; NaN for a single value."""
        return (self.high - self.low) / 2

    @property
    def is_identical(self) -> bool:
        """True if several values are all the same, but for the rounding of their last digits."""
        return self.n > 1 and self.high - self.low <= ROUNDING * abs(self.mean)

    def spread(self, digits: int) -> str:
        """Half the width, as shown behind the mean: `± 1.2`; empty for a single value.

        Args:
            digits: decimal places.
        """
        if self.is_identical:
            return f"(identical in {self.n} runs)"
        return f"± {self.half_width:.{digits}f}" if self.n > 1 else ""

    def bounds(self, form: str = ".3g") -> str:
        """The bounds, as shown behind the mean: `[1.1, 1.3]`; empty if there are none.

        Args:
            form: format of a number.
        """
        if self.is_identical:
            return f"(identical in {self.n} runs)"
        if self.n < 2 or math.isnan(self.low):
            return ""
        return f"[{self.low:{form}}, {self.high:{form}}]"

    def contains(self, value: float) -> bool:
        """True if `value` lies between the bounds, which are part of the interval."""
        return self.low <= value <= self.high

    def overlaps(self, other: Interval) -> bool:
        """True if some value lies in both intervals; false if either has no bounds."""
        return self.low <= other.high and other.low <= self.high


def _checked(sample: Sample) -> FloatArray:
    values = np.asarray(sample, dtype=np.float64)
    if values.ndim != 1:
        raise StatisticsError(f"a sample has one dimension, this has {values.ndim}")
    if values.size == 0:
        raise StatisticsError("the sample is empty")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise StatisticsError(f"value {bad[0]} of the sample is {values[bad[0]]}, not a finite number")
    return values


def standard_deviation(sample: Sample) -> float:
    """The sample's standard deviation, with n - 1 in the denominator; NaN for a single value."""
    values = _checked(sample)
    if values.size == 1:
        return math.nan
    # Equal values can differ from their rounded mean; a constant sample has no spread at all.
    if np.all(values == values[0]):
        return 0.0
    return float(np.std(values, ddof=1))


def _around_mean(sample: Sample, quantile: float, confidence: float, method: str) -> Interval:
    values = _checked(sample)
    mean = float(np.mean(values))
    half = quantile * standard_deviation(values) / math.sqrt(values.size)
    return Interval(mean, mean - half, mean + half, int(values.size), confidence, method)


def normal_interval(sample: Sample, z: float = Z_95) -> Interval:
    """The interval of `confront`, equation (10): mean -+ z s / sqrt(n).

    `z` defaults to the paper's rounded 1.96, and the confidence follows from it.

    Warns:
        SmallSampleWarning: the sample is too small for it; see `normal_shortfall`.
    """
    if shortfall := normal_shortfall(_checked(sample).size):
        warnings.warn(shortfall, SmallSampleWarning, stacklevel=2)
    confidence = 0.95 if z == Z_95 else math.erf(z / math.sqrt(2))
    return _around_mean(sample, z, confidence, "normal")


def normal_shortfall(n: int) -> str:
    """A warning that a normal interval of `n` values is too narrow; empty if it is not, or if there is none.

    The interval is too narrow if Student's t interval of the same values is more than `SHORTFALL` wider:
    below 27 values.
    """
    if n < 2:
        return ""
    wider = student_quantile(n - 1, 0.95) / Z_95 - 1
    if wider <= SHORTFALL:
        return ""
    return f"{n} values are too few for a normal interval: Student's is {wider:.0%} wider"


def student_interval(sample: Sample, confidence: float = 0.95) -> Interval:
    """Student's t interval with n - 1 degrees of freedom, for small numbers of repetitions."""
    n = _checked(sample).size
    quantile = student_quantile(n - 1, confidence) if n > 1 else math.nan
    return _around_mean(sample, quantile, confidence, "student")


def bootstrap_interval(
    sample: Sample,
    statistic: Callable[..., npt.ArrayLike] = np.mean,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> Interval:
    """The bias-corrected and accelerated bootstrap interval of `statistic`.

    Args:
        sample: one value per repetition.
        statistic: takes an array and `axis`, such as `numpy.mean` or `numpy.median`.
        confidence: such as 0.95.
        resamples: number of bootstrap samples.
        seed: of the resampling; the same seed produces the same interval.
    """
    # Its import takes a second, and most of Whimbrel does not need it.
    stats = extras.load("scipy.stats", "charts", "a bootstrap interval")

    values = _checked(sample)
    centre = float(np.asarray(statistic(values, axis=0)))
    if values.size == 1:
        return Interval(centre, math.nan, math.nan, 1, confidence, "bca")
    if np.all(values == values[0]):
        return Interval(centre, centre, centre, int(values.size), confidence, "bca")
    found = stats.bootstrap(
        (values,),
        statistic,
        n_resamples=resamples,
        confidence_level=confidence,
        method="BCa",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(centre, float(found.low), float(found.high), int(values.size), confidence, "bca")


def paired_difference(a: Sample, b: Sample, confidence: float = 0.95) -> Interval:
    """Student's t interval of the mean of `a - b`; equal positions share a seed.

    Runs of two schemes with one seed meet the same losses, so the difference of the pairs varies far less
    than either mean; an interval that excludes zero is a difference that the repetitions support.

    Raises:
        StatisticsError: also when the samples differ in length.
    """
    first, second = _checked(a), _checked(b)
    if first.size != second.size:
        raise StatisticsError(f"pairs need samples of equal length, not {first.size} and {second.size}")
    return student_interval(first - second, confidence)


def repetitions_needed(
    sample: Sample,
    relative_error: float = RELATIVE_ERROR,
    *,
    absolute_error: float = 0.0,
    z: float = Z_95,
    n_base: int = N_BASE,
) -> int:
    """Number of repetitions that bring the mean within the required error (`confront`, equation 15).

    n = (z s / (relative_error mean))^2, rounded up, and never less than `n_base`. The repetitions already
    made count: with 3 done and 12 needed, 9 are to be made.

    Args:
        sample: the values so far; with fewer than `n_base` (or than 2) of them there is no spread yet, and
            the result is that number.
        relative_error: required half width, as a part of the mean.
        absolute_error: half width that is always sufficient, in the metric's unit. A metric near zero,
            such as a loss rate without losses, needs it: no relative error is small against a mean of zero.
        z: normal quantile.
        n_base: least number of repetitions.

    Raises:
        StatisticsError: also for a mean of zero with spread and no `absolute_error`: no number suffices.
    """
    values = _checked(sample)
    least = max(n_base, 2)
    if values.size < least:
        return least
    spread = standard_deviation(values)
    if spread == 0.0:
        return n_base
    wanted = max(relative_error * abs(float(np.mean(values))), absolute_error)
    if wanted == 0.0:
        raise StatisticsError("the mean is zero but the values are not: give an absolute error as well")
    needed = (z * spread / wanted) ** 2
    if not needed < 2**53:
        raise StatisticsError(f"the mean is too close to zero: {needed:.3g} repetitions would be needed")
    # 1e-9: an exact whole quotient must not round up to the next.
    return max(n_base, math.ceil(needed * (1 - 1e-9)))


def student_repetitions_needed(
    sample: Sample,
    relative_error: float = RELATIVE_ERROR,
    *,
    absolute_error: float = 0.0,
    confidence: float = 0.95,
    n_base: int = N_BASE,
) -> int:
    """Number of repetitions that bring Student's interval, as printed, within the required error.

    The least n of at least `n_base` with t(n - 1) s / sqrt(n) <= wanted, where s is the sample's deviation.
    This n is at most the sample's size exactly if `student_interval` of the sample is narrow enough.

    Args:
        sample: the values so far; with fewer than `n_base` (or than 2) of them the result is that number.
        relative_error: required half width, as a part of the mean.
        absolute_error: half width that is always sufficient, in the metric's unit.
        confidence: of the interval.
        n_base: least number of repetitions.

    Raises:
        StatisticsError: also if no number of repetitions below a million suffices.
    """
    values = _checked(sample)
    least = max(n_base, 2)
    if values.size < least:
        return least
    spread = standard_deviation(values)
    if spread == 0.0:
        return n_base
    wanted = max(relative_error * abs(float(np.mean(values))), absolute_error)

    def suffices(n: int) -> bool:
        quantile = student_quantile(n - 1, confidence)
        # As in `student_interval`, so that both round alike.
        return quantile * spread / math.sqrt(n) <= wanted

    most = 1_000_000
    if not suffices(most):
        raise StatisticsError("the mean is too close to zero: give an absolute error as well")
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low


@dataclass(frozen=True, slots=True)
class Precision:
    """Stopping rule of an experiment: its repetitions end when Student's interval is narrow enough.

    With `maximum == n_base` the number is fixed, as in papers that repeat ten times in any case.

    Attributes:
        relative_error: required half width, as a part of the mean.
        absolute_error: half width that is always sufficient, by metric.
        n_base: least number of repetitions.
        maximum: largest number of repetitions, however wide the interval stays.
    """

    relative_error: float = RELATIVE_ERROR
    absolute_error: Mapping[str, float] | None = None
    n_base: int = N_BASE
    maximum: int = 30

    def __post_init__(self) -> None:
        if not 1 <= self.n_base <= self.maximum:
            raise StatisticsError(f"repetitions from {self.n_base} to {self.maximum}: not a range")
        if not self.relative_error > 0:
            raise StatisticsError(f"the relative error must be positive, not {self.relative_error}")

    @classmethod
    def exactly(cls, n: int) -> Precision:
        """A fixed number of repetitions."""
        return cls(n_base=n, maximum=n)

    def repetitions(self, samples: Mapping[str, Sample]) -> int:
        """The repetitions that the most uncertain metric needs, between `n_base` and `maximum`.

        Args:
            samples: metric to its values so far. A NaN in a sample is a metric that the run left undefined
                (the share of misclassified losses in a run without losses): it is left out, and a metric with
                fewer than two numbers requires no more.
        """
        if self.maximum == self.n_base:
            return self.n_base
        most = self.n_base
        for metric, sample in samples.items():
            values = defined(sample)
            if values.size < 2:
                continue
            try:
                needed = student_repetitions_needed(
                    values,
                    self.relative_error,
                    absolute_error=(self.absolute_error or {}).get(metric, 0.0),
                    n_base=self.n_base,
                )
            except StatisticsError:
                needed = self.maximum
            # If runs leave the metric undefined, more of them are needed for the same count of numbers.
            undefined = np.asarray(sample).size - values.size
            most = max(most, needed + (undefined if needed > values.size else 0))
        return min(most, self.maximum)

    def is_met_by(self, interval: Interval | None) -> bool:
        """True if an interval is as narrow as required. A single value has no interval."""
        if interval is None:
            return False
        # 1e-9: the bounds were rounded when they were computed.
        return interval.half_width <= self.relative_error * abs(interval.mean) * (1 + 1e-9)


def defined(sample: Sample) -> FloatArray:
    """The sample without its NaNs: the runs in which the metric is defined."""
    values = np.asarray(sample, dtype=np.float64)
    return values[~np.isnan(values)]


def jain_index(shares: Sample) -> float:
    """Jain's fairness index, (sum x)^2 / (n sum x^2): 1 when all shares are equal, 1/n when one has all.

    Shares that are all zero are equal, so their index is 1.

    Raises:
        StatisticsError: also for a negative share.
    """
    values = _checked(shares)
    if np.any(values < 0):
        raise StatisticsError("a share cannot be negative")
    largest = float(np.max(values))
    if largest == 0.0:
        return 1.0
    # Scaled by the largest, so that squares of very small or large shares stay representable.
    scaled = values / largest
    return float(np.sum(scaled) ** 2 / (values.size * np.sum(scaled**2)))


def student_quantile(degrees: float, confidence: float) -> float:
    """The quantile of Student's t that bounds a two-sided interval.

    Args:
        degrees: degrees of freedom, not necessarily a whole number.
        confidence: such as 0.95.

    Raises:
        MissingExtra: scipy is not installed.
    """
    special = extras.load("scipy.special", "charts", "a confidence interval")
    return float(special.stdtrit(degrees, (1 + confidence) / 2))


def student_tail(t: float, degrees: float) -> float:
    """The probability that Student's t exceeds a value.

    Args:
        t: the value.
        degrees: degrees of freedom, not necessarily a whole number.

    Raises:
        MissingExtra: scipy is not installed.
    """
    special = extras.load("scipy.special", "charts", "a test of a difference")
    return float(special.stdtr(degrees, -t))
