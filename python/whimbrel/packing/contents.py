"""The claims of a folder of results, and their cost."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whimbrel._base import documents, paper_folders
from whimbrel._campaigns import times
from whimbrel._reproduce import evaluation, kept_scenario, paper, rebuild, sweep
from whimbrel._reproduce.plan import RECORDS, Plan, folder_of_results, read_plans
from whimbrel._reproduce.reproduce import Options
from whimbrel._simulate.records import Records
from whimbrel.errors import InputError, PaperError
from whimbrel.packing.manifest import PAPERS, RESULTS, Claimed


@dataclass(frozen=True)
class Contents:
    """The results in a folder.

    Attributes:
        out: the folder.
        name: of its folder in the pack; empty if there is no other.
        groups: the plans of each paper and sweep.
        about: its `manifest.json`.
        claims: in order: the papers' claims, then the tables that no claim covers.
    """

    out: Path
    name: str
    groups: Mapping[str, Sequence[Plan]]
    about: Mapping[str, Any]
    claims: tuple[Claimed, ...]

    @property
    def plans(self) -> Iterator[Plan]:
        """All plans."""
        for plans in self.groups.values():
            yield from plans

    @property
    def papers(self) -> list[str]:
        """Keys of its papers."""
        return [group for group, plans in self.groups.items() if not is_sweep(plans)]

    @property
    def foreign_papers(self) -> list[str]:
        """Keys of its papers that are not a part of this package."""
        own = paper_folders.own().resolve()
        return [key for key in self.papers if paper.folder(key).resolve().parent != own]


def is_sweep(plans: Sequence[Plan]) -> bool:
    """True for the plans of a sweep."""
    return all(plan.kind == "sweep" for plan in plans)


def read(out: Path, name: str = "") -> Contents:
    """Reads what is to be packed.

    Args:
        out: a folder of results.
        name: of its folder in the pack; empty if there is no other.

    Raises:
        InputError: there are no results of `reproduce` or `sweep`.
        PaperError: a plan is damaged, a record is missing, or a paper is not known.
    """
    groups = read_plans(out) if out.is_dir() else {}
    if not groups and (whole := folder_of_results(out)):
        raise InputError(f"{out} is a part of the results in {whole}: whimbrel pack {whole}")
    if not groups:
        raise InputError(
            f"{out} holds no results of `whimbrel reproduce`, `whimbrel sweep` or `whimbrel run`"
        )
    rebuild.check(out)
    claims: list[Claimed] = []
    for group, plans in groups.items():
        costs = _Costs(out, name, group)
        if is_sweep(plans):
            if any(plan.item != sweep.TABLE for plan in plans):
                raise InputError(f"{out / group} is of an emulation, whose runs cannot be repeated")
            kept_scenario.names(out / group)
            claims += [_of_sweep(plan, costs) for plan in plans]
        else:
            claims += _of_paper(plans, costs)
    return Contents(out, name, groups, _about(out), tuple(claims))


class _Costs:
    """The times and the sizes of the runs of a group."""

    def __init__(self, out: Path, name: str, group: str) -> None:
        self.place = f"{name}/{group}" if name else group
        self.directory = out / group
        self._records = Records(self.directory / RECORDS)
        self._seconds = times.read(self._records.directory)

    def of(self, plans: Sequence[Plan]) -> tuple[int, float | None, int]:
        """Runs, seconds and bytes of some tables."""
        keys = {key for plan in plans for cell in plan.cells for key in cell.keys}
        files = [self._records.path(key) for key in sorted(keys)]
        if missing := next((path for path in files if not path.is_file()), None):
            raise PaperError(f"{missing} is missing; repeat the command that made it")
        tables = [self.directory / f"{plan.item}{suffix}" for plan in plans for suffix in (".csv", ".json")]
        size = sum(path.stat().st_size for path in [*files, *tables] if path.is_file())
        known = [self._seconds[key] for key in keys if key in self._seconds]
        return len(keys), round(sum(known), 6) if len(known) == len(keys) else None, size


def _of_sweep(plan: Plan, costs: _Costs) -> Claimed:
    runs, seconds, size = costs.of([plan])
    said = f"{plan.details['title']}: the means of {len(plan.cells)} combinations, in {plan.item}.csv"
    command = sweep_command(plan, f"{RESULTS}/{costs.place}")
    place = costs.place
    return Claimed(f"{place}/{plan.item}", said, "", place, (plan.item,), command, runs, seconds, size)


def sweep_command(plan: Plan, group: str) -> str:
    """The command that repeats a sweep, from the scenario that is kept with it."""
    details = plan.details
    words = ["whimbrel", "sweep", f"{group}/{kept_scenario.FOLDER}/{plan.group}.json"]
    for override in details["overrides"]:
        words += ["--set", override]
    for metric in details["metrics"]:
        words += ["--metric", metric]
    if plan.quick:
        words.append("--quick")
    else:
        words += ["--precision", repr(details["precision"]), "--max-runs", str(details["maximum"])]
    if plan.seed != Options.seed:
        words += ["--seed", str(plan.seed)]
    return shlex.join(words)


def _of_paper(plans: Sequence[Plan], costs: _Costs) -> Iterator[Claimed]:
    each = paper.load(plans[0].group)
    by_item = {plan.item: plan for plan in plans}
    listed = documents.read_json(costs.directory / evaluation.CLAIMS)
    covered: set[str] = set()
    for claim in listed:
        covered.update(claim["items"])
        mine = [by_item[item] for item in claim["items"]]
        yield _paper_claim(each, claim["id"], claim["claim"], claim["verdict"], mine, costs)
    for item in each.items:
        if item.key in by_item and item.key not in covered:
            said = f"{item.source}: {item.title}, in {item.key}.csv"
            yield _paper_claim(each, item.key, said, "", [by_item[item.key]], costs)


def _paper_claim(
    each: paper.Paper, name: str, said: str, verdict: str, plans: Sequence[Plan], costs: _Costs
) -> Claimed:
    runs, seconds, size = costs.of(plans)
    items = tuple(plan.item for plan in plans)
    command = rebuild.again(each, plans, papers=PAPERS)
    place = costs.place
    return Claimed(f"{place}/{name}", said, verdict, place, items, command, runs, seconds, size)


def _about(out: Path) -> Mapping[str, Any]:
    try:
        found = documents.read_json(out / "manifest.json")
    except (OSError, ValueError) as error:
        raise InputError(
            f"{out}/manifest.json cannot be read: {error}; `whimbrel report {out}` writes it"
        ) from error
    return found if isinstance(found, dict) else {}
