#!/usr/bin/env python3
"""Checks the architecture: dependency direction, file sizes, access to clocks, unsafe code.

Usage: scripts/check_layout.py        (from the repository's root; exits 1 and names each offence)
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# crate -> crates of the workspace that it may name under [dependencies]
MAY_DEPEND_ON: dict[str, set[str]] = {
    "units": set(),
    "wire": {"units"},
    "control": {"units"},
    "proto": {"units", "wire", "control", "repair"},
    "rtp": {"units"},
    "repair": {"units"},
    "wifi": {"units"},
    "wifi-validation": {"units", "wifi"},
    "cell": {"units"},
    "netsim": {"units", "wifi", "cell"},
    "scenario": {"units", "control", "wifi", "cell", "netsim", "inspect"},
    "lab": {"units", "wire", "control", "proto", "dtls", "wifi", "cell", "netsim", "scenario"},
    "faults": {"units", "wire", "proto", "netsim"},
    "dtls": {"units", "wire", "proto"},
    "net": {"units", "wire", "proto", "dtls"},
    "emu": {"units", "lab"},
    "live": {"units", "inspect", "lab"},
    "playground": {"units", "lab", "live"},
    "relay": {"units", "rtp", "net", "live"},
    "measure": {"units", "control", "inspect", "lab", "net", "relay", "live"},
    "inspect": {"units", "wire", "control", "repair", "wifi"},
    "fuzzing": {"units", "wire", "proto", "rtp", "wifi", "inspect", "dtls", "lab", "emu", "repair"},
    "capi": {"net"},
    "cli": {
        "units",
        "wire",
        "control",
        "proto",
        "lab",
        "net",
        "emu",
        "inspect",
        "rtp",
        "relay",
        "measure",
        "live",
    },
    "python": {"units", "control", "lab", "net", "cli"},
}
SANS_IO = ("units", "wire", "control", "proto", "rtp", "repair", "wifi", "cell", "netsim")
# Clocks, sleeping, files and sockets are forbidden in the sans-IO crates.
FORBIDDEN_IN_SANS_IO = re.compile(
    r"\bstd::(time|net|fs|io|thread|process|env)\b|\brand::(rng|random|thread_rng)\b|\bOsRng\b"
)
# `dtls` reads the date for certificates, and makes a library's instants from ours.
CLOCK_FILES = {
    *("crates/net/src/clock.rs", "crates/emu/src/clock.rs", "crates/dtls/src/clock.rs"),
    "crates/relay/src/whep/clock.rs",
}
CLOCK = re.compile(
    r"std::time::(Instant|SystemTime)|clock_gettime|\bClockId|CLOCK_MONOTONIC|tokio::time::Instant"
)
UNSAFE_CRATES = {"net", "emu", "python", "capi"}
# Crates that may link the second implementation of signatures, whose results can be repeated.
REPEATABLE_SIGNATURES = {"lab", "fuzzing"}
RUST_LINES = 500
PYTHON_LINES = 500


def dependencies(manifest: Path) -> set[str]:
    table = tomllib.loads(manifest.read_text()).get("dependencies", {})
    return {name.removeprefix("whimbrel-") for name in table if name.startswith("whimbrel-")}


def code_lines(text: str) -> list[tuple[int, str]]:
    return [(n, line) for n, line in enumerate(text.splitlines(), 1) if not line.lstrip().startswith("//")]


def tests_left_out() -> list[str]:
    """Files of tests that no test program contains: a crate with `tests/all.rs` does not find them itself."""
    found = []
    for root in sorted(ROOT.glob("crates/*/tests/all.rs")):
        modules = set(re.findall(r"^mod (\w+);$", root.read_text(), re.MULTILINE))
        manifest = tomllib.loads((root.parent.parent / "Cargo.toml").read_text())
        programs = {test["name"] for test in manifest.get("test", [])}
        for path in sorted(root.parent.glob("*.rs")):
            if path.stem not in modules | programs:
                name = path.relative_to(ROOT).as_posix()
                found.append(f"{name}: not in all.rs, so that its tests never run")
    return found


def offences() -> list[str]:
    found = tests_left_out()
    for manifest in sorted(ROOT.glob("crates/*/Cargo.toml")):
        crate = manifest.parent.name
        if crate not in MAY_DEPEND_ON:
            found.append(
                f"crates/{crate}: not in the list of crates (scripts/check_layout.py, docs/architecture.md)"
            )
            continue
        dtls = tomllib.loads(manifest.read_text()).get("dependencies", {}).get("whimbrel-dtls", {})
        if "simulation" in dtls.get("features", []) and crate not in REPEATABLE_SIGNATURES:
            found.append(f"crates/{crate}/Cargo.toml: the feature simulation links a second cryptography")
        for other in sorted(dependencies(manifest) - MAY_DEPEND_ON[crate]):
            found.append(f"crates/{crate}/Cargo.toml: must not depend on {other}")
    for path in sorted(ROOT.glob("crates/**/*.rs")):
        name = path.relative_to(ROOT).as_posix()
        crate = name.split("/")[1]
        text = path.read_text()
        lines = text.count("\n")
        if lines > RUST_LINES:
            found.append(f"{name}: {lines} lines (limit {RUST_LINES}): split the file")
        if path.name == "mod.rs":
            found.append(f"{name}: name the module's file after the module")
        is_test = "/tests" in name or "/benches/" in name or "/examples/" in name or name.endswith("tests.rs")
        for number, line in code_lines(text):
            if crate in SANS_IO and not is_test and FORBIDDEN_IN_SANS_IO.search(line):
                found.append(f"{name}:{number}: I/O, clocks and entropy are the driver's: {line.strip()}")
            if name not in CLOCK_FILES and not is_test and CLOCK.search(line):
                found.append(f"{name}:{number}: only clock.rs reads a clock: {line.strip()}")
            if crate not in UNSAFE_CRATES and re.search(r"\bunsafe\s*(\{|fn|impl)", line):
                found.append(f"{name}:{number}: unsafe code belongs to net, emu, python or capi")
    for path in sorted(
        [
            *ROOT.glob("python/**/*.py"),
            *ROOT.glob("papers/**/*.py"),
            *ROOT.glob("examples/**/*.py"),
            *ROOT.glob("interop/**/*.py"),
        ]
    ):
        lines = path.read_text().count("\n")
        if lines > PYTHON_LINES:
            found.append(f"{path.relative_to(ROOT).as_posix()}: {lines} lines (limit {PYTHON_LINES})")
    return found


def main() -> int:
    found = offences()
    for offence in found:
        print(offence, file=sys.stderr)
    print(f"layout: {'ok' if not found else f'{len(found)} offence(s)'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
