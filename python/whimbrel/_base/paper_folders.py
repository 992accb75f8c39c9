"""Locations of papers: the package's own, folders that a command names, and installed packages.

- `python/whimbrel/papers` holds the package's own.
- `--papers DIR`, or `add`: a folder of papers' folders, or the folder of one paper. Its modules are imported
as `whimbrel.papers.KEY`, like the package's own.
- An installed package declares the entry point group `whimbrel.papers`; each entry's value is a package whose
folder is one of these two. Its modules keep their names:

      [project.entry-points."whimbrel.papers"]
      mine = "my_package.papers"

The key of a paper is the name of its folder.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from dataclasses import dataclass
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path

from whimbrel.errors import PaperError, UsageError

GROUP = "whimbrel.papers"
"""Group of the entry points, and the package that a paper of a folder belongs to."""
MAIN = "scenarios.py"
"""The file that makes a folder a paper."""


@dataclass(frozen=True)
class Located:
    """A paper that can be loaded.

    Attributes:
        key: of the paper.
        directory: its folder.
        package: import name of the folder.
        is_installed: true if other machines with the same packages can import it, too.
    """

    key: str
    directory: Path
    package: str
    is_installed: bool = True


_added: list[Path] = []
_OWN = Path(__file__).parents[1] / "papers"


def own() -> Path:
    """The folder of the package's own papers and of `style.toml`."""
    return _OWN


def add(directory: Path) -> None:
    """Makes the papers of a folder known to this process.

    Args:
        directory: holds papers' folders, or is the folder of one paper.

    Raises:
        UsageError: it holds no paper, or one with the key of another.
    """
    directory = directory.resolve()
    if directory in _added:
        return
    if not _papers_in(directory):
        raise UsageError(f"{directory} holds no paper: expected KEY/{MAIN} or {MAIN} in it")
    _added.append(directory)
    try:
        located()
    except PaperError as error:
        _added.remove(directory)
        raise UsageError(str(error)) from error


def located() -> dict[str, Located]:
    """All papers by key, in the order of the keys.

    Raises:
        PaperError: two papers have one key, or an entry point names no package with papers.
    """
    found: dict[str, Located] = {}
    for paper in [
        *(Located(path.name, path, f"{GROUP}.{path.name}") for path in _papers_in(own())),
        *_of_packages(),
        *(
            Located(path.name, path, f"{GROUP}.{path.name}", is_installed=False)
            for directory in _added
            for path in _papers_in(directory)
        ),
    ]:
        other = found.setdefault(paper.key, paper)
        if other.directory.resolve() != paper.directory.resolve():
            raise PaperError(f"two papers are called {paper.key!r}: {other.directory} and {paper.directory}")
    return dict(sorted(found.items()))


def styles() -> tuple[Path, ...]:
    """The files with the appearance of schemes: the package's own first, then further papers'."""
    return _styles((own(), *_added))


# Every bar and every point of a chart asks for them.
@functools.cache
def _styles(_folders: tuple[Path, ...]) -> tuple[Path, ...]:
    folders = [each.directory for each in located().values() if each.directory.parent != own()]
    files = [*dict.fromkeys(file for each in folders for file in (each.parent, each))]
    return (_OWN / "style.toml", *(path for each in files if (path := each / "style.toml").is_file()))


def prepare(paper: Located) -> None:
    """Makes the modules of a paper importable."""
    if paper.is_installed:
        return
    current = sys.modules.get(paper.package)
    if current is not None and list(current.__path__) == [str(paper.directory)]:
        return
    # The folder is no part of the installed package, so that no finder knows it.
    spec = ModuleSpec(paper.package, loader=None, is_package=True)
    spec.submodule_search_locations = [str(paper.directory)]
    for name in [
        name for name in sys.modules if name == paper.package or name.startswith(f"{paper.package}.")
    ]:
        del sys.modules[name]
    sys.modules[paper.package] = importlib.util.module_from_spec(spec)


def is_installed(module: str) -> bool:
    """False for a module of a folder that `add` named: another process cannot import it."""
    return not any(
        module == each.package or module.startswith(f"{each.package}.")
        for each in located().values()
        if not each.is_installed
    )


def _papers_in(directory: Path) -> list[Path]:
    if (directory / MAIN).is_file():
        return [directory]
    return sorted(path.parent for path in directory.glob(f"*/{MAIN}"))


@functools.cache
def _of_packages() -> tuple[Located, ...]:
    """The papers of installed packages."""
    found = []
    for entry in metadata.entry_points(group=GROUP):
        try:
            spec = importlib.util.find_spec(entry.value)
        except (ImportError, ValueError) as error:
            raise PaperError(f"entry point {entry.name} = {entry.value!r} of {GROUP}: {error}") from error
        folders = list(spec.submodule_search_locations or []) if spec is not None else []
        papers = [(Path(folder), path) for folder in folders for path in _papers_in(Path(folder))]
        if not papers:
            raise PaperError(
                f"entry point {entry.name} = {entry.value!r} of {GROUP}: expected a package that holds"
                f" KEY/{MAIN} or {MAIN}"
            )
        for folder, path in papers:
            name = entry.value if path == folder else f"{entry.value}.{path.name}"
            found.append(Located(path.name, path.resolve(), name))
    return tuple(found)
