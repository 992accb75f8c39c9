"""Claims checked by code against intervals: a claim holds, does not hold, or is undecided.

A check takes numbers and returns a verdict with its evidence. A claim states a range for a mean, for a
difference of two means or for their ratio; the 95 % interval of that quantity decides. The claim holds if the
whole interval lies in the range, does not hold if no part of it does, and is undecided if a bound of the
range lies inside the interval. A number without random variation is an interval of zero width; a single run
of a random number has none, and decides nothing. Each part of a claim is tested at 95 % by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from whimbrel._show.sheet import Sheet
from whimbrel._values.comparison import difference, estimate, ratio
from whimbrel._values.sheet import Value
from whimbrel._values.statistics import Interval

_TOLD = 6
"""Number of parts of a verdict listed in the evidence."""

_ROUNDING = 1e-12
"""Tolerance for sums and products in floating point, as a part of the numbers: no run decides by so little.
"""

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check, with its evidence.

    Attributes:
        holds: true, false, or None if the runs made so far do not decide it.
        evidence: the numbers, in a sentence.
        cells: item, row and column of the runs whose repetition might decide it; empty unless undecided.
    """

    holds: bool | None
    evidence: str
    cells: frozenset[tuple[str, str, str]] = frozenset()

    def __and__(self, other: Verdict) -> Verdict:
        return Verdict(
            _all(self.holds, other.holds), f"{self.evidence}; {other.evidence}", self.cells | other.cells
        )._settled()

    @property
    def word(self) -> str:
        """`holds`, `does not hold` or `undecided`."""
        return UNDECIDED if self.holds is None else HOLDS if self.holds else FAILS

    def _settled(self) -> Verdict:
        return self if self.holds is None else replace(self, cells=frozenset())


Verdicts: TypeAlias = Mapping[str, Mapping[str, str]]
"""The word of each verdict, by claim and set of open choices."""
Check: TypeAlias = Callable[[Mapping[str, Sheet]], Verdict]
"""Maps sheets, by key of their item, to a verdict."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper in our words, or one of our own.

    Attributes:
        id: short and stable, such as `spike-best-in-wb`.
        claim: the sentence.
        items: keys of the items whose numbers it needs; it is checked only if all exist.
        check: returns the verdict.
        where: place in the paper, such as `Section 6.2`; empty for a claim of our own.
        reason: reason why it does not hold, or stays undecided, in the full form; empty if it holds. Shown in
            reports and the paper's README.md.
    """

    id: str
    claim: str
    items: tuple[str, ...]
    check: Check
    where: str = ""
    reason: str = ""

    @property
    def source(self) -> str:
        """Origin of the claim: `paper` or `ours`."""
        return "paper" if self.where else "ours"


def above(a: Value, b: Value | float, by: float = 0.0) -> Verdict:
    """The mean of `a` exceeds `b` by more than `by`, in the metric's unit.

    For a constant, the interval of the difference decides: of pairs if runs share their seeds.
    """
    if isinstance(b, Value):
        found = difference(a, b)
        first, second = _labels(a, b)
        text = f"{first} against {second}: {_signed(found, a.unit)}"
        return _verdict(_exceeds(found, by), text, a, b)
    return _verdict(_exceeds(estimate(a), b + by), f"{_label(a)} against {b + by:g}{_suffix(a.unit)}", a)


def below(a: Value, b: Value | float, by: float = 0.0) -> Verdict:
    """The mean of `a` falls short of `b` by more than `by`; see `above`."""
    if isinstance(b, Value):
        found = above(b, a, by)
        return replace(found, evidence=above(a, b).evidence)
    holds = _exceeds(_mirrored(estimate(a)), by - b)
    return _verdict(holds, f"{_label(a)} against {b - by:g}{_suffix(a.unit)}", a)


def between(a: Value, low: float, high: float) -> Verdict:
    """The mean of `a` lies between two numbers, which are part of the range."""
    asked = f"required: {low:g} to {high:g}{_suffix(a.unit)}"
    return _verdict(_inside(estimate(a), low, high), f"{_label(a)}, {asked}", a)


