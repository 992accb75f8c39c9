"""A paper's sentences, judged by code.

A judge looks at numbers and gives a verdict with its evidence. Where two schemes met the same seeds, they
are compared run by run: the verdict asks whether the interval of the difference leaves out zero, which is
what the repetitions support and no more. A claim that does not hold says so; nothing here can be tuned.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from whimbrel.sheet import Sheet, Value
from whimbrel.statistics import Interval, paired_difference

_TOLD = 6
"""Parts of a verdict whose numbers the evidence tells."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something holds, and what says so.

    Attributes:
        holds: the numbers support it.
        evidence: the numbers, in a sentence.
    """

    holds: bool
    evidence: str

    def __and__(self, other: Verdict) -> Verdict:
        return Verdict(self.holds and other.holds, f"{self.evidence}; {other.evidence}")


Judge: TypeAlias = Callable[[Mapping[str, Sheet]], Verdict]
"""Sheets by key of their item, to verdict."""


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, in our words.

    Attributes:
        id: short and stable, such as `spike-best-in-wb`.
        claim: the sentence.
        items: keys of the items whose numbers it needs; unless all are there it is not judged.
        judge: gives the verdict.
        source: where the paper says it, such as `Section 6.2`.
    """

    id: str
    claim: str
    items: tuple[str, ...]
    judge: Judge
    source: str = ""


def above(a: Value, b: Value | float, by: float = 0.0) -> Verdict:
    """`a` exceeds `b` by more than `by`, in the metric's unit, in the mean and beyond chance.

    Against a number: the interval of `a` lies above it. Against a value of the same seeds: the interval of
    the paired difference does. Otherwise: the two intervals lie apart. Where a single run is all there is,
    the means decide.
    """
    if isinstance(b, Value):
        difference = _difference(a, b)
        holds = (difference.low if difference.n > 1 else difference.mean) > by
        first, second = _told_both(a, b)
        told = f"{first} against {second}: {_signed(difference, a.unit)}"
    else:
        interval = a.interval
        low = math.nan if interval is None else interval.low if interval.n > 1 else interval.mean
        holds = low > b + by
        told = f"{_told(a)} against {b + by:g}{_suffix(a.unit)}"
    return Verdict(bool(holds), told)


def below(a: Value, b: Value | float, by: float = 0.0) -> Verdict:
    """`a` falls short of `b` by more than `by`; see `above`."""
    if isinstance(b, Value):
        return Verdict(above(b, a, by).holds, above(a, b).evidence)
    interval = a.interval
    high = math.nan if interval is None else interval.high if interval.n > 1 else interval.mean
    return Verdict(bool(high < b - by), f"{_told(a)} against {b - by:g}{_suffix(a.unit)}")


def between(a: Value, low: float, high: float) -> Verdict:
    """The mean of `a` lies between two numbers, which are part of the range."""
    return Verdict(bool(low <= a.mean <= high), f"{_told(a)}, asked for {low:g} to {high:g}{_suffix(a.unit)}")


def at_least(a: Value, limit: float) -> Verdict:
    """The mean of `a` is the limit or more."""
    return Verdict(bool(a.mean >= limit), f"{_told(a)}, asked for at least {limit:g}{_suffix(a.unit)}")


def at_most(a: Value, limit: float) -> Verdict:
    """The mean of `a` is the limit or less."""
    return Verdict(bool(a.mean <= limit), f"{_told(a)}, asked for at most {limit:g}{_suffix(a.unit)}")


def close(a: Value, b: Value, within: float) -> Verdict:
    """The means of `a` and `b` differ by at most `within`, in the metric's unit."""
    apart = abs(a.mean - b.mean)
    first, second = _told_both(a, b)
    return Verdict(
        bool(apart <= within),
        f"{first} and {second}: {apart:.3g}{_suffix(a.unit)} apart, asked for at most {within:g}",
    )


def highest(a: Value, *others: Value) -> Verdict:
    """The mean of `a` is above that of every other."""
    rival = max(others, key=lambda other: other.mean)
    return Verdict(bool(a.mean > rival.mean), f"{_told(a)}; next is {_told(rival)}")


def lowest(a: Value, *others: Value) -> Verdict:
    """The mean of `a` is below that of every other."""
    rival = min(others, key=lambda other: other.mean)
    return Verdict(bool(a.mean < rival.mean), f"{_told(a)}; next is {_told(rival)}")


def times(a: Value, b: Value, low: float, high: float = math.inf) -> Verdict:
    """The mean of `a` is `low` to `high` times the mean of `b`, both included."""
    ratio = a.mean / b.mean if b.mean else math.nan
    first, second = _told_both(a, b)
    asked = f"{low:g} to {high:g}" if math.isfinite(high) else f"at least {low:g}"
    told = f"{first} against {second}: {ratio:.3g} times as much, asked for {asked}"
    return Verdict(bool(low <= ratio <= high), told)


