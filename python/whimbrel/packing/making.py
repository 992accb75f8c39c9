"""Makes a pack from a folder of results."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from whimbrel._base import compiled
from whimbrel._base.files import replace_text
from whimbrel._reproduce import kept_scenario, paper
from whimbrel._reproduce.plan import RECORDS
from whimbrel._simulate import record_format
from whimbrel.errors import InputError, PaperError, RecordError, UsageError
from whimbrel.packing import archive, container, contents, described, manifest, tables
from whimbrel.packing.contents import Contents
from whimbrel.packing.described import Publication
from whimbrel.packing.manifest import Manifest

SUFFIX = ".pack.zip"
_LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")


def make(outs: Sequence[Path], target: Path, publication: Publication, wheel: Path | None = None) -> Manifest:
    """Writes a pack.

    Args:
        outs: folders of results; of several, each has its name in the pack.
        target: the archive; it appears complete or not at all.
        publication: what only the author knows.
        wheel: of Whimbrel, if the pack should bring it.

    Returns:
        The list of the pack.

    Raises:
        InputError: there are no results, or the wheel is none.
        PaperError: the results are damaged or incomplete.
        UsageError: two folders have one name.
    """
    found = read(outs)
    if wheel is not None and not (wheel.is_file() and wheel.suffix == ".whl"):
        raise InputError(f"--wheel {wheel}: expected a file NAME.whl")
    target.parent.mkdir(parents=True, exist_ok=True)
    # Next to the archive: results may be larger than the folder of temporary files.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pack-") as folder:
        made = _fill(Path(folder), found, publication, wheel, target.name)
        archive.write(Path(folder), target)
    return made


def read(outs: Sequence[Path]) -> list[Contents]:
    """The results of several folders.

    Raises:
        InputError: there are no results in one.
        PaperError: they are damaged.
        UsageError: two folders have one name.
    """
    names = [out.resolve().name for out in outs] if len(outs) > 1 else [""]
    if len(set(names)) < len(names):
        raise UsageError(f"two of the folders have one name: {', '.join(names)}")
    return [contents.read(out, name) for out, name in zip(outs, names, strict=True)]


def usual_title(outs: Sequence[Path]) -> str:
    """The titles of the papers and sweeps in folders of results.

    Raises:
        InputError: there are no results.
        PaperError: they are damaged.
    """
    titles = [
        str(plans[0].details["title"])
        if contents.is_sweep(plans)
        else f"Reproduction of: {paper.load(key).title}"
        for found in read(outs)
        for key, plans in found.groups.items()
    ]
    return "; ".join(dict.fromkeys(titles))


def _fill(
    folder: Path, found: Sequence[Contents], publication: Publication, wheel: Path | None, name: str
) -> Manifest:
    for each in found:
        _copy_results(each, folder / manifest.RESULTS / each.name)
        tables.write(each, folder / "tables" / each.name)
    papers = sorted({key for each in found for key in each.foreign_papers})
    for key in papers:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(paper.folder(key), folder / manifest.PAPERS / key, ignore=ignored)
    _copy_licences(folder / "licences")
    if wheel is not None:
        (folder / "software").mkdir()
        shutil.copyfile(wheel, folder / "software" / wheel.name)
    plans = [plan for each in found for plan in each.plans]
    has_video = any(
        paper.load(plan.group).item(plan.item).run is not None for plan in plans if plan.kind == "paper"
    )
    about = found[0].about
    python = str(about.get("machine", {}).get("python", "3"))
    scripts = container.files(compiled.version(), python, wheel.name if wheel else "", has_video=has_video)
    _write_all(folder / "container", scripts)
    engines = tuple(sorted({plan.engine for plan in plans}))
    listed = Manifest(
        publication.title,
        compiled.version(),
        engines,
        about,
        tuple(each.name for each in found),
        tuple(papers),
        [claim for each in found for claim in each.claims],
        _digests(folder),
    )
    texts = {
        described.CRATE: described.crate(listed, publication, listed.files),
        described.ZENODO: described.zenodo(listed, publication),
        described.APPENDIX: described.appendix(listed, publication, name),
    }
    _write_all(folder, texts)
    listed = replace(listed, files=_digests(folder))
    replace_text(folder / manifest.NAME, listed.text())
    return listed


def _copy_results(found: Contents, target: Path) -> None:
    """The results that plans name, with their records. Other files of the folder stay where they are."""
    for group, plans in found.groups.items():
        source, into = found.out / group, target / group
        kept = {f"{plan.item}.plan.json" for plan in plans}
        keys = sorted({key for plan in plans for cell in plan.cells for key in cell.keys})
        (into / RECORDS).mkdir(parents=True)
        for name in sorted(kept):
            shutil.copyfile(source / RECORDS / name, into / RECORDS / name)
        for key in keys:
            path = source / RECORDS / f"{key}{record_format.SUFFIX}"
            try:
                if record_format.read(path, key) is None:
                    raise PaperError(f"{path} is missing; repeat the command that made it")
            except RecordError as error:
                raise PaperError(f"{error}; repeat the command that made it") from error
            shutil.copyfile(path, into / RECORDS / path.name)
        for path in sorted(source.iterdir()):
            if path.is_file() and not path.name.startswith("."):
                shutil.copyfile(path, into / path.name)
        if contents.is_sweep(plans):
            shutil.copytree(source / kept_scenario.FOLDER, into / kept_scenario.FOLDER)
    for name in ("manifest.json", "index.html"):
        if (found.out / name).is_file():
            shutil.copyfile(found.out / name, target / name)


def _copy_licences(folder: Path) -> None:
    folder.mkdir()
    installed = {
        Path(str(file)).name: Path(str(file.locate()))
        for file in metadata.files("whimbrel") or ()
        if Path(str(file)).name in _LICENCES
    }
    tree = Path(__file__).resolve().parents[3]
    for name in _LICENCES:
        source = installed.get(name, tree / name)
        if not source.is_file():
            raise InputError(f"{name} of Whimbrel is missing from its installation")
        shutil.copyfile(source, folder / name)


def _write_all(folder: Path, texts: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        replace_text(folder / name, text)


def _digests(folder: Path) -> dict[str, manifest.File]:
    return {path: manifest.digest(folder / path) for path in sorted(archive.files_of(folder))}