def at_least(a: Value, limit: Value | float) -> Verdict:
    """The mean of `a` is the limit or more."""
    if isinstance(limit, Value):
        return not_above(limit, a)
    asked = f"required: at least {limit:g}{_suffix(a.unit)}"
    return _verdict(_inside(estimate(a), limit, math.inf), f"{_label(a)}, {asked}", a)


def at_most(a: Value, limit: Value | float) -> Verdict:
    """The mean of `a` is the limit or less."""
    if isinstance(limit, Value):
        return not_above(a, limit)
    asked = f"required: at most {limit:g}{_suffix(a.unit)}"
    return _verdict(_inside(estimate(a), -math.inf, limit), f"{_label(a)}, {asked}", a)


def never_above(a: Value, limit: float) -> Verdict:
    """No run exceeds the limit: a claim about each run, which a single one refutes.

    The claim holds if no run of at least two exceeds the limit; a run that leaves the number undefined does
    not count.
    """
    sample = a.sample[~np.isnan(a.sample)]
    beyond = int(np.count_nonzero(sample > limit))
    text = f"{_label(a)}, more than {limit:g}{_suffix(a.unit)} in {beyond} of {sample.size} runs"
    holds = False if beyond else True if sample.size > 1 or (a.is_exact and sample.size) else None
    return _verdict(holds, text, a)


def close(a: Value, b: Value, within: float) -> Verdict:
    """The means of `a` and `b` differ by at most `within`, in the metric's unit."""
    found = difference(a, b)
    first, second = _labels(a, b)
    text = f"{first} and {second}: {_signed(found, a.unit)}, required: at most {within:g} either way"
    return _verdict(_inside(found, -within, within), text, a, b)


def highest(a: Value, *others: Value) -> Verdict:
    """The mean of `a` is above every other mean."""
    return every(*(above(a, other) for other in _by_mean(others, descending=True)))


def lowest(a: Value, *others: Value) -> Verdict:
    """The mean of `a` is below every other mean."""
    return every(*(below(a, other) for other in _by_mean(others, descending=False)))


def times(a: Value, b: Value, low: float, high: float = math.inf) -> Verdict:
    """The mean of `a` is `low` to `high` times the mean of `b`, both included; neither may be negative.

    Decided by the intervals of `a - low b` and `a - high b`, which are equivalent to Fieller's interval of
    the ratio, shown as evidence, and decide also if that is unbounded.
    """
    least = _inside(difference(a, b, low), 0.0, math.inf, _size(a, b))
    greatest = True if math.isinf(high) else _inside(difference(a, b, high), -math.inf, 0.0, _size(a, b))
    first, second = _labels(a, b)
    asked = f"{low:g} to {high:g}" if math.isfinite(high) else f"at least {low:g}"
    if low == 0:
        asked = f"at most {high:g}"
    text = f"{first} against {second}: {_multiple(ratio(a, b))}, required: {asked}"
    return _verdict(_all(least, greatest), text, a, b)


def not_above(a: Value, b: Value, by: float = 0.0) -> Verdict:
    """The mean of `a` exceeds `b`'s by no more than `by`: a printed `a <= b`, with its rounding."""
    found = difference(a, b)
    first, second = _labels(a, b)
    text = f"{first} against {second}: {_signed(found, a.unit)}, required: at most {by:g}"
    return _verdict(_inside(found, -math.inf, by, _size(a, b)), text, a, b)


def ordered(*values: Value) -> Verdict:
    """Each exceeds the one before it, in the sense of `above`."""
    return every(*(below(a, b) for a, b in itertools.pairwise(values)))


def rising(*values: Value, within: float = 0.0) -> Verdict:
    """The last exceeds the first, and no step in between goes down by more than `within`.

    Args:
        values: at least two, in order.
        within: tolerated decrease, in the metric's unit: flat parts of a curve need more than zero.
    """
    steps = (not_above(a, b, within) for a, b in itertools.pairwise(values))
    return every(above(values[-1], values[0]), *steps)


def steady(within: float, *values: Value) -> Verdict:
    """No two means are further apart than `within`, in the metric's unit; the evidence names the extremes."""
    parts = [close(a, b, within) for a, b in itertools.combinations(_by_mean(values, descending=True), 2)]
    extremes = close(*_extremes(values), within)
    whole = every(*parts)
    return replace(extremes, holds=whole.holds, cells=whole.cells)


