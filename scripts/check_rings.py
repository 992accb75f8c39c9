#!/usr/bin/env python3
"""Draws the calls between the files of large types, and finds rings and concerns that call each other.

Usage: scripts/check_rings.py [--draw [dot]] [--of TYPE] [--root FOLDER]    (exits 1 and names each offence)

`OWNERS` lists the types whose methods are in several files, each with two ceilings, which only fall: the
number of methods, and the number of files whose methods call each other in a ring.

Some are composed of concerns. A module of such a type, with its submodules, is a node. It either implements
the type, or is a concern: types that own their state. The rules:

- the calls between modules have no ring;
- a module that implements the type implements no other type;
- a concern names neither the type nor the type of one of its fields, except its own and the two that all
  concerns are handed, `Context` and `Effects`;
- every method called on `self` is found, and the type has no other name: no call is overlooked.

A call is a method of `self`, a field that leads to another module's type (`self.fx.timers` leads to `timer`),
an associated function of such a type, or a function imported from another module. Data types are shared.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from rust_paths import blank, block

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Owner:
    """A type whose methods are in several files."""

    name: str
    # Its file; the others are in the folder of the same name.
    home: str
    # Ceilings: methods of inherent impls, and files in the largest ring.
    methods: int
    ring: int = 1
    # The type is composed of concerns, under the stricter rules.
    composed: bool = False


OWNERS = (
    Owner("Connection", "crates/proto/src/connection.rs", 164, composed=True),
    Owner("MultipathConnection", "crates/proto/src/multipath/connection.rs", 94, composed=True),
    Owner("Simulator", "crates/netsim/src/simulator.rs", 127),
    Owner("TcpSender", "crates/lab/src/tcp/sender.rs", 87),
    Owner("Dcf", "crates/wifi/src/dcf.rs", 68),
    Owner("World", "crates/faults/src/world.rs", 25),
    Owner("Bbr", "crates/control/src/media/bbr.rs", 48),
    Owner("Aodv", "crates/wifi/src/routing/aodv.rs", 27),
)

# The types that every concern is handed, and the names under which it is.
SHARED = {"Context": "cx", "Effects": "fx"}

_TYPE = re.compile(r"\b(?:struct|enum)\s+(\w+)")
_METHOD = re.compile(r"\bfn\s+(\w+)")
_IMPL = re.compile(r"^impl(?:<[^{]*?>)?\s+(?:[\w:]+(?:<[^{]*?>)?\s+for\s+)?(\w+)[^{;]*\{", re.MULTILINE)
_FIELD = re.compile(r"(?:^|,)\s*(?:pub(?:\([^)]*\))?\s+)?(\w+)\s*:\s*([^,{}]+?)(?=,|\s*$)", re.MULTILINE)
_FUNCTION = re.compile(r"^(?:pub(?:\([^)]*\))?\s+)?(?:const\s+)?fn\s+(\w+)", re.MULTILINE)
_CHAIN = re.compile(r"(?<![\w.])(self|cx|fx)((?:\s*\.\s*\w+)+)(\s*\()?")
_OWN_CALL = re.compile(r"\bSelf::(\w+)\s*\(")
# A parameter or variable through which the methods could be called unseen.
_ALIAS = r":\s*&\s*(?:'\w+\s+)?(?:mut\s+)?(?:{}|Self)\b"
_PATH_CALL = re.compile(r"\b(\w+)::(\w+)\s*\(")
_PLAIN_CALL = re.compile(r"(?<![\w.:])([a-z]\w*)\s*\(")
_IMPORT = re.compile(
    r"\buse\s+((?:super::)+|crate::(?:\w+::)?connection::)([\w:]+?)(?:::\{([^}]*)\}|::(\w+))?\s*;"
)


@dataclass
class Module:
    """A node: a file and its submodules."""

    name: str
    text: str = ""
    # Bodies of the inherent and trait impls, by type.
    impls: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    functions: set[str] = field(default_factory=set)
    imports: dict[str, str] = field(default_factory=dict)


@dataclass
class Type:
    """A type of one of the modules."""

    module: str
    fields: dict[str, str]


class Crate:
    """The modules of a composed type, and what leads from one to another."""

    def __init__(self, root: Path, owner: Owner = OWNERS[0]) -> None:
        self.owner = owner.name
        self.modules = dict(_modules(root / owner.home))
        self.types: dict[str, Type] = {}
        for module in self.modules.values():
            self._read(module)
        if self.owner not in self.types:
            raise SystemExit(f"{owner.home} has no struct {owner.name}")
        # Methods by type and name, with the module that has them.
        self.methods: dict[str, dict[str, str]] = defaultdict(dict)
        for module in self.modules.values():
            for name, bodies in module.impls.items():
                for method in (found for body in bodies for found in _METHOD.findall(body)):
                    self.methods[name][method] = module.name
        self.unknown: list[str] = []
        self.calls: dict[str, set[str]] = {name: set() for name in self.modules}
        for module in self.modules.values():
            self.calls[module.name] = self._called_by(module) - {module.name}

    def concerns(self) -> dict[str, str]:
        """The types of the fields of the owner, with their modules, but for those that are shared."""
        held = (self._known(held) for held in self.types[self.owner].fields.values())
        names = {name for name in held if name and name not in SHARED}
        return {name: self.types[name].module for name in names if self._is_concern(name)}

    def is_concern(self, module: Module) -> bool:
        """`true` unless it implements the owner."""
        return self.owner not in module.impls

    def _is_concern(self, name: str) -> bool:
        return self.is_concern(self.modules[self.types[name].module])

    def _read(self, module: Module) -> None:
        for found in _TYPE.finditer(module.text):
            body = block(module.text, found.end()) if _has_fields(module.text, found.end()) else None
            self.types.setdefault(found[1], Type(module.name, dict(_FIELD.findall(body or ""))))
        for found in _IMPL.finditer(module.text):
            module.impls[found[1]].append(block(module.text, found.end() - 1) or "")
        module.functions = set(_FUNCTION.findall(module.text))
        for found in _IMPORT.finditer(module.text):
            names = re.findall(r"\w+", found[3] or found[4] or "")
            path = [part for part in found[2].split("::") if part != "super"]
            module.imports.update({name: path[0] for name in names if path and path[0] in self.modules})

    def _known(self, text: str) -> str | None:
        """The type of one of the modules that a field's type names first: that in `Option<Box<Type>>`."""
        return next((name for name in re.findall(r"\w+", text) if name in self.types), None)

    def _called_by(self, module: Module) -> set[str]:
        found = set()
        for name, bodies in module.impls.items():
            for body in bodies:
                found |= self._chains(module, name, body)
                own = self.methods[name]
                found |= {own[method] for method in _OWN_CALL.findall(body) if method in own}
        for name, method in _PATH_CALL.findall(module.text):
            if name in self.types and method in self.methods[name]:
                found.add(self.methods[name][method])
            elif name in self.modules and method in self.modules[name].functions:
                found.add(name)
        for function in _PLAIN_CALL.findall(module.text):
            origin = module.imports.get(function)
            if origin and function in self.modules[origin].functions:
                found.add(origin)
        return found

    def _chains(self, module: Module, owner: str, body: str) -> set[str]:
        """The modules to which `self.…`, `cx.…` and `fx.…` lead."""
        found = set()
        for start, chain, is_call in _CHAIN.findall(body):
            names = re.findall(r"\w+", chain)
            shared = next((held for held, given in SHARED.items() if given == start), None)
            at: str | None = shared or owner
            for index, name in enumerate(names):
                if at is None or at not in self.types:
                    break
                is_method = index == len(names) - 1 and bool(is_call)
                if is_method and name in self.methods[at]:
                    found.add(self.methods[at][name])
                    break
                if is_method and at == self.owner and name not in self.types[at].fields:
                    self.unknown.append(f"{module.name}: self.{name}() is no method of {self.owner}")
                    break
                if is_method:
                    break
                at = self._known(self.types[at].fields.get(name, ""))
                if at is not None:
                    found.add(self.types[at].module)
        return found