def not_above(a: Value, b: Value, by: float = 0.0) -> Verdict:
    """Nothing shows that `a` exceeds `b` by more than `by`: a printed `a <= b`."""
    exceeds = above(a, b, by)
    return Verdict(not exceeds.holds and not math.isnan(a.mean - b.mean), exceeds.evidence)


def ordered(*values: Value) -> Verdict:
    """Each exceeds the one before it, in the sense of `above`."""
    return every(*(below(a, b) for a, b in itertools.pairwise(values)))


def rising(*values: Value) -> Verdict:
    """The last exceeds the first, and no step in between is known to go down."""
    return every(above(values[-1], values[0]), *(not_above(a, b) for a, b in itertools.pairwise(values)))


def steady(within: float, *values: Value) -> Verdict:
    """The means of all lie within so much of each other, in the metric's unit."""
    low, high = (pick(values, key=lambda value: value.mean) for pick in (min, max))
    return close(high, low, within)


def average(values: Sequence[Value], name: str) -> Value:
    """The mean of several numbers, repetition by repetition where all share their seeds.

    Args:
        values: at least one; what a repetition leaves undefined is left out of its mean.
        name: of the result.

    Raises:
        ValueError: they do not share their seeds.
    """
    if len({value.seeds for value in values}) != 1:
        raise ValueError(f"{name}: the numbers have different seeds")
    samples = np.vstack([value.sample for value in values])
    count = np.sum(~np.isnan(samples), axis=0)
    total = np.nansum(samples, axis=0)
    means = np.divide(total, count, out=np.full(total.shape, math.nan), where=count > 0)
    return replace(values[0], sample=means, paper=None, name=name)


def most(*verdicts: Verdict) -> Verdict:
    """More than half hold; the evidence is what does not."""
    failed = [verdict for verdict in verdicts if not verdict.holds]
    told = f"{len(verdicts) - len(failed)} of {len(verdicts)} cases hold"
    told += f"; not: {_joined(failed)}" if failed else ""
    return Verdict(2 * len(failed) < len(verdicts), told)


def every(*verdicts: Verdict) -> Verdict:
    """All hold; the evidence is what does not."""
    failed = [verdict for verdict in verdicts if not verdict.holds]
    if not failed:
        return Verdict(True, _joined(verdicts))
    return Verdict(False, f"{len(failed)} of {len(verdicts)} parts do not hold: {_joined(failed)}")


def _joined(verdicts: Sequence[Verdict]) -> str:
    """The evidence of the first few; nobody reads sixty numbers in a sentence, and the table has them."""
    told = [verdict.evidence for verdict in verdicts[:_TOLD]]
    rest = len(verdicts) - len(told)
    return "; ".join([*told, f"and {rest} more"] if rest else told)


def _difference(a: Value, b: Value) -> Interval:
    """The interval of `a - b`: paired where seeds agree, else as wide as both intervals together."""
    if a.seeds and a.seeds == b.seeds:
        both = ~np.isnan(a.sample) & ~np.isnan(b.sample)
        if both.any():
            return paired_difference(a.sample[both], b.sample[both])
    first, second = a.interval, b.interval
    if first is None or second is None:
        return Interval(math.nan, math.nan, math.nan, 0, 0.95, "student")
    low, high = first.low - second.high, first.high - second.low
    return Interval(first.mean - second.mean, low, high, min(first.n, second.n), 0.95, "student")


def _suffix(unit: str) -> str:
    return f" {unit}" if unit else ""


def _told_both(a: Value, b: Value) -> tuple[str, str]:
    """Two values, with the sheets they stand in where their names are the same."""
    same = a.name == b.name and a.source != b.source
    return _told(a, with_source=same), _told(b, with_source=same)


def _told(value: Value, *, with_source: bool = False) -> str:
    interval = value.interval
    name = f"{value.name} in {value.source}" if with_source else value.name
    if interval is None:
        return f"{name} undefined"
    told = f"{name} {interval.mean:.3g}"
    if interval.n > 1:
        told += f" [{interval.low:.3g}, {interval.high:.3g}]"
    return told + _suffix(value.unit)


def _signed(difference: Interval, unit: str) -> str:
    if math.isnan(difference.mean):
        return "no difference defined"
    told = f"difference {difference.mean:+.3g}"
    if difference.n > 1:
        told += f" [{difference.low:+.3g}, {difference.high:+.3g}]"
    return told + _suffix(unit)