def span(values: Sequence[Value], name: str) -> Value:
    """Difference between the greatest and the least mean, repetition by repetition.

    The two are selected by their means, so the span of equal numbers is slightly above zero.

    Args:
        values: at least one, with seeds in common.
        name: of the result.
    """
    greatest, least = _extremes(values)
    seeds, (top, bottom) = _shared([greatest, least], name)
    return _combined([greatest, least], top - bottom, seeds, name)


def average(values: Sequence[Value], name: str) -> Value:
    """The mean of several numbers, repetition by repetition, over the seeds that all have.

    Args:
        values: at least one; values undefined in a repetition are left out of its mean.
        name: of the result.

    Raises:
        ValueError: they share no seed.
    """
    seeds, samples = _shared(values, name)
    count = np.sum(~np.isnan(samples), axis=0)
    total = np.nansum(samples, axis=0)
    means = np.divide(total, count, out=np.full(total.shape, math.nan), where=count > 0)
    return _combined(values, means, seeds, name)


def total(values: Sequence[Value], name: str) -> Value:
    """The sum of several numbers, repetition by repetition, over the seeds that all have; see `average`."""
    seeds, samples = _shared(values, name)
    return _combined(values, np.sum(samples, axis=0), seeds, name)


def most(*verdicts: Verdict) -> Verdict:
    """More than half hold; the evidence lists the parts that do not."""
    failed = [verdict for verdict in verdicts if verdict.holds is False]
    open_ = [verdict for verdict in verdicts if verdict.holds is None]
    held = len(verdicts) - len(failed) - len(open_)
    text = f"{held} of {len(verdicts)} cases hold"
    text += f", {len(open_)} undecided" if open_ else ""
    text += f"; not: {_joined(failed)}" if failed else ""
    text += f"; undecided: {_joined(open_)}" if open_ else ""
    holds = True if 2 * held > len(verdicts) else False if 2 * (held + len(open_)) <= len(verdicts) else None
    return Verdict(holds, text, _cells(open_))._settled()


def every(*verdicts: Verdict) -> Verdict:
    """All hold; the evidence lists the parts that do not."""
    failed = [verdict for verdict in verdicts if verdict.holds is False]
    open_ = [verdict for verdict in verdicts if verdict.holds is None]
    if not failed and not open_:
        return Verdict(True, _joined(verdicts))
    text = []
    if failed:
        text.append(f"{len(failed)} of {len(verdicts)} parts do not hold: {_joined(failed)}")
    if open_:
        text.append(f"{len(open_)} of {len(verdicts)} parts are undecided: {_joined(open_)}")
    return Verdict(False if failed else None, ". ".join(text), _cells(open_))._settled()


def denied(verdict: Verdict) -> Verdict:
    """The opposite: holds if the other does not."""
    return replace(verdict, holds=None if verdict.holds is None else not verdict.holds)


def some(*verdicts: Verdict) -> Verdict:
    """At least one holds; the evidence lists the parts that hold, or that might."""
    held = [verdict for verdict in verdicts if verdict.holds]
    open_ = [verdict for verdict in verdicts if verdict.holds is None]
    holds = True if held else None if open_ else False
    text = f"{len(held)} of {len(verdicts)} cases hold"
    text += f", {len(open_)} undecided" if open_ else ""
    return Verdict(holds, f"{text}: {_joined(held or open_ or verdicts)}", _cells(open_))._settled()


def _exceeds(interval: Interval | None, limit: float) -> bool | None:
    """Decides whether a mean lies above a limit, which is not part of the range."""
    if interval is None or math.isnan(interval.low):
        return None
    if interval.low > limit:
        return True
    return False if interval.high <= limit else None


def _inside(interval: Interval | None, low: float, high: float, size: float = 0.0) -> bool | None:
    """Decides whether a mean lies in a range, bounds included.

    Args:
        interval: of the mean.
        low: of the range.
        high: of the range.
        size: magnitude of the numbers of a difference, which determines its rounding error.
    """
    if interval is None or math.isnan(interval.low):
        return None
    slack = _ROUNDING * max(size, abs(interval.low), abs(interval.high))
    slack = slack if math.isfinite(slack) else 0.0
    if interval.low >= low - slack and interval.high <= high + slack:
        return True
    return False if interval.high < low - slack or interval.low > high + slack else None


