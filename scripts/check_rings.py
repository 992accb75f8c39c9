#!/usr/bin/env python3
"""Draws the calls between the files of `Connection`, and finds rings and concerns that call each other.

Usage: scripts/check_rings.py [--draw [dot]] [--root FOLDER]    (exits 1 and names each offence)

A module of crates/proto/src/connection, with its submodules, is a node. It either implements `Connection`,
or is a concern: types that own their state. The rules:

- the calls between modules have no ring;
- a module that implements `Connection` implements no other type;
- a concern names neither `Connection` nor the type of one of its fields, other than its own and the two that
  all concerns are handed, `Context` and `Effects`;
- every method called on `self` is found, and `Connection` has no other name: no call is overlooked.

A call is a method of `self`, a field that leads to another module's type (`self.fx.timers` leads to `timer`),
an associated function of such a type, or a function imported from another module. Data types are shared.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from rust_paths import blank, block

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "crates/proto/src"
OWNER = "Connection"
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
_ALIAS = re.compile(rf":\s*&\s*(?:'\w+\s+)?(?:mut\s+)?(?:{OWNER}|Self)\b")
_PATH_CALL = re.compile(r"\b(\w+)::(\w+)\s*\(")
_PLAIN_CALL = re.compile(r"(?<![\w.:])([a-z]\w*)\s*\(")
_IMPORT = re.compile(r"\buse\s+((?:super::)+|crate::connection::)([\w:]+?)(?:::\{([^}]*)\}|::(\w+))?\s*;")


@dataclass
class Module:
    """A node: a file and its submodules."""

    name: str
    text: str = ""
    # Bodies of the inherent and trait impls, by type.
    impls: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    functions: set[str] = field(default_factory=set)
    imports: dict[str, str] = field(default_factory=dict)

    @property
    def is_concern(self) -> bool:
        """`true` unless it implements `Connection`."""
        return OWNER not in self.impls


@dataclass
class Type:
    """A type of one of the modules."""

    module: str
    fields: dict[str, str]


class Crate:
    """The modules, and what leads from one to another."""

    def __init__(self, root: Path) -> None:
        self.modules = dict(_modules(root / SOURCE))
        self.types: dict[str, Type] = {}
        for module in self.modules.values():
            self._read(module)
        if OWNER not in self.types:
            raise SystemExit(f"{SOURCE}/connection.rs has no struct {OWNER}")
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
        """The types of the fields of `Connection`, with their modules, but for those that are shared."""
        held = (self._known(held) for held in self.types[OWNER].fields.values())
        names = {name for name in held if name and name not in SHARED}
        return {name: self.types[name].module for name in names if self._is_concern(name)}

    def _is_concern(self, name: str) -> bool:
        return self.modules[self.types[name].module].is_concern

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
                if is_method and at == OWNER and name not in self.types[at].fields:
                    self.unknown.append(f"{module.name}: self.{name}() is no method of {OWNER}")
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


def _modules(source: Path) -> Iterator[tuple[str, Module]]:
    """The modules of the connection, without tests."""
    texts: dict[str, list[str]] = {"connection": [blank((source / "connection.rs").read_text())]}
    for path in sorted((source / "connection").rglob("*.rs")):
        parts = path.relative_to(source / "connection").with_suffix("").parts
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


def offences(root: Path) -> list[str]:
    crate = Crate(root)
    found = [f"these call each other in a ring: {', '.join(ring)}" for ring in rings(crate.calls)]
    found += sorted(set(crate.unknown))
    concerns = crate.concerns()
    for module in crate.modules.values():
        others = sorted(name for name in module.impls if name != OWNER)
        if not module.is_concern and others:
            found.append(f"{module.name}: implements {OWNER} and {', '.join(others)}: one of them elsewhere")
        if not module.is_concern:
            if _ALIAS.search(module.text):
                found.append(f"{module.name}: calls by another name than self cannot be followed")
            continue
        if re.search(rf"\b{OWNER}\b", module.text):
            found.append(f"{module.name}: a concern is not handed the {OWNER}")
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
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository (this one)")
    given = parser.parse_args()
    if given.draw:
        print(drawing(Crate(given.root).calls, given.draw == "dot"))
        return 0
    found = offences(given.root)
    for offence in found:
        print(offence, file=sys.stderr)
    print(f"rings: {'ok' if not found else f'{len(found)} offence(s)'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
