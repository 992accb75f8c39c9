#!/usr/bin/env python3
"""Checks compliance/authority/surfaces.toml against the source. The site has a page of it.

Usage: scripts/authority.py

A surface is a place where a stranger's bytes enter, or are shown: a listener, a reader of files, a page, a
document for a browser, a program inside an emulation. For each actor and each effect that this actor could
have, a row names the bound and the test that plays the attacker, which must exist, or the reason why there is
none (`none`). All files of the source that open a listener or read a file must belong to a surface: a new one
without rows is an offence, as is a surface without a row for an actor of its kind.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from rust_paths import Source, blank

ROOT = Path(__file__).resolve().parent.parent
ACTORS = {
    "unproven address": "anyone who can send a datagram, with a forged source address",
    "proven address": "a host that has answered at its address, without a key",
    "authenticated peer": "the other end, with a key that is trusted",
    "author of a file": "who made a file that the user opens",
    "program inside an emulation": "a program that the user runs in an emulated network",
    "reader of a page": "a web site in the browser of someone who can reach the page",
}
EFFECTS = (
    "bytes sent",
    "processor time",
    "memory",
    "places held",
    "characters printed",
    "files",
    "host state",
)
# The actors for whom each kind of surface must have at least one row.
KINDS = {
    "listener": ("unproven address", "proven address"),
    "client": ("proven address",),
    "reader": ("author of a file",),
    "page": ("proven address", "reader of a page"),
    "document": ("author of a file",),
    "program": ("program inside an emulation",),
    "system": (),
}
# Code by which a stranger's bytes enter. Tests are left out, as are comments and strings. A form that no code
# has any more stays: the next file may have it.
RUST = re.compile(
    r"\b(?:TcpListener|UdpSocket|TcpStream)::(?:bind|connect)\b|\bListener::(?:bind|bind_with|bind_host|from_std)\b|"
    r"\b(?:TcpSocket|Unix(?:Listener|Datagram))\b|\bUnixStream::connect\b|\bwhimbrel_relay::(?:listen|connect)\b|"
    r"\bOpenOptions\b|\bFile::options\b|\bReader::from_path\b|\bReaderBuilder\b|\bMmap\w*\b|"
    r"\bprocess::(?:Command\b|\{[^}]*\bCommand\b)|"
    r"\bSocket::(?:new|new_raw|connect|connect_with|connect_host)\b|\bHost::(?:udp|raw|raw_with|tun|tun_with)\b|\bFile::open\b|\bfs::read(?:_to_string)?\b|\bstdin\(\)|\bhttp1::Builder\b"
)
PYTHON = re.compile(
    r"\bsocket\.socket\(|\bcreate_(?:unix_)?server\(|\bstart_(?:unix_)?server\(|\bcreate_datagram_endpoint\(|"
    r"\b(?:Threading)?(?:HTTP|TCP|UDP)Server\b|\burlopen\(|\bHTTPS?Connection\(|"
    r"\bread_(?:text|bytes)\(|(?<![.\w])open\(|\.open\((?!\s*[\"'][wax])|\btomllib\.loads?\(|\bjson\.loads?\(|"
    r"\bcsv\.(?:reader|DictReader)\(|\bdocuments\.(?:read_json|read_toml|CsvFile)\(|\btexts\.(?:read|lines)\(|"
    r"\bnp\.(?:load|loadtxt|genfromtxt|fromfile|memmap)\(|\bmmap\.mmap\(|\bZipFile\(|\bpickle\b|\btarfile\b|"
    r"\bsubprocess\.(?:run|Popen|check_output|call)\(|\bcreate_subprocess_(?:exec|shell)\(|\bffmpeg\.run\("
)
# Documents for browsers: these are strings.
HTML = re.compile(r"<!doctype html|include_str!\([^)]*\.html\"", re.IGNORECASE)
HEAD = """\
# Who can make these programs do what

```sh
scripts/authority.py   # checks compliance/authority, of which this page is made, against the source
```

