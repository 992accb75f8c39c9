"""Ranges of axes and of what is drawn on them.

A mean of shares has an interval that is symmetrical and may reach below 0 or above 100 %, where no share can
be. Figures draw the possible part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from whimbrel._values.sheet import Bounds, Metric

_SPACE = 0.03
"""Part of the span of the data by which an axis is longer, on each side."""


def bounds(metric: Metric, numbers: Iterable[float]) -> Bounds:
    """The range that the values of a metric cannot leave.

    A side on which a mean or a printed number lies outside is open: the metric is not of the declared kind.

    Args:
        metric: the metric.
        numbers: means and printed numbers.
    """
    low, high = metric.limits
    listed = list(numbers)
    if low is not None and any(number < low for number in listed):
        low = None
    if high is not None and any(number > high for number in listed):
        high = None
    return low, high


def cut(value: float, within: Bounds) -> float:
    """The value, or the bound that it exceeds."""
    low, high = within
    if low is not None and value < low:
        return low
    return high if high is not None and value > high else value


def value_scale(numbers: Sequence[float], within: Bounds, *, zero: bool = False) -> dict[str, Any]:
    """The scale of an axis of values, which does not leave their bounds.

    Args:
        numbers: everything that is drawn on it.
        within: the bounds.
        zero: the axis begins at zero.
    """
    if not numbers:
        return {"zero": zero, "nice": True}
    origin = [0.0] if zero else []
    least, greatest = min([*numbers, *origin]), max([*numbers, *origin])
    space = _SPACE * (greatest - least) or max(abs(least) / 20, 0.5)
    low = least if zero and least == 0 else cut(least - space, within)
    # The ends of shares, 0 and 100, are ticks, so that rounding outwards to ticks does not go beyond them.
    return {"domain": [low, cut(greatest + space, within)], "nice": True, "zero": False}


def span(positions: Sequence[float]) -> list[float]:
    """The range of a horizontal axis: the data's range, and a little space for the symbols at its ends."""
    least, greatest = min(positions, default=0.0), max(positions, default=0.0)
    space = 0.02 * (greatest - least) or 0.5
    low = least - space if least < 0 else max(0.0, least - space)
    high = greatest + space if greatest > 0 else min(0.0, greatest + space)
    return [round(low, 6), round(high, 6)]
