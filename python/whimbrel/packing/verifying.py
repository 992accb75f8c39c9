"""Checks a pack: its digests, its runs, and everything that follows from them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whimbrel._base import compiled, documents, paper_folders
from whimbrel._campaigns.progress import Bar, Silent
from whimbrel._reproduce import evaluation, kept_scenario, rebuild
from whimbrel._reproduce.plan import RECORDS, Plan, read_plans
from whimbrel._simulate.records import Records
from whimbrel.errors import CampaignInterrupted, UsageError, WhimbrelError
from whimbrel.packing import again, archive
from whimbrel.packing.again import Again
from whimbrel.packing.manifest import PAPERS, RESULTS, Claimed, Manifest

CONFIRMED = "confirmed"
DIFFERS = "differs"
NOT_REPEATED = "not repeated"
_DRAWN = (".svg", ".png", ".pdf")


@dataclass(frozen=True)
class Wish:
    """The extent of a check.

    Attributes:
        work: folder for everything that is made.
        whole: true to repeat all runs.
        sample: number of runs of each table to repeat otherwise.
        salt: chooses them.
        jobs: number of simultaneous runs; the number of processors by default.
        run_papers: true to run the code of papers that the pack brings.
        any_version: true to check a pack of another version of Whimbrel.
        quiet: no progress bar.
    """

    work: Path
    whole: bool = False
    sample: int = 1
    salt: int = 1
    jobs: int | None = None
    run_papers: bool = False
    any_version: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class Verdict:
    """The findings about a claim.

    Attributes:
        claim: of the pack.
        status: `confirmed`, `differs` or `not repeated`.
        reason: why, unless it was confirmed.
        repeated: number of its runs that were repeated.
    """

    claim: Claimed
    status: str
    reason: str
    repeated: int


@dataclass
class Checked:
    """The findings about a pack.

    Attributes:
        manifest: its list.
        verdicts: on each claim.
        notes: what differs without a bearing on a claim.
    """

    manifest: Manifest
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_confirmed(self) -> bool:
        """True if all claims were confirmed."""
        return bool(self.verdicts) and all(verdict.status == CONFIRMED for verdict in self.verdicts)


@dataclass
class _Group:
    """The findings about a paper or a sweep.

    Attributes:
        wrong: what is wrong with a table, by its name; with all of them by the empty name.
        repeated: keys of the repeated runs by table.
        skipped: the reason why nothing was repeated.
    """

    wrong: dict[str, str] = field(default_factory=dict)
    repeated: dict[str, set[str]] = field(default_factory=dict)
    skipped: str = ""


def verify(pack: Path, wish: Wish) -> Checked:
    """Checks a pack.

    Args:
        pack: an archive, or a folder that holds one unpacked.
        wish: what to check.

    Raises:
        InputError: it is no pack, or damaged; nothing of it was run.
        UsageError: it is of another version.
        CampaignInterrupted: Ctrl-C; the same call resumes.
    """
    with archive.opened(pack) as opened:
        listed = opened.manifest
        # Another pack, or another build, has a folder of its own: what was repeated belongs to both.
        identity = hashlib.sha256(f"{compiled.engine()}\n{listed.text()}".encode()).hexdigest()[:12]
        place = wish.work / f"{pack.name.removesuffix('.zip').removesuffix('.pack')}-{identity}"
        opened.unpack(place / "pack")
    if listed.version != compiled.version() and not wish.any_version:
        raise UsageError(
            f"{pack} is intact and was made by Whimbrel {listed.version}, this is {compiled.version()}, whose"
            f" results may differ: install whimbrel=={listed.version}, or check it with --any-version"
        )
    checked = Checked(listed)
    all_groups: dict[str, _Group] = {}
    for folder in listed.folders:
        packed, again_ = place / "pack" / RESULTS / folder, place / "again" / folder
        groups = {
            group: _check_group(group, plans, packed, again_, place / "pack", listed, wish)
            for group, plans in read_plans(packed).items()
        }
        _rebuild(packed, place / "rebuilt" / folder, again_, groups, checked, wish)
        all_groups |= {f"{folder}/{group}" if folder else group: found for group, found in groups.items()}
    checked.verdicts = [_verdict(claim, all_groups.get(claim.group, _Group())) for claim in listed.claims]
    return checked


def _check_group(
    group: str,
    plans: Sequence[Plan],
    packed: Path,
    made: Path,
    pack: Path,
    listed: Manifest,
    wish: Wish,
) -> _Group:
    found = _Group()
    if group in listed.papers:
        if not wish.run_papers:
            found.skipped = f"the pack brings the code of the paper {group}; --run-papers runs it"
            return found
        paper_folders.add(pack / PAPERS / group)
    by_item: dict[str, list[Again]] = {}
    for plan in plans:
        try:
            runs = again.runs_of(plan, packed / group)
        except WhimbrelError as error:
            found.wrong[plan.item] = str(error)
            continue
        by_item[plan.item] = runs if wish.whole else again.sample(runs, wish.sample, wish.salt)
    chosen = {run.key: run for runs in by_item.values() for run in runs}
    bar = Silent() if wish.quiet else Bar(f"repeating runs of {group}")
    with bar:
        bar.add(len(chosen))
        work = Records(made / group / RECORDS)
        outcomes = again.repeat(list(chosen.values()), packed / group, work, wish.jobs, bar)
    for item, runs in by_item.items():
        found.repeated[item] = {run.key for run in runs if run.key in outcomes.same}
        reasons = [outcomes.wrong[run.key] for run in runs if run.key in outcomes.wrong]
        if reasons:
            found.wrong[item] = f"{len(reasons)} of {len(runs)} repeated runs differ: {reasons[0]}"
    return found


def _rebuild(
    packed: Path, rebuilt: Path, made: Path, groups: dict[str, _Group], checked: Checked, wish: Wish
) -> None:
    """Makes tables, claims and figures from the records again, of all runs from the repeated ones."""
    shutil.rmtree(rebuilt, ignore_errors=True)
    for group, found in groups.items():
        if found.skipped or "" in found.wrong:
            continue
        source, into = packed / group, rebuilt / group
        shutil.copytree(source / RECORDS, into / RECORDS)
        if (source / kept_scenario.FOLDER).is_dir():
            shutil.copytree(source / kept_scenario.FOLDER, into / kept_scenario.FOLDER)
        for path in sorted((made / group / RECORDS).glob("*.record")) if wish.whole else ():
            shutil.copyfile(path, into / RECORDS / path.name)
    if not rebuilt.is_dir():
        return
    try:
        rebuild.rebuild(rebuilt)
    except CampaignInterrupted:
        raise
    except WhimbrelError as error:
        for found in groups.values():
            found.wrong.setdefault("", f"its tables cannot be made again: {error}")
        return
    for group, found in groups.items():
        if (rebuilt / group).is_dir():
            _compare(packed / group, rebuilt / group, found, checked)


def _compare(packed: Path, rebuilt: Path, found: _Group, checked: Checked) -> None:
    for path in sorted(path for path in packed.iterdir() if path.is_file()):
        other = rebuilt / path.name
        if other.is_file() and other.read_bytes() == path.read_bytes():
            continue
        name = f"{packed.name}/{path.name}"
        if path.suffix in _DRAWN or not other.is_file():
            # Fonts differ from machine to machine, and formats are a choice of the command.
            checked.notes.append(
                f"{name} is drawn differently here" if other.is_file() else f"{name} is not made here"
            )
        elif path.name == evaluation.CLAIMS:
            found.wrong |= {
                f"claim {each}": "its verdict or evidence differs" for each in _changed(path, other)
            }
        elif path.suffix in (".csv", ".json"):
            item = path.stem.removesuffix("-runs")
            found.wrong.setdefault(item, f"{path.name} differs from what its records give")
        else:
            checked.notes.append(f"{name} differs from what its records give")


def _changed(path: Path, other: Path) -> Iterator[str]:
    before = {each["id"]: each for each in documents.read_json(path)}
    after = {each["id"]: each for each in documents.read_json(other)}
    return (each for each in before if before[each] != after.get(each))


def _verdict(claim: Claimed, found: _Group) -> Verdict:
    repeated = len(set().union(*(found.repeated.get(item, set()) for item in claim.items)))
    if found.skipped:
        return Verdict(claim, NOT_REPEATED, found.skipped, 0)
    name = claim.id.rpartition("/")[2]
    places = ("", *claim.items, f"claim {name}")
    reasons = [found.wrong[place] for place in places if place in found.wrong]
    if reasons:
        return Verdict(claim, DIFFERS, reasons[0], repeated)
    if not repeated:
        return Verdict(claim, NOT_REPEATED, "the pack has no runs of it", 0)
    return Verdict(claim, CONFIRMED, "", repeated)
