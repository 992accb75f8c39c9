"""Runs a paper's experiments: the first half of `whimbrel reproduce`.

This half writes a record per run, and per item a plan that maps records to cells. `rebuild` makes everything
else from these.

In the full form, cells on which an undecided claim depends are repeated, twice as often each time, until the
claim is decided or a limit is reached. The records alone determine the further runs, so an interrupted
command resumes, and the same command makes the same runs. An interval that is tested several times misses
more often than one tested once: with three tests up to 11 % of those at a true bound.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from whimbrel._campaigns import schedulers
from whimbrel._campaigns.campaign import Campaign, Case
from whimbrel._campaigns.engine import engine_of
from whimbrel._campaigns.progress import Bar, Silent
from whimbrel._campaigns.scheduler import Scheduler
from whimbrel._reproduce import evaluation, paper
from whimbrel._reproduce.paper import Item, Paper
from whimbrel._reproduce.plan import RECORDS, Cell, Plan, cell, read_plans
from whimbrel._simulate.records import Records
from whimbrel._values.statistics import Precision
from whimbrel.errors import UsageError

MOST_RUNS = 40
"""Largest number of repetitions of a cell while a claim is undecided: twice doubled from ten."""


@dataclass(frozen=True)
class Options:
    """Options for making runs.

    Attributes:
        out: directory of the results, with a folder per paper or sweep.
        quick: smaller experiments of the same kind.
        seed: of the first repetition.
        jobs: number of simultaneous runs; the number of processors if None.
        scheduler: `local`, or the address of a Dask scheduler such as `tcp://host:8786`.
        quiet: no progress bar.
        most_runs: largest number of repetitions of a cell while a claim is undecided; not in a quick pass.
    """

    out: Path = Path("out")
    quick: bool = False
    seed: int = 1
    jobs: int | None = None
    scheduler: str = "local"
    quiet: bool = False
    most_runs: int = MOST_RUNS


def choose(
    key: str | None, items: Sequence[str] = (), *, quick: bool = False
) -> list[tuple[Paper, list[Item]]]:
    """The papers and items of a command line.

    Args:
        key: of a paper; None for the headline of every paper.
        items: keys of its items; none for all of them.
        quick: true for their small forms; "all" then excludes items without a worthwhile one.

    Raises:
        UsageError: unknown paper or item; the message lists the known ones.
    """
    if key is None:
        papers = [paper.load(each) for each in paper.known()]
        if not papers:
            raise UsageError("there is no paper to reproduce")
        return [(each, [each.item(item) for item in each.headline]) for each in papers]
    chosen = paper.load(key)
    if items:
        return [(chosen, [chosen.item(item) for item in items])]
    return [(chosen, [item for item in chosen.items if not (quick and item.quick.by_name)])]


def simulate(chosen: Sequence[tuple[Paper, Sequence[Item]]], options: Options) -> None:
    """Makes the missing runs.

    Args:
        chosen: papers with the items to make, as from `choose`.
        options: of the runs.

    Raises:
        CampaignError: a run failed or was interrupted; repeating the call resumes.
        UsageError: the scheduler cannot be reached or used.
    """
    with schedulers.opened(options.scheduler, options.jobs) as who:
        for each, items in chosen:
            for item in items:
                _simulate_item(each, item, options, who)


def settle(chosen: Sequence[tuple[Paper, Sequence[Item]]], options: Options) -> None:
    """Makes more runs while a claim is undecided; nothing in a quick pass.

    Args:
        chosen: papers with the items that were made, as for `simulate`; other items are not repeated.
        options: of the runs; `most_runs` is the limit.

    Raises:
        CampaignError: as of `simulate`.
        UsageError: as of `simulate`.
    """
    if options.quick:
        return
    with schedulers.opened(options.scheduler, options.jobs) as who:
        for each, items in chosen:
            _settle_paper(each, items, options, who)


def _settle_paper(each: Paper, items: Sequence[Item], options: Options, who: Scheduler) -> None:
    printed = paper.expected(each)
    records = Records(options.out / each.key / RECORDS)
    plans = {plan.item: plan for plan in read_plans(options.out).get(each.key, []) if not plan.quick}
    sheets = evaluation.sheets(each, plans.values(), printed, options.out)
    mine = {item.key: item for item in items}
    while True:
        undecided = [
            cell
            for _, verdict in evaluation.checked(each, sheets)
            for cell in verdict.cells
            if cell[0] in mine
        ]
        repeated = False
        for key in sorted({item for item, _, _ in undecided}):
            places = {(row, column) for item, row, column in undecided if item == key}
            if (plan := _repeat(each.key, mine[key], plans[key], places, options, who)) is not None:
                plans[key] = plan
                sheets[key] = evaluation.sheet(mine[key], plan, printed, records)
                repeated = True
        if not repeated:
            return


def _repeat(
    key: str,
    item: Item,
    plan: Plan,
    places: Set[tuple[str, str]],
    options: Options,
    who: Scheduler,
) -> Plan | None:
    """Doubles the runs of some cells, and of those that share them; None if all are at the limit."""
    shared = {each.keys[0] for each in plan.cells if (each.row, each.column) in places and each.keys}
    wanted: dict[int, list[tuple[str, str]]] = {}
    for each in plan.cells:
        runs = min(2 * len(each.seeds), options.most_runs)
        if each.keys and each.keys[0] in shared and runs > len(each.seeds):
            wanted.setdefault(runs, []).append((each.row, each.column))
    if not wanted:
        return None
    cells = {(each.row, each.column): each for each in plan.cells}
    for runs, mine in wanted.items():
        _, made = _campaign(key, item, mine, Precision.exactly(runs), options, who)
        cells |= {(each.row, each.column): each for each in made}
    repeated = replace(plan, cells=tuple(cells.values()))
    repeated.write(options.out)
    return repeated


def _simulate_item(each: Paper, item: Item, options: Options, who: Scheduler) -> None:
    places = item.cells(quick=options.quick)
    precision = item.repetitions(quick=options.quick)
    engine, cells = _campaign(each.key, item, places, precision, options, who)
    Plan("paper", each.key, item.key, options.quick, options.seed, engine, cells).write(options.out)


def _campaign(
    key: str,
    item: Item,
    places: Sequence[tuple[str, str]],
    precision: Precision,
    options: Options,
    who: Scheduler,
) -> tuple[str, tuple[Cell, ...]]:
    """Makes the runs of some cells; returns the engine and the plan of the cells."""
    cases = {
        (row, column): Case(
            f"{row} / {column}",
            item.scenario_of(row, column, quick=options.quick),
            functools.partial(evaluation.measured, item, row=row, column=column),
        )
        for row, column in places
    }
    campaign = Campaign(
        options.out / key / RECORDS,
        run=item.run,
        engine=engine_of(item.run) if item.run else None,
        precision=precision,
        seed=options.seed,
        scheduler=who,
        progress=Silent() if options.quiet else Bar(f"{key} {item.key}"),
    )
    outcomes = campaign.execute(list(cases.values()))
    made = tuple(cell(row, column, outcomes[case.name]) for (row, column), case in cases.items())
    return campaign.engine, made
