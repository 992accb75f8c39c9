"""Repeats runs of a pack and compares them with their records."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whimbrel._base import documents
from whimbrel._campaigns import travel
from whimbrel._campaigns.jobs import Job, Made, Run, described
from whimbrel._campaigns.progress import Progress, Silent
from whimbrel._campaigns.scheduler import Local
from whimbrel._reproduce import kept_scenario, paper
from whimbrel._reproduce.plan import RECORDS, Cell, Plan
from whimbrel._simulate import record_format, simulation
from whimbrel._simulate.records import Records
from whimbrel._simulate.scenario import Scenario
from whimbrel.errors import CampaignInterrupted, WhimbrelError


@dataclass(frozen=True)
class Again:
    """A run to repeat.

    Attributes:
        key: of its record.
        seed: of its random numbers.
        scenario: as the pack has it.
        run: makes the run.
    """

    key: str
    seed: int
    scenario: Scenario
    run: Run


@dataclass
class Outcomes:
    """Runs of a group that were repeated.

    Attributes:
        same: keys of those with the bytes of their records.
        wrong: what is wrong with others, by key.
    """

    same: set[str] = field(default_factory=set)
    wrong: dict[str, str] = field(default_factory=dict)


def runs_of(plan: Plan, group: Path) -> list[Again]:
    """All runs of a table, as the paper's code or the scenario of the sweep describes them now.

    Args:
        plan: of the table.
        group: folder of its paper or sweep in the pack.

    Raises:
        WhimbrelError: the scenario does not fit the plan.
    """
    found: dict[str, Again] = {}
    for cell, scenario, run in _of_sweep(plan, group) if plan.kind == "sweep" else _of_paper(plan):
        for seed, key in zip(cell.seeds, cell.keys, strict=True):
            found.setdefault(key, Again(key, seed, scenario, run))
    return list(found.values())


def sample(runs: Sequence[Again], count: int, salt: int) -> list[Again]:
    """Some runs, by chance: the same for the same `salt`."""

    def order(run: Again) -> bytes:
        return hashlib.sha256(f"{salt} {run.key}".encode()).digest()

    return sorted(runs, key=order)[:count]


def repeat(
    runs: Sequence[Again], group: Path, work: Records, jobs: int | None, progress: Progress
) -> Outcomes:
    """Makes runs, unless an earlier command has, and compares them with their records.

    Args:
        runs: to repeat.
        group: folder of their paper or sweep in the pack.
        work: keeps what is made.
        jobs: number of simultaneous runs; the number of processors by default.
        progress: receives progress reports.

    Raises:
        CampaignInterrupted: Ctrl-C; finished runs are kept.
    """
    outcomes = Outcomes()
    work.sweep_partial()
    try:
        for run, listed in _by_function(runs):
            _repeat(run, listed, group, work, jobs, progress, outcomes)
    except KeyboardInterrupt:
        # Runs in progress are dropped: nobody waits for them.
        raise CampaignInterrupted(
            f"interrupted: {work.directory} keeps {len(work.keys())} repeated runs; the same command resumes",
            abandoned=True,
        ) from None
    return outcomes


def _repeat(
    run: Run,
    listed: Sequence[Again],
    group: Path,
    work: Records,
    jobs: int | None,
    progress: Progress,
    outcomes: Outcomes,
) -> None:
    names = kept_scenario.names(group) if (group / kept_scenario.FOLDER).is_dir() else {}
    waiting = []
    for each in listed:
        kept = work.path(each.key)
        if kept.is_file():
            _compare(each, kept.read_bytes(), group, names, outcomes)
            progress.advance()
        else:
            waiting.append(each)
    for each, made in _made(run, waiting, jobs):
        content = _content(each, made, group, outcomes)
        if content:
            work.save(each.key, content)
            _compare(each, content, group, names, outcomes)
        progress.advance()


def _made(run: Run, waiting: Sequence[Again], jobs: int | None) -> Iterator[tuple[Again, Made]]:
    by_key = {each.key: each for each in waiting}
    session = Local(jobs).start(run, "", Silent())
    try:
        for each in waiting:
            session.submit(Job(each.key, each.key, each.scenario, "", each.seed))
        while session.under_way:
            for made in session.wait(block=True):
                yield by_key[made.job.key], made
    finally:
        session.cancel()
        session.close(abandon=bool(session.under_way))


def _content(each: Again, made: Made, group: Path, outcomes: Outcomes) -> bytes:
    """The record of a repeated run under the description of the pack's, which the comparison checks."""
    if made.error is not None or made.result is None:
        reason = described(made.error) if made.error is not None else "it has no result"
        outcomes.wrong[each.key] = f"failed: {reason}"
        return b""
    try:
        about = record_format.about(Records(group / RECORDS).path(each.key).read_bytes())
    except Exception as error:  # any error of a damaged record
        outcomes.wrong[each.key] = f"its record cannot be read: {error}"
        return b""
    return record_format.encode(each.key, made.result.tables, about)


def _compare(each: Again, content: bytes, group: Path, names: Mapping[str, str], outcomes: Outcomes) -> None:
    packed = Records(group / RECORDS).path(each.key).read_bytes()
    try:
        about = record_format.about(packed)
        recorded = Scenario(documents.json_value(str(about["scenario"])), tuple(map(str, about["overrides"])))
        is_same = record_format.plain(packed) == record_format.plain(content)
        recorded = travel.renamed(recorded, names)
        is_this = (recorded.text(), recorded.overrides) == (each.scenario.text(), each.scenario.overrides)
        has_seed = about["seed"] == each.seed
    except Exception as error:  # any error of a damaged record
        outcomes.wrong[each.key] = f"its record cannot be read: {error}"
        return
    if not is_this:
        outcomes.wrong[each.key] = "its record is of another scenario"
    elif not has_seed:
        outcomes.wrong[each.key] = "its record is of another seed"
    elif not is_same:
        outcomes.wrong[each.key] = f"seed {each.seed} has other results"
    else:
        outcomes.same.add(each.key)


def _by_function(runs: Sequence[Again]) -> Iterator[tuple[Run, list[Again]]]:
    functions = list(dict.fromkeys(each.run for each in runs))
    for run in functions:
        yield run, [each for each in runs if each.run is run]


def _of_paper(plan: Plan) -> Iterator[tuple[Cell, Scenario, Run]]:
    item = paper.load(plan.group).item(plan.item)
    for cell in plan.cells:
        yield cell, item.scenario_of(cell.row, cell.column, quick=plan.quick), item.run or simulation.run


def _of_sweep(plan: Plan, group: Path) -> Iterator[tuple[Cell, Scenario, Run]]:
    scenario = Scenario.from_file(kept_scenario.path_of(group)).changed(*plan.details["overrides"])
    combinations = scenario.sweep()
    settings = [{key: str(value) for key, value in values.items()} for values, _ in combinations]
    if settings != plan.details["settings"] or len(settings) != len(plan.cells):
        raise WhimbrelError(f"{group.name}: the scenario's [sweep] is not that of the results")
    for cell, (_, each) in zip(plan.cells, combinations, strict=True):
        yield cell, each, simulation.run
