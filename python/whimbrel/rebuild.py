"""Turns plans and records into results: the second half of `reproduce` and `sweep`, and all of `report`.

It makes `ITEM.csv`, `claims.json`, figures, pictures, `manifest.json` and `index.html`, and never simulates.
A report is made anew in seconds, and a claim can only be judged by numbers that are on disk.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from whimbrel import drawing, figures, paper, report, sweep
from whimbrel.drawing import Drawing
from whimbrel.errors import PaperError
from whimbrel.figures import Charts
from whimbrel.manifest import write_manifest
from whimbrel.paper import Expected, Item, Paper
from whimbrel.plan import RECORDS, Plan, read_plans, results
from whimbrel.records import Records
from whimbrel.reproduce import measured
from whimbrel.result import Result
from whimbrel.sheet import Sheet, Value, replace_text


def rebuild(out: Path, command: str = "") -> Path:
    """Makes everything that follows from the records below `out`.

    Args:
        out: the directory of the results.
        command: the command line, for the manifest; empty keeps the one of the last time.

    Returns:
        The report's first page.

    Raises:
        PaperError: a record that a plan names is missing or damaged, or a paper is not known any more.
    """
    groups = read_plans(out)
    drawings: list[Drawing] = []
    for name, plans in groups.items():
        if all(plan.kind == "sweep" for plan in plans):
            drawings += _rebuild_sweep(plans, out)
        elif name in paper.known():
            drawings += _rebuild_paper(paper.load(name), plans, out)
        else:
            raise PaperError(f"{out / name} holds results of a paper that this version does not know")
    drawing.draw(drawings)
    write_manifest(out, [plan for plans in groups.values() for plan in plans], command)
    return report.build(out)


def _rebuild_sweep(plans: Sequence[Plan], out: Path) -> list[Drawing]:
    drawings: list[Drawing] = []
    for plan in plans:
        sheet = sweep.sheet(plan, out)
        drawings += _write(sheet, figures.usual_charts(sheet), plan, out)
        report.write_group(
            out / plan.group,
            report.Group(sheet.title, "", "", (sheet.key,), plan.details["command"]),
        )
    return drawings


def _rebuild_paper(each: Paper, plans: Sequence[Plan], out: Path) -> list[Drawing]:
    directory = out / each.key
    records = Records(directory / RECORDS)
    printed = paper.expected(each)
    by_item = {plan.item: plan for plan in plans}
    sheets: dict[str, Sheet] = {}
    drawings: list[Drawing] = []
    # In the order of the paper, whatever was run first.
    for item in each.items:
        if item.key in by_item:
            plan = by_item[item.key]
            sheet = sheets[item.key] = _sheet(item, plan, printed, records)
            charts = dict(figures.usual_charts(sheet)) if item.is_drawn else {}
            if item.charts is not None:
                charts |= item.charts(sheet)
            if item.pictures is not None:
                sheet.pictures = list(item.pictures(_first(plan, records), directory))
            drawings += _write(sheet, charts, plan, out)
    verdicts = [
        {"id": claim.id, "claim": claim.claim, **asdict(claim.judge(sheets)), "source": claim.source}
        for claim in each.claims
        if set(claim.items) <= set(sheets)
    ]
    replace_text(directory / "claims.json", json.dumps(verdicts, indent=1, ensure_ascii=False) + "\n")
    report.write_group(
        directory,
        report.Group(
            title=each.title,
            subtitle=f"{each.authors}, {each.year}",
            about=each.about,
            sheets=tuple(sheets),
            command=f"whimbrel reproduce {each.key}",
        ),
    )
    return drawings


def _write(sheet: Sheet, charts: Charts, plan: Plan, out: Path) -> list[Drawing]:
    """Writes the sheet; returns what is still to be drawn."""
    directory = out / plan.group
    names = {name: f"{sheet.key}-{name}" for name in charts}
    sheet.write(
        directory,
        {"charts": list(names.values()), "quick": plan.quick, "seed": plan.seed, "runs": plan.runs},
    )
    return [Drawing(chart, str(directory), names[name]) for name, chart in charts.items()]


def _sheet(item: Item, plan: Plan, printed: Expected, records: Records) -> Sheet:
    rows, columns = item.axes(quick=plan.quick)
    sheet = Sheet(
        key=item.key,
        title=item.title,
        rows=rows,
        columns=columns,
        metrics=item.metrics,
        source=item.source,
        note=item.note,
        row_label=item.row_label,
        column_label=item.column_label,
    )
    for cell in plan.cells:
        found = [measured(item, result, cell.row, cell.column) for result in results(records, cell.keys)]
        name = figures.name_of(cell.column)
        for metric in item.metrics:
            place = (cell.row, cell.column, metric.key)
            sheet.values[place] = Value(
                sample=np.array([each[metric.key] for each in found], dtype=np.float64),
                paper=printed[item.key].get(place),
                seeds=cell.seeds,
                name=name if len(rows) == 1 else f"{name} ({item.row_label} {cell.row})",
                unit=metric.unit,
                source=item.source,
            )
    return sheet


def _first(plan: Plan, records: Records) -> paper.FirstResult:
    keys: Mapping[tuple[str, str], str] = {(cell.row, cell.column): cell.keys[0] for cell in plan.cells}

    def result(row: str, column: str) -> Result:
        (found,) = results(records, [keys[row, column]])
        return found

    return result
