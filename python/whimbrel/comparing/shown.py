"""A comparison as text, as JSON and as a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from rich.table import Table

from whimbrel._base.terminal import markup, print_line, print_table
from whimbrel._show.page.sections import whole
from whimbrel._values.columns import metric as metric_of
from whimbrel._values.columns import unit as unit_of
from whimbrel.comparing.decide import Change, Comparison

_COLOURS = {"better": "green", "worse": "red", "different": "yellow"}
_MOST_MISSING = 10
"""Numbers of one result alone that are listed."""


def summary(comparison: Comparison) -> str:
    """One sentence: how many numbers changed."""
    changed = comparison.changed()
    counts = [
        f"{len(listed)} {name}"
        for name in ("worse", "better", "different")
        if (listed := comparison.changed(name))
    ]
    undecided = sum(each.verdict == "undecided" for each in comparison.changes)
    parts = [f"{len(changed)} of {len(comparison.changes)} numbers changed beyond chance"]
    if counts:
        parts.append(f" ({', '.join(counts)})")
    if undecided:
        parts.append(f"; {undecided} undecided, with too few repetitions")
    return "".join(parts)


def method(comparison: Comparison) -> str:
    """The tests in one sentence."""
    rules = comparison.rules
    tolerated = f" by more than {rules.tolerance:.3g} of A" if rules.tolerance else ""
    return (
        f"Changed{tolerated} at a level of {rules.alpha:g} for all numbers together (Holm): Student's t of"
        " pairs with the same seed, otherwise Welch's t; intervals are of 95 %, each for itself."
    )


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON; undefined numbers are null."""
    rules = comparison.rules
    return {
        "a": comparison.a,
        "b": comparison.b,
        "alpha": rules.alpha,
        "tolerance": rules.tolerance,
        "correction": "holm",
        "changed": len(comparison.changed()),
        "worse": len(comparison.changed("worse")),
        "better": len(comparison.changed("better")),
        "undecided": sum(each.verdict == "undecided" for each in comparison.changes),
        "numbers": [_entry(each) for each in comparison.changes],
        "only_a": [{"place": place, "metric": name} for place, name in comparison.only_a],
        "only_b": [{"place": place, "metric": name} for place, name in comparison.only_b],
    }


def _entry(each: Change) -> dict[str, Any]:
    def known(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "place": each.place,
        "metric": each.metric,
        "a": known(each.a),
        "b": known(each.b),
        "difference": known(each.difference.mean),
        "low": known(each.difference.low),
        "high": known(each.difference.high),
        "relative": known(each.relative),
        "n_a": each.n_a,
        "n_b": each.n_b,
        "pairs": each.pairs,
        "probability": known(each.probability),
        "verdict": each.verdict,
        "judgement": each.judgement or None,
    }


def print_text(comparison: Comparison, *, every: bool) -> None:
    """Prints the changed and undecided numbers, or all."""
    listed = [each for each in comparison.changes if every or each.verdict in ("changed", "undecided")]
    if listed:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("place", "metric"):
            table.add_column(name)
        for name in ("A", "B", "change", "runs", "p"):
            table.add_column(name, justify="right")
        table.add_column("")
        for each in listed:
            cells = _cells(each)
            word = each.judgement or each.verdict
            colour = _COLOURS.get(word)
            cells[-1] = f"[{colour}]{word}[/]" if colour else word
            table.add_row(*map(markup, cells[:-1]), cells[-1])
        print_table(table)
    lines = [summary(comparison)]
    for name, missing in (("A", comparison.only_a), ("B", comparison.only_b)):
        if missing:
            lines.append(f"only in {name}: {_listed(missing)}")
    for line in lines:
        print_line(markup(line))


def _listed(missing: Sequence[tuple[str, str]]) -> str:
    shown = ", ".join(f"{name} of {place or 'the whole'}" for place, name in missing[:_MOST_MISSING])
    rest = len(missing) - _MOST_MISSING
    return f"{shown} and {rest} more" if rest > 0 else shown


def _cells(each: Change) -> list[str]:
    """Place, metric with unit, A, B, change, runs, probability, verdict."""
    unit = unit_of(each.metric)
    shown = metric_of(each.metric)
    name = f"{shown.key} ({unit.unit})" if unit.unit else each.metric
    relative = "" if math.isnan(each.relative) else f" ({100 * each.relative:+.1f} %)"
    low, high = (unit.factor * bound for bound in (each.difference.low, each.difference.high))
    change = f"{_number(unit.factor * each.difference.mean, signed=True)}{relative}"
    if each.difference.is_identical:
        change += f" {each.difference.bounds()}"
    elif not math.isnan(low):
        change += f" [{_number(low, signed=True)}, {_number(high, signed=True)}]"
    runs = f"{each.pairs} pairs" if each.pairs else f"{each.n_a}, {each.n_b}"
    probability = "-" if math.isnan(each.probability) else f"{each.probability:.2g}"
    first, second = (_number(unit.factor * value) for value in (each.a, each.b))
    return [each.place or "-", name, first, second, change, runs, probability, each.judgement or each.verdict]


def _number(value: float, *, signed: bool = False) -> str:
    """Five significant digits, without an exponent unless it is very large or small."""
    sign = "+" if signed else ""
    return f"{value:{sign}.5g}"


def page(comparison: Comparison) -> str:
    """A page that is complete without a network and without scripts."""
    title = f"Whimbrel: {comparison.a} and {comparison.b}"
    heads = ("place", "metric", "A", "B", "change [95 %]", "runs", "p", "verdict")
    order = {"changed": 0, "undecided": 1, "unchanged": 2, "same": 3}
    groups = sorted(order, key=lambda verdict: order[verdict])
    body = [f"<h1>{escape(title.removeprefix('Whimbrel: '))}</h1>"]
    body.append(f'<p class="lead">{escape(summary(comparison))}.</p>')
    body.append(
        f"<dl><dt>A</dt><dd>{escape(comparison.a)}</dd><dt>B</dt><dd>{escape(comparison.b)}</dd></dl>"
    )
    for verdict in groups:
        listed = [each for each in comparison.changes if each.verdict == verdict]
        if not listed:
            continue
        head = "".join(f'<th scope="col">{name}</th>' for name in heads)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(each)) + "</tr>" for each in listed
        )
        open_ = " open" if verdict in ("changed", "undecided") else ""
        body.append(
            f'<details class="numbers"{open_}><summary>{verdict} <span class="count">{len(listed)}</span>'
            f'</summary><div class="scroll" role="region" tabindex="0" aria-label="{verdict}: table">'
            f'<table class="plain"><caption class="hidden">{verdict}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>"
        )
    for name, missing in (("A", comparison.only_a), ("B", comparison.only_b)):
        if missing:
            body.append(f"<p>Only in {name}: {escape(_listed(missing))}.</p>")
    body.append(f"<p>{escape(method(comparison))}</p>")
    return whole(title, ['<main class="wide">', *body, "</main>"])
