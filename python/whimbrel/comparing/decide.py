"""Decides for each number of two results whether it changed beyond chance.

Repetitions of the same seed are pairs (Student's t of their differences), others are independent samples
(Welch's t). The null hypothesis is that the mean changed by no more than the tolerance, a share of the mean
of A; it is tested in both directions. Since many numbers are compared, probabilities are corrected after Holm
(S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
1979): the chance that any number is called changed although none did is at most alpha, however they depend on
each other. Numbers that are identical in all pairs are not tested and do not count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import numpy as np

from whimbrel._values.comparison import contrast
from whimbrel._values.sheet import Value
from whimbrel._values.statistics import ROUNDING, Interval, defined
from whimbrel.comparing.samples import DEFAULT_METRICS, Samples
from whimbrel.errors import UsageError

_HIGHER = (
    "goodput*",
    "throughput*",
    "*mos*",
    "psnr*",
    "vmaf*",
    "ssim*",
    "delivered*",
    "*fairness*",
    "*per_s",
)
_LOWER = (
    "delay*",
    "rtt*",
    "jitter*",
    "loss_ratio",
    "loss_rate*",
    "lost*",
    "late*",
    "expired*",
    "overflowed*",
    "retransmitted*",
    "timeouts",
    "stall*",
    "*_ns",
    "ns",
    "*seconds",
    "instructions",
    "cpu*",
    "queue*",
    "dropped*",
)


@dataclass(frozen=True)
class Rules:
    """The rules of a comparison.

    Attributes:
        metrics: patterns of the metrics to compare, such as `delay*`; empty for the default ones.
        every_metric: true to compare all.
        alpha: chance that a number is called changed although none did.
        tolerance: share of A's mean by which a mean may change.
        tolerances: the same for single metrics, by pattern.
        better: `higher` or `lower` by pattern of metrics, before the known ones.
        exact: true if any difference between runs of the same seed is a change.
    """

    metrics: tuple[str, ...] = ()
    every_metric: bool = False
    alpha: float = 0.05
    tolerance: float = 0.0
    tolerances: Mapping[str, float] = field(default_factory=dict)
    better: Mapping[str, str] = field(default_factory=dict)
    exact: bool = False

    def tolerance_of(self, metric: str) -> float:
        """The tolerance of a metric."""
        found = [share for pattern, share in self.tolerances.items() if fnmatchcase(metric, pattern)]
        return found[0] if found else self.tolerance

    def direction(self, metric: str) -> int:
        """1 if higher values are better, -1 if lower ones are, 0 if unknown."""
        for pattern, which in self.better.items():
            if fnmatchcase(metric, pattern):
                return 1 if which == "higher" else -1
        plain = metric.rpartition(".")[2]
        if any(fnmatchcase(plain, pattern) for pattern in _HIGHER):
            return 1
        return -1 if any(fnmatchcase(plain, pattern) for pattern in _LOWER) else 0


@dataclass(frozen=True)
class Change:
    """A number in both results.

    Attributes:
        place: flow, link, cell or entry.
        metric: its name.
        a: mean in A.
        b: mean in B.
        difference: of the means, B less A, with its interval of 95 % (without correction).
        relative: the difference as a share of A's mean; NaN if that is zero.
        n_a: repetitions of A that define the number.
        n_b: the same of B.
        pairs: pairs of the same seed; 0 if the samples are independent.
        probability: of such a difference by chance, corrected; NaN if it cannot be computed.
        verdict: `same` (identical runs), `unchanged`, `changed` or `undecided` (too few repetitions).
        judgement: `better`, `worse` or `different` if it changed, otherwise empty.
    """

    place: str
    metric: str
    a: float
    b: float
    difference: Interval
    relative: float
    n_a: int
    n_b: int
    pairs: int
    probability: float
    verdict: str
    judgement: str


@dataclass(frozen=True)
class Comparison:
    """Two results compared.

    Attributes:
        a: name of the first.
        b: name of the second.
        rules: by which they were compared.
        changes: the numbers that both have, in the order of A.
        only_a: place and metric of numbers that only A has.
        only_b: the same of B.
    """

    a: str
    b: str
    rules: Rules
    changes: tuple[Change, ...]
    only_a: tuple[tuple[str, str], ...]
    only_b: tuple[tuple[str, str], ...]

    def changed(self, judgement: str = "any") -> list[Change]:
        """The numbers that changed; with `worse` or `better`, only those."""
        found = [each for each in self.changes if each.verdict == "changed"]
        return [each for each in found if judgement in ("any", each.judgement)]


def compare(a: Samples, b: Samples, rules: Rules | None = None) -> Comparison:
    """Compares the numbers that two results have in common.

    Raises:
        UsageError: they have none in common, or no metric has a requested name.
    """
    rules = rules or Rules()
    keys_a, keys_b = _chosen(a, rules), _chosen(b, rules)
    if rules.metrics and not keys_a and not keys_b:
        known = sorted({metric for _, metric in a.values})
        raise UsageError(f"no metric is called {' or '.join(rules.metrics)}; {a.name} has {', '.join(known)}")
    both = [key for key in keys_a if key in set(keys_b)]
    if not both:
        raise UsageError(
            f"{a.name} and {b.name} have no number in common: "
            f"{_examples(keys_a)} in the first, {_examples(keys_b)} in the second"
        )
    found = [_compared(key, a, b, rules) for key in both]
    return Comparison(
        a.name,
        b.name,
        rules,
        tuple(_corrected(found, rules)),
        tuple(key for key in keys_a if key not in b.values),
        tuple(key for key in keys_b if key not in a.values),
    )


def _chosen(samples: Samples, rules: Rules) -> list[tuple[str, str]]:
    if rules.metrics:
        patterns: Sequence[str] = rules.metrics
    elif rules.every_metric or samples.every_metric:
        patterns = ("*",)
    else:
        patterns = DEFAULT_METRICS
    defined_ones = [key for key, each in samples.values.items() if not all(map(math.isnan, each.values()))]
    return [key for key in defined_ones if any(fnmatchcase(key[1], pattern) for pattern in patterns)]


def _examples(keys: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{metric} of {place or 'the whole'}" for place, metric in keys[:3]) or "none"


def _compared(key: tuple[str, str], a: Samples, b: Samples, rules: Rules) -> Change:
    place, metric = key
    first, second = a.value(key), b.value(key)
    plain = contrast(second, first)
    if plain is None:
        raise AssertionError("only numbers with a mean are compared")
    pairs = plain.n if plain.method == "paired" else len(set(first.seeds) & set(second.seeds))
    interval = plain.interval()
    same = _identical(first, second, 0.0 if rules.exact else ROUNDING)
    mean_a, mean_b = first.mean, second.mean
    if same:
        probability, verdict = 1.0, "same"
    else:
        probability = _probability(first, second, rules.tolerance_of(metric))
        verdict = "undecided" if math.isnan(probability) else "unchanged"
        if rules.exact and pairs:
            probability, verdict = 0.0, "unchanged"
    return Change(
        place,
        metric,
        mean_a,
        mean_b,
        interval,
        (mean_b - mean_a) / abs(mean_a) if mean_a else math.nan,
        int(defined(first.sample).size),
        int(defined(second.sample).size),
        pairs,
        probability,
        verdict,
        "",
    )


def _identical(a: Value, b: Value, rounding: float) -> bool:
    """True if runs of the same seeds, or single runs without seeds, have the same numbers."""
    if not a.seeds and not b.seeds:
        return a.sample.size == b.sample.size == 1 and math.isclose(
            a.sample[0], b.sample[0], rel_tol=rounding
        )
    by_seed = dict(zip(b.seeds, b.sample, strict=False))
    shared = [(x, by_seed[seed]) for seed, x in zip(a.seeds, a.sample, strict=False) if seed in by_seed]
    return bool(shared) and all(
        math.isclose(x, y, rel_tol=rounding) or (math.isnan(x) and math.isnan(y)) for x, y in shared
    )


def _probability(a: Value, b: Value, tolerance: float) -> float:
    """Of the samples if the means differ by at most the tolerance: twice the lesser of two one-sided ones."""
    margin = tolerance if a.mean >= 0 else -tolerance
    up, down = contrast(b, a, 1 + margin), contrast(b, a, 1 - margin)
    if up is None or down is None:
        return math.nan
    risen = up.above()
    fallen = replace(down, mean=-down.mean).above()
    return min(1.0, 2 * min(risen, fallen)) if not math.isnan(risen + fallen) else math.nan


def _corrected(found: Sequence[Change], rules: Rules) -> list[Change]:
    """With Holm's probabilities and the verdicts that follow."""
    # Identical runs are no test: nothing about them is random.
    testable = [
        index
        for index, each in enumerate(found)
        if each.verdict != "same" and not math.isnan(each.probability)
    ]
    testable.sort(key=lambda index: found[index].probability)
    result = list(found)
    highest = 0.0
    for rank, index in enumerate(testable):
        each = found[index]
        highest = max(highest, min(1.0, (len(testable) - rank) * each.probability))
        changed = each.verdict == "unchanged" and highest <= rules.alpha
        verdict = "changed" if changed else each.verdict
        judgement = _judgement(each, rules) if changed else ""
        result[index] = replace(each, probability=highest, verdict=verdict, judgement=judgement)
    return result


def _judgement(change: Change, rules: Rules) -> str:
    direction = rules.direction(change.metric) * np.sign(change.b - change.a)
    return "better" if direction > 0 else "worse" if direction < 0 else "different"