def _has_fields(text: str, start: int) -> bool:
    """`true` for `struct Name { ... }`, not for tuples."""
    found = re.compile(r"[{(;]").search(text, start)
    return found is not None and found[0] == "{"


def _modules(home: Path) -> Iterator[tuple[str, Module]]:
    """The modules of the type, without tests."""
    texts: dict[str, list[str]] = {home.stem: [blank(home.read_text())]}
    folder = home.with_suffix("")
    for path in sorted(folder.rglob("*.rs")):
        parts = path.relative_to(folder).with_suffix("").parts
        if "tests" not in parts:
            texts.setdefault(parts[0], []).append(blank(path.read_text()))
    for name, found in texts.items():
        yield name, Module(name, "\n".join(found))


def rings(calls: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(calls[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            component = stack[at:]
            del stack[at:]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(calls):
        if node not in index:
            visit(node)
    return found


def files_of(root: Path, owner: Owner) -> dict[str, str]:
    """The bodies of the inherent impls of a type, by file."""
    home = root / owner.home
    head = re.compile(
        rf"^impl(?:<[^{{]*?>)?\s+{owner.name}(?:<[^{{]*?>)?\s*(?:where[^{{]*)?\{{", re.MULTILINE
    )
    found = {}
    for path in (home, *sorted(home.with_suffix("").rglob("*.rs"))):
        if path.stem == "tests" or "tests" in path.relative_to(home.parent).parts:
            continue
        text = blank(path.read_text())
        bodies = [block(text, at.end() - 1) or "" for at in head.finditer(text)]
        if bodies:
            found[str(path.relative_to(home.parent).with_suffix(""))] = "\n".join(bodies)
    return found


def calls_of(owner: Owner, files: dict[str, str]) -> tuple[dict[str, set[str]], int]:
    """The calls between the files of a type, and the number of its methods."""
    homes = {method: file for file, body in files.items() for method in _METHOD.findall(body)}
    # `self.name(`, or the name of a method as a value: a field may have the name of a method.
    call = re.compile(rf"(?<![\w.])self\s*\.\s*(\w+)\s*\(|\b(?:Self|{owner.name})::(\w+)\b")
    names = {file: {one or other for one, other in call.findall(body)} for file, body in files.items()}
    calls = {file: {homes[name] for name in called if name in homes} for file, called in names.items()}
    count = sum(len(_METHOD.findall(body)) for body in files.values())
    return {file: called - {file} for file, called in calls.items()}, count


def above_ceilings(root: Path, owners: Sequence[Owner]) -> list[str]:
    """The types with more methods or larger rings than they may have."""
    found = []
    for owner in owners:
        calls, methods = calls_of(owner, files_of(root, owner))
        ring = max((len(ring) for ring in rings(calls)), default=1)
        if methods > owner.methods:
            found.append(f"{owner.name} has {methods} methods, at most {owner.methods}")
        if ring > owner.ring:
            found.append(f"{owner.name} has {ring} files in a ring, at most {owner.ring}")
    return found


def offences(root: Path, owner: Owner = OWNERS[0]) -> list[str]:
    """Breaches of a composed type's rules."""
    crate = Crate(root, owner)
    found = [f"these call each other in a ring: {', '.join(ring)}" for ring in rings(crate.calls)]
    found += sorted(set(crate.unknown))
    concerns = crate.concerns()
    for module in crate.modules.values():
        others = sorted(name for name in module.impls if name != owner.name)
        if not crate.is_concern(module) and others:
            found.append(
                f"{module.name}: implements {owner.name} and {', '.join(others)}: one of them elsewhere"
            )
        if not crate.is_concern(module):
            if re.search(_ALIAS.format(owner.name), module.text):
                found.append(f"{module.name}: calls by another name than self cannot be followed")
            continue
        if re.search(rf"\b{owner.name}\b", module.text):
            found.append(f"{module.name}: a concern is not handed the {owner.name}")
        for name, home in sorted(concerns.items()):
            imported = rf"\b{home}::(?:\{{[^}}]*)?(?:\b{name}\b|\*)"
            if home != module.name and re.search(imported, module.text):
                found.append(f"{module.name}: a concern names another, {name} of {home}")
    return found


def drawing(calls: dict[str, set[str]], dot: bool) -> str:
    if dot:
        edges = [f"  {one} -> {other};" for one in sorted(calls) for other in sorted(calls[one])]
        return "\n".join(["digraph connection {", *edges, "}"])
    return "\n".join(f"{one} -> {', '.join(sorted(calls[one])) or '-'}" for one in sorted(calls))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draw", nargs="?", const="text", choices=("text", "dot"), help="print the calls")
    names = [owner.name for owner in OWNERS]
    parser.add_argument("--of", default=names[0], choices=names, help="the type to draw")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository (this one)")
    given = parser.parse_args()
    root: Path = given.root
    if given.draw:
        owner = OWNERS[names.index(given.of)]
        calls = Crate(root, owner).calls if owner.composed else calls_of(owner, files_of(root, owner))[0]
        print(drawing(calls, given.draw == "dot"))
        return 0
    # Another folder need not have all of them.
    owners = [owner for owner in OWNERS if root == ROOT or (root / owner.home).exists()]
    found = [offence for owner in owners if owner.composed for offence in offences(root, owner)]
    found += above_ceilings(root, owners)
    for offence in found:
        print(offence, file=sys.stderr)
    print(f"rings: {'ok' if not found else f'{len(found)} offence(s)'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
