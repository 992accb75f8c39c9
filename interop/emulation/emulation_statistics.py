"""Tests of counts and distributions, exact or conservative."""

from __future__ import annotations

import math
from collections.abc import Sequence


def runs(fates: Sequence[bool]) -> tuple[list[int], list[int]]:
    """Lengths of the runs of losses, and of the runs of arrivals between them.

    Args:
        fates: for each packet of a stream, whether it arrived.
    """
    lost: list[int] = []
    arrived: list[int] = []
    position = 0
    while position < len(fates):
        end = position
        while end < len(fates) and fates[end] == fates[position]:
            end += 1
        # The first and the last run are cut off.
        if position > 0 and end < len(fates):
            (arrived if fates[position] else lost).append(end - position)
        position = end
    return lost, arrived


def binomial_tail(count: int, trials: int, probability: float) -> float:
    """Twice the probability of a count at least as far from the mean on its side: an exact test."""
    terms = range(count + 1) if count <= trials * probability else range(count, trials + 1)
    log = math.log
    total = 0.0
    for k in terms:
        ways = math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        total += math.exp(ways + k * log(probability) + (trials - k) * log(1 - probability))
    return min(1.0, 2 * total)


def ks_p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """The p-value of the two-sample test of Kolmogorov and Smirnov, by its asymptotic distribution.

    For discrete values, such as lengths, the true one is larger: the test is conservative.
    """
    if not first or not second:
        return 1.0 if not first and not second else 0.0
    values = sorted({*first, *second})
    a, b = sorted(first), sorted(second)
    position_a = position_b = 0
    distance = 0.0
    for value in values:
        while position_a < len(a) and a[position_a] <= value:
            position_a += 1
        while position_b < len(b) and b[position_b] <= value:
            position_b += 1
        distance = max(distance, abs(position_a / len(a) - position_b / len(b)))
    size = len(a) * len(b) / (len(a) + len(b))
    scaled = (math.sqrt(size) + 0.12 + 0.11 / math.sqrt(size)) * distance
    if scaled < 0.2:
        return 1.0
    terms = ((1.0 if k % 2 else -1.0) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101))
    return max(0.0, min(1.0, 2 * sum(terms)))
