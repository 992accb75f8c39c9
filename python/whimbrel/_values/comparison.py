"""Differences and ratios of two measured means, each with its 95 % interval.

Repetitions that share a seed are pairs: the seed's effect on both cancels out. Without shared seeds the
samples are independent (Welch). The interval of a ratio is Fieller's, which needs no large sample and is
unbounded if the denominator may be zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from whimbrel._values.sheet import Value
from whimbrel._values.statistics import (
    FloatArray,
    Interval,
    defined,
    student_interval,
    student_quantile,
    student_tail,
)

CONFIDENCE = 0.95


def estimate(value: Value) -> Interval | None:
    """The mean and its interval, of zero width without random variation; None without a number."""
    interval = value.interval
    if interval is None or not value.is_exact:
        return interval
    return Interval(interval.mean, interval.mean, interval.mean, interval.n, CONFIDENCE, "exact")


def difference(a: Value, b: Value, factor: float = 1.0) -> Interval | None:
    """The interval of the mean of `a` less `factor` times the mean of `b`; None if one has no mean."""
    pairs = _pairs(a, b)
    if pairs is not None:
        return student_interval(pairs[0] - factor * pairs[1], CONFIDENCE)
    first, second = estimate(a), estimate(b)
    if first is None or second is None:
        return None
    mean = first.mean - factor * second.mean
    variance_a, variance_b = _variance_of_mean(a), _variance_of_mean(b)
    degrees = _welch(variance_a, a, factor**2 * variance_b, b)
    spread = math.sqrt(variance_a + factor**2 * variance_b)
    half = spread * _quantile(degrees) if spread else 0.0
    return Interval(mean, mean - half, mean + half, _runs(a, b), CONFIDENCE, "welch")


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference of two means with its uncertainty.

    Attributes:
        mean: the difference.
        spread: its standard deviation; NaN if a sample is too small to have one.
        degrees: degrees of freedom of Student's t.
        n: number of pairs, or the lesser of the two numbers of repetitions.
        method: `paired` or `welch`.
    """

    mean: float
    spread: float
    degrees: float
    n: int
    method: str

    def above(self) -> float:
        """The probability of such a mean, or a higher one, if the true difference is zero (one-sided)."""
        if math.isnan(self.spread):
            return math.nan
        if self.spread == 0.0:
            return 0.0 if self.mean > 0 else 1.0
        return student_tail(self.mean / self.spread, self.degrees)

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """The interval of the difference; its bounds are NaN if there is no spread."""
        half = self.spread * student_quantile(self.degrees, confidence) if self.spread else 0.0
        low, high = self.mean - half, self.mean + half
        return Interval(self.mean, low, high, self.n, confidence, self.method)


def contrast(a: Value, b: Value, factor: float = 1.0) -> Contrast | None:
    """The mean of `a` less `factor` times the mean of `b`, for tests at any level; None without means."""
    pairs = _pairs(a, b)
    if pairs is not None:
        found = pairs[0] - factor * pairs[1]
        n = int(found.size)
        # Pairs that differ by the same amount differ beyond chance, but for rounding.
        spread = 0.0 if np.ptp(found) == 0 else float(np.std(found, ddof=1)) / math.sqrt(n)
        return Contrast(float(np.mean(found)), spread, float(n - 1), n, "paired")
    first, second = estimate(a), estimate(b)
    if first is None or second is None:
        return None
    variance_a, variance_b = _variance_of_mean(a), _variance_of_mean(b)
    scaled = factor**2 * variance_b
    mean = first.mean - factor * second.mean
    return Contrast(
        mean, math.sqrt(variance_a + scaled), _welch(variance_a, a, scaled, b), _runs(a, b), "welch"
    )


def ratio(a: Value, b: Value) -> Interval | None:
    """The ratio of the mean of `a` to the mean of `b`, with Fieller's interval.

    Returns:
        None if one has no mean, or the mean of `b` is zero. The bounds are infinite if the repetitions cannot
        distinguish the mean of `b` from zero, and NaN for a single run.

    Source: E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society B
    16 (1954).
    """
    pairs = _pairs(a, b)
    if pairs is not None:
        x, y = pairs
        n = int(x.size)
        mean_a, mean_b = float(np.mean(x)), float(np.mean(y))
        covariance = np.cov(x, y, ddof=1) / n
        variance_a, variance_b, together = (
            float(covariance[0, 0]),
            float(covariance[1, 1]),
            float(covariance[0, 1]),
        )
        degrees = float(n - 1)
    else:
        first, second = estimate(a), estimate(b)
        if first is None or second is None:
            return None
        n, mean_a, mean_b, together = _runs(a, b), first.mean, second.mean, 0.0
        variance_a, variance_b = _variance_of_mean(a), _variance_of_mean(b)
        about = (mean_a / mean_b) ** 2 if mean_b else 0.0
        degrees = _welch(variance_a, a, about * variance_b, b)
    if mean_b == 0:
        return None
    found = mean_a / mean_b
    if math.isnan(variance_a + variance_b):
        return Interval(found, math.nan, math.nan, n, CONFIDENCE, "fieller")
    # The ratios r for which the interval of a - r b holds zero: leading r^2 - 2 middle r + last <= 0.
    square = _quantile(degrees) ** 2 if variance_a or variance_b else 0.0
    leading = mean_b**2 - square * variance_b
    middle = mean_a * mean_b - square * together
    last = mean_a**2 - square * variance_a
    if leading <= 0:
        return Interval(found, -math.inf, math.inf, n, CONFIDENCE, "fieller")
    root = math.sqrt(max(0.0, middle**2 - leading * last))
    return Interval(found, (middle - root) / leading, (middle + root) / leading, n, CONFIDENCE, "fieller")


def _pairs(a: Value, b: Value) -> tuple[FloatArray, FloatArray] | None:
    """The values of the seeds that both have, if both define them; None for fewer than two such seeds."""
    if a.is_exact or b.is_exact:
        return None
    places = {seed: place for place, seed in enumerate(b.seeds)}
    shared = [(place, places[seed]) for place, seed in enumerate(a.seeds) if seed in places]
    if len(shared) < 2:
        return None
    x, y = a.sample[[first for first, _ in shared]], b.sample[[second for _, second in shared]]
    both = ~np.isnan(x) & ~np.isnan(y)
    return (x[both], y[both]) if np.count_nonzero(both) > 1 else None


def _runs(a: Value, b: Value) -> int:
    """The least number of runs behind the two, of those that are random."""
    return min((defined(value.sample).size for value in (a, b) if not value.is_exact), default=1)


def _variance_of_mean(value: Value) -> float:
    """NaN for a single run."""
    sample = defined(value.sample)
    if value.is_exact or (sample.size > 1 and np.all(sample == sample[0])):
        return 0.0
    return float(np.var(sample, ddof=1)) / sample.size if sample.size > 1 else math.nan


def _welch(variance_a: float, a: Value, variance_b: float, b: Value) -> float:
    """The degrees of freedom of a sum of two means, after Welch and Satterthwaite."""
    parts = 0.0
    for variance, value in ((variance_a, a), (variance_b, b)):
        if variance:
            parts += variance**2 / max(1, defined(value.sample).size - 1)
    return (variance_a + variance_b) ** 2 / parts if parts else 1.0


def _quantile(degrees: float) -> float:
    return student_quantile(degrees, CONFIDENCE)