Keys protect what two ends say to each other. This is what others can cause, and at most how much of it:
strangers on the network, a peer without a key or with one, the author of a file that is opened, a program in
an emulation. Each limit has a test that plays the attacker.
"""


def entrances(root: Path) -> Iterator[str]:
    """The source files by which a stranger's bytes enter, or are shown."""
    crates = sorted((root / "crates").glob("*/src"))
    for source in [*crates, root / "gst" / "src"]:
        for file in sorted(source.rglob("*.rs")):
            if "tests" in file.parts or file.name == "tests.rs":
                continue
            # Inline tests follow the code.
            text = file.read_text()
            if RUST.search(blank(text).split("\nmod tests {")[0]) or HTML.search(text):
                yield str(file.relative_to(root))
    for file in sorted((root / "python" / "whimbrel").rglob("*.py")):
        text = file.read_text()
        if PYTHON.search(text) or HTML.search(text):
            yield str(file.relative_to(root))


def check(root: Path, document: dict[str, Any]) -> Iterator[str]:
    """All offences."""
    source = Source(root)
    surfaces = document.get("surface", [])
    covered: dict[str, str] = {}
    for surface in surfaces:
        name, kind = surface.get("name"), surface.get("kind")
        label = f"surface {name!r}"
        if kind not in KINDS:
            yield f"{label}: kind {kind!r}: expected one of {', '.join(KINDS)}"
            continue
        for key in sorted(surface.keys() - {"name", "kind", "files", "bound", "note"}):
            yield f"{label}: unknown key {key!r}"
        for file in surface.get("files", []):
            if file in covered:
                yield f"{label}: {file} belongs to {covered[file]!r} already"
            covered[file] = str(name)
            if not (root / file).is_file():
                yield f"{label}: {file} does not exist"
        rows = surface.get("bound", [])
        for actor in KINDS[kind]:
            if not any(row.get("actor") == actor for row in rows):
                yield f"{label}: no row for the actor {actor!r}"
        if kind == "system" and not str(surface.get("note", "")).strip():
            yield f"{label}: note must say why no stranger is concerned"
        for row in rows:
            where = f"{label}, {row.get('actor')} x {row.get('effect')}"
            if row.get("actor") not in ACTORS:
                yield f"{where}: actor: expected one of {', '.join(ACTORS)}"
            if row.get("effect") not in EFFECTS:
                yield f"{where}: effect: expected one of {', '.join(EFFECTS)}"
            if not str(row.get("limit", "")).strip():
                yield f"{where}: limit must say what bounds it"
            if ("test" in row) == ("none" in row):
                yield f"{where}: expected test, or none with the reason"
            tests = row.get("test", [])
            for path in [tests] if isinstance(tests, str) else tests:
                if reason := source.missing_test(path):
                    moved = source.candidates(path)
                    hint = f" (now {' or '.join(moved[:3])}?)" if moved else ""
                    yield f"{where}: test {path}: {reason}{hint}"
    found = set(entrances(root))
    for file in sorted(found - covered.keys()):
        yield f"{file} listens or reads, and belongs to no surface: who can do what through it?"
    for file in sorted(covered.keys() - found):
        if (root / file).is_file():
            yield f"surface {covered[file]!r}: {file} neither listens nor reads any more"


def page(document: dict[str, Any]) -> str:
    """The page of the documentation site."""
    lines = [HEAD]
    lines += ["| who | |", "|---|---|"]
    lines += [f"| {actor} | {text} |" for actor, text in ACTORS.items()]
    lines.append("")
    for surface in document.get("surface", []):
        rows = surface.get("bound", [])
        if not rows:
            continue
        lines += [f"### {surface['name'][0].upper()}{surface['name'][1:]}", ""]
        lines += ["| who | can cause | at most |", "|---|---|---|"]
        for row in sorted(
            rows, key=lambda row: (list(ACTORS).index(row["actor"]), EFFECTS.index(row["effect"]))
        ):
            untested = f" (not tested: {row['none']})" if "none" in row else ""
            text = " ".join(f"{row['limit']}{untested}".split()).replace("|", "\\|")
            lines.append(f"| {row['actor']} | {row['effect']} | {text} |")
        lines.append("")
    return "\n".join(lines)


def read(root: Path) -> dict[str, Any]:
    """The surfaces with their rows."""
    return tomllib.loads((root / "compliance" / "authority" / "surfaces.toml").read_text())


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.parse_args(arguments)
    offences = list(check(root, read(root)))
    for offence in offences:
        print(offence, file=sys.stderr)
    print(f"authority: {f'{len(offences)} offence(s)' if offences else 'ok'}")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