def _all(*parts: bool | None) -> bool | None:
    return False if False in parts else None if None in parts else True


def _mirrored(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    return replace(interval, mean=-interval.mean, low=-interval.high, high=-interval.low)


def _size(*values: Value) -> float:
    return max((abs(value.mean) for value in values if not math.isnan(value.mean)), default=0.0)


def _verdict(holds: bool | None, evidence: str, *values: Value) -> Verdict:
    cells = frozenset[tuple[str, str, str]]().union(*(v.cells for v in values if not v.is_exact))
    return Verdict(holds, evidence, cells)._settled()


def _cells(verdicts: Sequence[Verdict]) -> frozenset[tuple[str, str, str]]:
    return frozenset[tuple[str, str, str]]().union(*(verdict.cells for verdict in verdicts))


def _by_mean(values: Sequence[Value], *, descending: bool) -> list[Value]:
    """By mean, so that the evidence begins with the nearest; values without a mean are last."""
    sign = -1 if descending else 1
    return sorted(values, key=lambda v: (math.isnan(v.mean), 0.0 if math.isnan(v.mean) else sign * v.mean))


def _extremes(values: Sequence[Value]) -> tuple[Value, Value]:
    return _by_mean(values, descending=True)[0], _by_mean(values, descending=False)[0]


def _shared(values: Sequence[Value], name: str) -> tuple[tuple[int, ...], np.ndarray]:
    """The seeds shared by all values, in order, and a row of numbers for each value."""
    if len({value.seeds for value in values}) == 1:
        return values[0].seeds, np.vstack([value.sample for value in values])
    seeds = tuple(seed for seed in values[0].seeds if all(seed in value.seeds for value in values))
    if not seeds:
        raise ValueError(f"{name}: the numbers have different seeds")
    rows = [[value.sample[value.seeds.index(seed)] for seed in seeds] for value in values]
    return seeds, np.array(rows, dtype=np.float64)


def _combined(values: Sequence[Value], sample: np.ndarray, seeds: tuple[int, ...], name: str) -> Value:
    return replace(
        values[0],
        sample=sample,
        paper=None,
        seeds=seeds,
        name=name,
        is_exact=all(value.is_exact for value in values),
        cells=frozenset[tuple[str, str, str]]().union(*(value.cells for value in values)),
    )


def _joined(verdicts: Sequence[Verdict]) -> str:
    """The evidence of the first few; the table has the rest."""
    text = [verdict.evidence for verdict in verdicts[:_TOLD]]
    rest = len(verdicts) - len(text)
    return "; ".join([*text, f"and {rest} more"] if rest else text)


def _suffix(unit: str) -> str:
    return f" {unit}" if unit else ""


def _before(words: str) -> str:
    return f" {words}" if words else ""


def _labels(a: Value, b: Value) -> tuple[str, str]:
    """Two values, with their sheets if their names are the same."""
    same = a.name == b.name and a.source != b.source
    return _label(a, with_source=same), _label(b, with_source=same)


def _label(value: Value, *, with_source: bool = False) -> str:
    interval = value.interval
    name = f"{value.name} in {value.source}" if with_source else value.name
    if interval is None:
        return f"{name} undefined"
    text = f"{name} {interval.mean:.3g}"
    text += _before(interval.bounds()) + _suffix(value.unit)
    if interval.n < value.sample.size:
        return f"{text} (defined in {interval.n} of {value.sample.size} runs)"
    return text if interval.n > 1 or value.is_exact else f"{text} (one run)"


def _signed(found: Interval | None, unit: str) -> str:
    if found is None:
        return "no difference defined"
    return f"difference {found.mean:+.3g}{_before(found.bounds('+.3g'))}{_suffix(unit)}"


def _multiple(found: Interval | None) -> str:
    if found is None:
        return "no ratio defined"
    if math.isinf(found.high):
        return f"{found.mean:.3g} times as much, the interval unbounded"
    return f"{found.mean:.3g}{_before(found.bounds())} times as much"
