"""Turns plans and records into results: the second half of `reproduce` and `sweep`, and all of `report`.

This module writes `ITEM.csv`, `claims.json`, figures, pictures, `manifest.json` and `index.html`, and never
simulates. A report is rebuilt in seconds, and a claim can only be checked by numbers that are on disk.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from whimbrel import figures
from whimbrel._base import paper_folders
from whimbrel._reproduce import evaluation, paper, sweep, sweep_series
from whimbrel._reproduce.manifest import write_manifest
from whimbrel._reproduce.paper import Paper
from whimbrel._reproduce.plan import RECORDS, Plan, read_plans, results
from whimbrel._reproduce.reproduce import Options
from whimbrel._show import drawing, report
from whimbrel._show.drawing import Drawing
from whimbrel._show.sheet import Sheet
from whimbrel._simulate.records import Records
from whimbrel._simulate.result import Result
from whimbrel._values import printed
from whimbrel.errors import PaperError, UsageError
from whimbrel.figures import Charts


def rebuild(out: Path, command: str = "", *, formats: Collection[str] = figures.DEFAULT_FORMATS) -> Path:
    """Makes all results that follow from the records below `out`.

    Args:
        out: the directory of the results.
        command: the command line, for the manifest; empty keeps the previous one.
        formats: the members of `figures.FORMATS` to draw.

    Returns:
        The report's first page.

    Raises:
        PaperError: a record that a plan names is missing or damaged, or a paper is no longer known.
    """
    groups = read_plans(out)
    drawings: list[Drawing] = []
    for name, plans in groups.items():
        if all(plan.kind == "sweep" for plan in plans):
            drawings += _rebuild_sweep(plans, out)
        elif name in paper.known():
            drawings += _rebuild_paper(paper.load(name), plans, out)
        else:
            raise PaperError(_unknown(out / name))
    drawing.draw(drawings, formats)
    write_manifest(out, [plan for plans in groups.values() for plan in plans], command)
    return report.build(out)


def check(out: Path, *, sweep: str | None = None) -> None:
    """Checks, before anything is run, that the existing results can be rebuilt together with new ones.

    Args:
        out: the directory of the results.
        sweep: name of the sweep that will be made.

    Raises:
        PaperError: a plan cannot be read or belongs to an unknown paper.
        UsageError: the folder of the sweep contains the results of a paper.
    """
    for name, plans in read_plans(out).items():
        of_sweep = all(plan.kind == "sweep" for plan in plans)
        if not of_sweep and name not in paper.known():
            raise PaperError(_unknown(out / name))
        if not of_sweep and name == sweep:
            raise UsageError(
                f"{out / name} holds results of a paper: name another --out or rename the scenario"
            )


def _unknown(directory: Path) -> str:
    return (
        f"{directory} holds results of a paper that this version does not know; "
        "--papers DIR adds those of a folder"
    )


def _rebuild_sweep(plans: Sequence[Plan], out: Path) -> list[Drawing]:
    drawings: list[Drawing] = []
    for plan in plans:
        swept = sweep.read(plan, out)
        sheet = swept.sheet
        sweep.write_runs(swept, out / plan.group)
        charts = {**figures.usual_charts(sheet), **sweep_series.charts(plan, out)}
        drawings += _write(sheet, charts, plan, out)
        report.write_group(
            out / plan.group,
            report.Group(sheet.title, "", "", (sheet.key,), plan.details["command"]),
        )
    return drawings


def _rebuild_paper(each: Paper, plans: Sequence[Plan], out: Path) -> list[Drawing]:
    directory = out / each.key
    records = Records(directory / RECORDS)
    by_item = {plan.item: plan for plan in plans}
    quick = {plan.item: plan.quick for plan in plans}
    sheets = evaluation.sheets(each, plans, paper.expected(each), out)
    claims = evaluation.write_claims(directory, evaluation.checked(each, sheets), quick)
    drawings: list[Drawing] = []
    for item in each.items:
        if item.key in by_item:
            plan, sheet = by_item[item.key], sheets[item.key]
            charts = evaluation.charts(item, sheet)
            if item.pictures is not None:
                pictures = item.pictures(_first(plan, records), directory)
                sheet.pictures = [
                    replace(each, caption=f"{each.caption} (quick pass)") if plan.quick else each
                    for each in pictures
                ]
            said = [] if plan.quick or not item.conclusion else [item.conclusion]
            more = {
                "sentence": " ".join(said),
                "conclusion": " ".join([*said, printed.conclusion(sheet, claims)]).strip(),
                "printed": printed.about(sheet),
                "exact": not item.is_random,
            }
            drawings += _write(sheet, charts, plan, out, more)
    report.write_group(
        directory,
        report.Group(
            title=each.title,
            subtitle=each.credit,
            about=each.about,
            sheets=tuple(sheets),
            command=again(each, plans),
        ),
    )
    return drawings


def again(each: Paper, plans: Sequence[Plan], papers: str = "") -> str:
    """The command that makes the items of a paper again, in the form that all of them have.

    Args:
        each: the paper.
        plans: of the items.
        papers: folder in which a paper is found that is not installed; the present one by default.
    """
    quick = all(plan.quick for plan in plans)
    made = {plan.item for plan in plans}
    items = [item.key for item in each.items if item.key in made]
    without_names = [item.key for item in each.items if not (quick and item.quick.by_name)]
    chosen = [] if items == without_names else items
    options = ["--quick"] if quick else []
    seeds = {plan.seed for plan in plans}
    if len(seeds) == 1 and seeds != {Options.seed}:
        options += ["--seed", str(*seeds)]
    return shlex.join(["whimbrel", "reproduce", each.key, *chosen, *options]) + _papers_option(
        each.key, papers
    )


def _papers_option(key: str, papers: str) -> str:
    """The option that a command needs to find a paper, with a space before it."""
    where = paper_folders.located()[key]
    return "" if where.is_installed else f" --papers {shlex.quote(papers or str(where.directory))}"


def _write(
    sheet: Sheet, charts: Charts, plan: Plan, out: Path, more: Mapping[str, Any] | None = None
) -> list[Drawing]:
    """Writes the sheet; returns the charts still to be drawn."""
    directory = out / plan.group
    names = {name: f"{sheet.key}-{name}" for name in charts}
    about = {"charts": list(names.values()), "quick": plan.quick, "seed": plan.seed, "runs": plan.runs}
    sheet.write(directory, about | dict(more or {}))
    return [
        Drawing(figures.marked_quick(chart) if plan.quick else chart, str(directory), names[name])
        for name, chart in charts.items()
    ]


def _first(plan: Plan, records: Records) -> paper.FirstResult:
    keys: Mapping[tuple[str, str], str] = {(cell.row, cell.column): cell.keys[0] for cell in plan.cells}

    def result(row: str, column: str) -> Result:
        (found,) = results(records, [keys[row, column]])
        return found

    return result
