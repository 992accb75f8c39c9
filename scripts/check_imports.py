#!/usr/bin/env python3
"""Draws the imports of the Python package, and finds rings, doors that are bypassed and imports that hide.

Usage: scripts/check_imports.py [--draw [dot]] [--root FOLDER]    (exits 1 and names each offence)

A room is a folder of python/whimbrel, or a module next to these folders. The rules:

- the imports between modules have no ring, and those between rooms have none;
- the rooms stand on at most `FLOORS` floors, a number that only falls;
- a module next to the rooms is a door: it exports what the rooms have, and nothing in the package imports it;
  the package itself is one, too. `errors` and the compiled part stand on the ground instead, below all rooms;
- an import within a function is in `INNER`, with a comment above it that says why.

An import counts wherever it stands: in a function, below `TYPE_CHECKING`, or as the full name of a module in
a string (`MODULE` or `MODULE:FUNCTION`), by which modules are run and imported on demand. The papers and the
examples, which are linked into the package, are its users: they import no private room.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "whimbrel"
FLOORS = 11
"""The most rooms that stand on each other. It only falls."""
GROUND = {"errors", "_core"}
"""The modules next to the rooms, on which all rooms stand."""
LINKED = ("papers", "examples")
INNER = {("_campaigns.cluster", "distributed.scheduler")}
"""Modules, and what their functions import: optional dependencies that take long."""


@dataclass
class Module:
    """A module, and what it imports of the package.

    Attributes:
        name: below the package; empty for the package itself.
        imports: names of modules.
        inner: what its functions import, with the line, and `True` if a comment stands above.
    """

    name: str
    imports: set[str] = field(default_factory=set)
    inner: list[tuple[str, int, bool]] = field(default_factory=list)

    @property
    def room(self) -> str:
        """The folder or file at the top of the package."""
        return self.name.partition(".")[0]


def modules(root: Path) -> dict[str, Module]:
    """The modules by name, with their imports."""
    package = root / "python" / PACKAGE
    files: dict[str, Path] = {}
    for path in sorted([*package.rglob("*.py"), *package.glob("*.pyi")]):
        parts = path.relative_to(package).with_suffix("").parts
        if parts[0] not in LINKED:
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: _read(name, path, files) for name, path in files.items()}


def _read(name: str, path: Path, files: Mapping[str, Path]) -> Module:
    module = Module(name)
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()

    def visit(node: ast.AST, within: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                for full in _imported(child, files):
                    below = full.removeprefix(PACKAGE).removeprefix(".")
                    if full.partition(".")[0] == PACKAGE and below in files:
                        module.imports.add(below)
                    if within:
                        above = lines[child.lineno - 2].strip().startswith("#")
                        module.inner.append((below or full, child.lineno, above))
            elif isinstance(child, ast.Constant) and isinstance(child.value, str):
                named = child.value.partition(":")[0]
                below = named.removeprefix(f"{PACKAGE}.")
                if named != below and below in files:
                    module.imports.add(below)
            visit(child, within or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    visit(ast.parse(text), within=False)
    module.imports.discard(name)
    return module


def _imported(node: ast.Import | ast.ImportFrom, files: Container[str]) -> Iterator[str]:
    """Full names of the imported modules; `from PACKAGE import MODULE` imports `PACKAGE.MODULE`."""
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
        return
    if node.level:
        raise SystemExit(f"line {node.lineno}: a relative import")
    for name in node.names:
        full = f"{node.module}.{name.name}"
        yield full if full.removeprefix(f"{PACKAGE}.") in files else str(node.module)


def between_rooms(found: Mapping[str, Module]) -> dict[str, set[str]]:
    """The rooms, and those that each imports."""
    rooms: dict[str, set[str]] = {module.room: set() for module in found.values()}
    for module in found.values():
        rooms[module.room] |= {each.partition(".")[0] for each in module.imports} - {module.room}
    return rooms


def floors(rooms: Mapping[str, set[str]]) -> dict[str, int]:
    """The floor of each room, from 1.

    Raises:
        CycleError: the rooms, or modules, have a ring.
    """
    height: dict[str, int] = {}
    for room in TopologicalSorter(rooms).static_order():
        height[room] = 1 + max((height[other] for other in rooms[room]), default=0)
    return height


def offences(root: Path) -> Iterator[str]:
    """A line for each."""
    found = modules(root)
    rooms = between_rooms(found)
    try:
        floors({name: module.imports for name, module in found.items()})
        if (height := max(floors(rooms).values())) > FLOORS:
            yield f"{height} floors, expected at most {FLOORS}: see --draw"
    except CycleError as error:
        yield f"these import each other in a ring: {' <- '.join(error.args[1])}"
    folders = {name for name in rooms if any(module.startswith(f"{name}.") for module in found)}
    doors = set(rooms) - folders - GROUND
    for name, module in found.items():
        for door in sorted(module.imports & doors):
            yield f"{name}: imports {door or PACKAGE}, a door; import the room that has it"
        for what, line, explained in module.inner:
            if (name, what) not in INNER:
                yield f"{name}, line {line}: {what} is imported within a function"
            elif not explained:
                yield f"{name}, line {line}: no comment says why {what} is imported within a function"
    for path in (path for folder in LINKED for path in sorted((root / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for full in _imported(node, found) if isinstance(node, ast.Import | ast.ImportFrom) else ():
                if full.startswith(f"{PACKAGE}._"):
                    yield f"{path.relative_to(root).as_posix()}: imports {full}, which is private"


def drawing(root: Path, dot: bool) -> str:
    """The rooms, the lowest first."""
    rooms = between_rooms(modules(root))
    if dot:
        edges = [f'  "{one}" -> "{other}";' for one in sorted(rooms) for other in sorted(rooms[one])]
        return "\n".join([f"digraph {PACKAGE} {{", *edges, "}"])
    height = floors(rooms)
    return "\n".join(
        f"{height[room]:>2} {room or PACKAGE} -> {', '.join(sorted(rooms[room])) or '-'}"
        for room in sorted(rooms, key=lambda room: (height[room], room))
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draw", nargs="?", const="text", choices=("text", "dot"), help="print the rooms")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository (this one)")
    given = parser.parse_args()
    if given.draw:
        print(drawing(given.root, given.draw == "dot"))
        return 0
    found = list(offences(given.root))
    for offence in found:
        print(offence, file=sys.stderr)
    print(f"imports: {'ok' if not found else f'{len(found)} offence(s)'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
