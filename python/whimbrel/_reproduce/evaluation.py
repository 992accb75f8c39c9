"""A paper's sheets from its records, and its claims checked against them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel import figures
from whimbrel._base.files import replace_text
from whimbrel._reproduce.claims import Claim, Verdict
from whimbrel._reproduce.paper import Expected, Item, Paper
from whimbrel._reproduce.plan import RECORDS, Plan, results
from whimbrel._show.sheet import Sheet
from whimbrel._simulate.records import Records
from whimbrel._simulate.result import Result
from whimbrel._values.sheet import Value
from whimbrel.errors import PaperError
from whimbrel.figures import Charts

CLAIMS = "claims.json"
"""Name of the file with the checked claims, in the folder of a paper."""


def measured(item: Item, result: Result, row: str, column: str) -> dict[str, float]:
    """The metrics of an item for one cell, in the item's order.

    Raises:
        PaperError: the metrics differ from the declared ones.
    """
    found: Mapping[str, float] = item.measure(result, row, column)
    wanted = [metric.key for metric in item.metrics]
    if set(found) != set(wanted):
        raise PaperError(f"{item.key} measures {sorted(found)}, but declares {sorted(wanted)}")
    return {metric: float(found[metric]) for metric in wanted}


def sheet(item: Item, plan: Plan, printed: Expected, records: Records) -> Sheet:
    """The table of an item.

    Args:
        item: the item.
        plan: maps records to cells.
        printed: the paper's numbers.
        records: the runs.

    Raises:
        PaperError: a record is missing or damaged.
    """
    rows, columns = item.axes(quick=plan.quick)
    made = Sheet(
        key=item.key,
        title=item.title,
        rows=rows,
        columns=columns,
        metrics=item.all_metrics,
        source=item.source,
        note=item.note,
        row_label=item.row_label,
        column_label=item.column_label,
    )
    for cell in plan.cells:
        found = [measured(item, result, cell.row, cell.column) for result in results(records, cell.keys)]
        name = figures.name_of(cell.column)
        samples = {
            metric.key: np.array([each[metric.key] for each in found], dtype=np.float64)
            for metric in item.metrics
        }
        whole = {
            each.metric.key: np.array([each.compute(samples)], dtype=np.float64) for each in item.derived
        }
        for metric in item.all_metrics:
            place = (cell.row, cell.column, metric.key)
            is_derived = metric.key in whole
            made.values[place] = Value(
                sample=(whole if is_derived else samples)[metric.key],
                paper=printed[item.key].get(place),
                seeds=() if is_derived else cell.seeds,
                name=name if len(rows) == 1 else f"{name} ({item.row_label} {cell.row})",
                unit=metric.unit,
                source=item.source,
                is_exact=is_derived or not item.is_random,
                cells=frozenset({(item.key, cell.row, cell.column)}),
            )
    return made


def sheets(each: Paper, plans: Iterable[Plan], printed: Expected, out: Path) -> dict[str, Sheet]:
    """The tables of all items that were run, in the order of the paper."""
    by_item = {plan.item: plan for plan in plans}
    records = Records(out / each.key / RECORDS)
    return {
        item.key: sheet(item, by_item[item.key], printed, records)
        for item in each.items
        if item.key in by_item
    }


def charts(item: Item, made: Sheet) -> Charts:
    """All figures of an item: the usual ones and its own."""
    usual = dict(figures.usual_charts(made)) if item.is_drawn else {}
    return usual if item.charts is None else usual | dict(item.charts(made))


def checked(each: Paper, made: Mapping[str, Sheet]) -> list[tuple[Claim, Verdict]]:
    """Every claim whose items all exist, with its verdict."""
    return [(claim, claim.check(made)) for claim in each.claims if set(claim.items) <= set(made)]


def write_claims(
    directory: Path, verdicts: Sequence[tuple[Claim, Verdict]], quick: Mapping[str, bool]
) -> list[dict[str, Any]]:
    """Writes `claims.json`, which external scripts read, and returns its content.

    Args:
        directory: of the paper.
        verdicts: in order.
        quick: true for an item, by its key, made in its quick form; a claim is quick if one of its items is.
    """
    entries = [
        {
            "id": claim.id,
            "claim": claim.claim,
            "holds": verdict.holds,
            "verdict": verdict.word,
            "evidence": verdict.evidence,
            "source": claim.source,
            "where": claim.where,
            "reason": "" if verdict.holds else claim.reason,
            "quick": any(quick[item] for item in claim.items),
            "items": list(claim.items),
        }
        for claim, verdict in verdicts
    ]
    replace_text(directory / CLAIMS, json.dumps(entries, indent=1, ensure_ascii=False) + "\n")
    return entries
