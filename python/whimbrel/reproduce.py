"""Runs a paper's experiments: the first half of `whimbrel reproduce`.

What it leaves is a record per run, and per item a plan that says which records fill which cell. `rebuild`
makes everything else out of these.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whimbrel import paper, scheduler, simulation
from whimbrel.campaign import Campaign, Case
from whimbrel.errors import PaperError, UsageError
from whimbrel.paper import Item, Paper
from whimbrel.plan import RECORDS, Plan, cell
from whimbrel.progress import Bar, Silent
from whimbrel.result import Result
from whimbrel.scheduler import Scheduler


@dataclass(frozen=True)
class Options:
    """How to make runs.

    Attributes:
        out: where the results go; a folder per paper or sweep below it.
        quick: smaller experiments of the same kind.
        seed: of the first repetition.
        jobs: runs at a time; as many as there are processors when None.
        scheduler: `local`, or the address of a Dask scheduler such as `tcp://host:8786`.
        quiet: no progress bar.
    """

    out: Path = Path("out")
    quick: bool = False
    seed: int = 1
    jobs: int | None = None
    scheduler: str = "local"
    quiet: bool = False


def choose(
    key: str | None, items: Sequence[str] = (), *, quick: bool = False
) -> list[tuple[Paper, list[Item]]]:
    """The papers and items that a command line means.

    Args:
        key: of a paper; None for the headline of every paper.
        items: keys of its items; none for all of them.
        quick: whether their small forms are meant: then all are those that have one worth its time.

    Raises:
        UsageError: there is no such paper or item; the message lists what there is.
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
    """Makes the runs that are missing.

    Args:
        chosen: papers with the items to make, as from `choose`.
        options: how.

    Raises:
        CampaignError: a run failed or was interrupted; doing the same again carries on.
        UsageError: the scheduler cannot be reached or used.
    """
    with scheduler.opened(options.scheduler, options.jobs) as who:
        for each, items in chosen:
            for item in items:
                _simulate_item(each, item, options, who)


def measured(item: Item, result: Result, row: str, column: str) -> dict[str, float]:
    """What an item reads off a result for one cell, in the order of its metrics.

    Raises:
        PaperError: it gives other metrics than it says.
    """
    found: Mapping[str, float] = item.measure(result, row, column)
    wanted = [metric.key for metric in item.metrics]
    if set(found) != set(wanted):
        raise PaperError(f"{item.key} measures {sorted(found)}, but says it measures {sorted(wanted)}")
    return {metric: float(found[metric]) for metric in wanted}


def _simulate_item(each: Paper, item: Item, options: Options, who: Scheduler) -> None:
    changes = item.quick.overrides if options.quick else ()
    cases = {
        (row, column): Case(
            f"{row} / {column}",
            item.scenario(row, column).changed(*changes),
            functools.partial(measured, item, row=row, column=column),
        )
        for row, column in item.cells(quick=options.quick)
    }
    campaign = Campaign(
        options.out / each.key / RECORDS,
        run=item.run,
        engine=simulation.engine_of(item.run) if item.run else None,
        precision=item.quick.precision if options.quick else item.precision,
        seed=options.seed,
        scheduler=who,
        progress=Silent() if options.quiet else Bar(f"{each.key} {item.key}"),
    )
    outcomes = campaign.execute(list(cases.values()))
    cells = tuple(cell(row, column, outcomes[case.name]) for (row, column), case in cases.items())
    Plan("paper", each.key, item.key, options.quick, options.seed, campaign.engine, cells).write(options.out)
