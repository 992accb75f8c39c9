"""The contents of each program: bills of materials (CycloneDX), and the licences with their texts."""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from programs import PROGRAMS, Program
from workspace import Release, output

LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|copyright|unlicense)", re.IGNORECASE)
# The version that zig has.
MUSL = "1.2.5"
# The C library of AWS in the crate of its bindings has a licence of its own.
FURTHER = {"aws-lc-sys": ("aws-lc/LICENSE",)}


@dataclass(frozen=True, order=True)
class Component:
    """A part of a program: a crate, or a library of the compiler or the linker."""

    name: str
    version: str
    licence: str
    is_crate: bool = True

    @property
    def address(self) -> str:
        """The package URL."""
        kind = "cargo" if self.is_crate else "generic"
        return f"pkg:{kind}/{self.name}@{self.version}"


@cache
def _folders() -> dict[tuple[str, str], Path]:
    found = json.loads(output(["cargo", "metadata", "--format-version", "1", "--locked"]))
    return {
        (package["name"], package["version"]): Path(package["manifest_path"]).parent
        for package in found["packages"]
    }


@cache
def components(program: Program) -> tuple[Component, ...]:
    """The components of a program, by name. Crates that only generate code are no part of it."""
    command = [
        "cargo",
        "tree",
        "--locked",
        "-p",
        "whimbrel-cli",
        *program.options,
        "--target",
        program.target,
    ]
    lines = output([*command, "-e", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}|{l}"])
    found = set()
    for line in lines.splitlines():
        package, _, licence = line.removesuffix(" (*)").partition("|")
        name, version = package.split(" ")[:2]
        # An older way to write "or".
        found.add(Component(name, version.removeprefix("v"), licence.replace("/", " OR ").replace("  ", " ")))
    compiler = output(["rustc", "--version"]).split(" ")[1]
    found.add(Component("rust-std", compiler, "MIT OR Apache-2.0", is_crate=False))
    if "musl" in program.target:
        found.add(Component("musl", MUSL, "MIT", is_crate=False))
    if "windows" in program.target:
        found.add(Component("mingw-w64-runtime", "10", "ZPL-2.1", is_crate=False))
    return tuple(sorted(found))


def _zig(release: Release) -> Path:
    return next(release.tools.glob("lib/python3.*/site-packages/ziglang/lib"))


def _texts(component: Component) -> list[str]:
    folder = _folders().get((component.name, component.version))
    if folder is None:
        return []
    named = [path for path in sorted(folder.iterdir()) if path.is_file() and LICENCE_FILE.match(path.name)]
    named += [folder / further for further in FURTHER.get(component.name, ())]
    return [path.read_text(errors="replace").strip() for path in named]


def licences(release: Release, program: Program) -> str:
    """The licences of everything inside a program, each text once."""
    parts = components(program)
    lines = [f"{program.name} {release.version} for {program.system} contains:", ""]
    lines += [f"  {part.name} {part.version}: {part.licence}" for part in parts]
    users: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        for text in _texts(part):
            users[text].append(part.name)
    if "musl" in program.target:
        users[(_zig(release) / "libc/musl/COPYRIGHT").read_text().strip()].append("musl")
    for text, names in sorted(users.items(), key=lambda item: (item[1], item[0])):
        lines += ["", "-" * 72, ", ".join(dict.fromkeys(names)), "", text]
    return "\n".join(lines) + "\n"


def bill(release: Release, program: Program) -> str:
    """The bill of materials of a program, in the format of CycloneDX 1.5."""
    parts = components(program)
    listed = [
        {
            "type": "library",
            "bom-ref": part.address,
            "name": part.name,
            "version": part.version,
            "licenses": [{"expression": part.licence}],
            "purl": part.address,
        }
        for part in parts
    ]
    digest = hashlib.sha256(program.executable(release).read_bytes()).hexdigest()
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(release.epoch)),
            "component": {
                "type": "application",
                "name": program.name,
                "version": release.version,
                "description": f"for {program.system}",
                "hashes": [{"alg": "SHA-256", "content": digest}],
            },
        },
        "components": listed,
    }
    return json.dumps(document, indent=1) + "\n"


def make(release: Release) -> None:
    """Writes a bill of materials for each program."""
    for program in PROGRAMS:
        if program.executable(release).exists():
            name = f"{program.name}-{release.version}-{program.system}.cyclonedx.json"
            (release.files / name).write_text(bill(release, program))
