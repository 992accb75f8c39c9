#!/usr/bin/env python3
"""Checks compliance/*.toml against the source and counts it. scripts/build_site.py makes a page of it.

Usage: scripts/compliance.py [--fix] [--allow-open] [--json]

Every entry of a file is one requirement of that RFC in our own words, with the function that implements it
and the test that would fail without it, or with the reason why it is not implemented (`excepted`). A
requirement that is met, but not to the letter, also describes the difference (`deviation`). Reasons are
checked, too: the code that they name must exist, and code that would make them stale (`until`, the path of an
item) must not. Names are Rust paths (`whimbrel_proto::connection::sequence::SequenceNumbers::is_valid`), with
a file for integration tests (`whimbrel_proto/tests/ccid2.rs::name`) and for Python
(`python/tests/test_x.py::name`). They are looked up in the source, so an entry cannot outlive its code;
`--fix` updates names that have moved to one new place.

During development, `missing = true` marks requirements still to be implemented and "TODO" a test to be
written. Both are offences, unless `--allow-open` is given.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from rust_paths import Source

ROOT = Path(__file__).resolve().parent.parent
LEVELS = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT")
STATES = ("met", "deviates", "excepted", "open")
TITLES = {
    "rfc4340": "DCCP",
    "rfc4341": "CCID 2, TCP-like congestion control",
    "rfc4342": "CCID 3, TCP-friendly rate control",
    "rfc4828": "TFRC for small packets",
    "rfc5238": "DTLS over DCCP",
    "rfc5348": "TFRC",
    "rfc5595": "Service Codes",
    "rfc5596": "Listen packets, for opening through middleboxes",
    "rfc5622": "CCID 4, TFRC for small packets",
    "rfc6323": "the sender's round-trip time, reported to the receiver",
    "rfc6773": "DCCP over UDP",
    "rfc8899": "packet size discovery by probes",
    "rfc9897": "multipath DCCP",
    "rfc9959": "Careful Resume",
}
KEYS = {"section", "level", "text", "function", "test", "deviation", "excepted", "until", "missing"}
# A path of this project in a reason.
NAMED = re.compile(r"`(whimbrel_[a-z]+(?:::\w+)+)`")
TO_DO = "TODO"


@dataclass(frozen=True)
class Requirement:
    """One entry of a file, as written there."""

    rfc: str
    section: str
    level: str
    text: str
    functions: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    deviation: str = ""
    excepted: str = ""
    until: tuple[str, ...] = ()
    state: str = "met"

    def name(self) -> str:
        """The name used in messages."""
        return f"compliance/{self.rfc}.toml, {self.section}, {self.text[:60]!r}"


@dataclass
class Compliance:
    """All entries, and all offences."""

    requirements: list[Requirement] = field(default_factory=list)
    offences: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)

    def counts(self) -> dict[str, Counter[tuple[str, str]]]:
        """For each RFC: how many entries there are of each (level, state)."""
        found: dict[str, Counter[tuple[str, str]]] = {}
        for one in self.requirements:
            found.setdefault(one.rfc, Counter())[one.level, one.state] += 1
        return found


def names(value: object) -> tuple[str, ...] | None:
    """A name or a list of names; None for anything else."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(name, str) and name.strip() for name in listed):
        return None
    return tuple(listed)


def malformed(entry: dict[str, object]) -> Iterator[str]:
    """Errors in the form of an entry."""
    for key in sorted(entry.keys() - KEYS):
        yield f"unknown key {key!r}: expected {', '.join(sorted(KEYS - {'missing'}))}"
    for key in ("section", "text"):
        if not isinstance(entry.get(key), str) or not str(entry[key]).strip():
            yield f"{key} must be a text that is not empty"
    if entry.get("level") not in LEVELS:
        yield f"level {entry.get('level')!r}: expected one of {', '.join(LEVELS)}"
    if "missing" in entry:
        return
    if "excepted" in entry:
        if not isinstance(entry["excepted"], str) or not entry["excepted"].strip():
            yield "excepted must give the reason"
        if entry.keys() & {"function", "test", "deviation"}:
            yield "both met (function, test) and excepted"
        if "until" in entry and not names(entry["until"]):
            yield "until must be a path or a list of paths"
        return
    if "until" in entry:
        yield "until belongs to what is excepted"
    if "deviation" in entry and not str(entry["deviation"]).strip():
        yield "deviation must describe the difference"
    for key in ("function", "test"):
        if key not in entry:
            yield f"no {key}, and not excepted"
        elif not names(entry[key]):
            yield f"{key} must be a path or a list of paths"


def state(entry: dict[str, object]) -> str:
    """The one of the STATES that a well-formed entry is in."""
    if "excepted" in entry:
        return "excepted"
    named = [*(names(entry.get("function", [])) or ()), *(names(entry.get("test", [])) or ())]
    if "missing" in entry or TO_DO in named:
        return "open"
    return "deviates" if "deviation" in entry else "met"


def stale(one: Requirement, source: Source) -> Iterator[str]:
    """Errors in the reason for an exception or a deviation."""
    for path in NAMED.findall(f"{one.excepted} {one.deviation}"):
        if reason := source.missing_item(path):
            yield f"the reason names {path}: {reason}"
    for path in one.until:
        if source.missing_item(path) is None:
            yield f"excepted until {path} exists, which it does"


def read(root: Path) -> Compliance:
    """Reads and checks all files below `root`."""
    found = Compliance()
    source = Source(root)
    seen: set[tuple[str, str, str]] = set()
    files = sorted((root / "compliance").glob("*.toml"))
    for rfc in sorted(TITLES.keys() - {file.stem for file in files}):
        found.offences.append(f"compliance/{rfc}.toml: missing")
    for file in files:
        where = f"compliance/{file.name}"
        if file.stem not in TITLES:
            found.offences.append(f"{where}: expected one of {', '.join(sorted(TITLES))}")
            continue
        try:
            document = tomllib.loads(file.read_text())
        except tomllib.TOMLDecodeError as error:
            found.offences.append(f"{where}: {error}")
            continue
        for key in sorted(document.keys() - {"requirement"}):
            found.offences.append(f"{where}: unknown table {key!r}: expected [[requirement]]")
        for number, entry in enumerate(document.get("requirement", []), 1):
            wrong = list(malformed(entry))
            if wrong:
                label = f"{where}: entry {number} ({entry.get('section')}, {str(entry.get('text'))[:50]!r})"
                found.offences += [f"{label}: {reason}" for reason in wrong]
                continue
            one = Requirement(
                rfc=file.stem,
                section=entry["section"],
                level=entry["level"],
                text=" ".join(entry["text"].split()),
                functions=names(entry.get("function", [])) or (),
                tests=names(entry.get("test", [])) or (),
                deviation=" ".join(entry.get("deviation", "").split()),
                excepted=" ".join(entry.get("excepted", "").split()),
                until=names(entry.get("until", [])) or (),
                state=state(entry),
            )
            entered = (one.rfc, one.section, one.text)
            if entered in seen:
                found.offences.append(f"{one.name()}: twice")
            seen.add(entered)
            found.requirements.append(one)
            found.offences += [f"{one.name()}: {reason}" for reason in stale(one, source)]
            if "missing" in entry:
                found.open.append(f"{one.name()}: not done yet")
            for kind, paths, missing in (
                ("function", one.functions, source.missing_item),
                ("test", one.tests, source.missing_test),
            ):
                for path in paths:
                    if path == TO_DO:
                        found.open.append(f"{one.name()}: {kind} still to be written")
                    elif reason := missing(path):
                        moved = source.candidates(path)
                        hint = f" (now {' or '.join(moved[:3])}?)" if moved else ""
                        found.offences.append(f"{one.name()}: {kind} {path}: {reason}{hint}")
                        if len(moved) == 1:
                            found.moved[path] = moved[0]
    return found


def fix(root: Path, moved: dict[str, str]) -> None:
    """Writes the new places of moved names."""
    for file in sorted((root / "compliance").glob("*.toml")):
        text = file.read_text()
        for old, new in moved.items():
            text = text.replace(f'"{old}"', f'"{new}"')
        file.write_text(text)


def section_key(section: str) -> list[tuple[int, str]]:
    """Sorts "9.2" before "10.1", and appendices last."""
    return [(int(part), "") if part.isdigit() else (10**6, part) for part in section.split(".")]


def rows(found: Compliance) -> list[list[str]]:
    """One row for each RFC and one for all: numbers of met and unmet requirements of each level."""

    def row(title: str, count: Counter[tuple[str, str]]) -> list[str]:
        def cell(levels: tuple[str, ...]) -> str:
            total = sum(count[level, state] for level in levels for state in STATES)
            done = sum(count[level, state] for level in levels for state in STATES[:2])
            return f"{done}/{total}" if total else "-"

        others = [str(sum(count[level, state] for level in LEVELS)) for state in STATES[1:]]
        return [title, *(cell((level,)) for level in LEVELS), cell(LEVELS), *others]

    counts = found.counts()
    table = [row(f"RFC {rfc.removeprefix('rfc')}", counts[rfc]) for rfc in sorted(counts)]
    return [*table, row("all", sum(counts.values(), Counter()))]


HEADINGS = ["met", *LEVELS, "all", "with a deviation", "excepted", "open"]


def escape(text: str) -> str:
    return text.replace("|", "\\|")


def code(paths: tuple[str, ...]) -> str:
    return "<br>".join(f"`{path}`" for path in paths)


def page(found: Compliance) -> str:
    """The page of the documentation site."""
    lines = [
        "# RFC requirements",
        "",
        "```sh",
        "make compliance   # checks compliance/*.toml, of which this page is made, against the source",
        "```",
        "",
        "Each requirement of the RFCs is listed in our own words, with the code that implements it and the",
        "test that would fail without it, or with the reason why it is not implemented. A requirement met,",
        "but not to the letter, counts as met and is listed with the difference.",
        "",
        "|" + " | ".join(HEADINGS) + "|",
        "|---|" + "--:|" * (len(HEADINGS) - 1),
        *("|" + "|".join(row) + "|" for row in rows(found)),
        "",
    ]
    for rfc in sorted({one.rfc for one in found.requirements}):
        of_rfc = [one for one in found.requirements if one.rfc == rfc]
        of_rfc.sort(key=lambda one: (section_key(one.section), LEVELS.index(one.level), one.text))
        lines += [f"## RFC {rfc.removeprefix('rfc')}: {TITLES[rfc]}", ""]
        excepted = [one for one in of_rfc if one.excepted]
        if excepted:
            lines += ["Not done:", "", "|section|level|requirement|why not|", "|---|---|---|---|"]
            lines += [
                f"|{one.section}|{one.level}|{escape(one.text)}|{escape(one.excepted)}|" for one in excepted
            ]
            lines.append("")
        open_ones = [one for one in of_rfc if one.state == "open"]
        if open_ones:
            lines += ["To do, or without a test:", "", "|section|level|requirement|", "|---|---|---|"]
            lines += [f"|{one.section}|{one.level}|{escape(one.text)}|" for one in open_ones]
            lines.append("")
        if deviating := [one for one in of_rfc if one.state == "deviates"]:
            head = "|section|level|requirement|but|done by|shown by|"
            lines += ["Met, with a deviation:", "", head, "|---|---|---|---|---|---|"]
            lines += [
                f"|{one.section}|{one.level}|{escape(one.text)}|{escape(one.deviation)}"
                f"|{code(one.functions)}|{code(one.tests)}|"
                for one in deviating
            ]
            lines.append("")
        met = [one for one in of_rfc if one.state == "met"]
        if met:
            lines += ["|section|level|requirement|done by|shown by|", "|---|---|---|---|---|"]
            lines += [
                f"|{one.section}|{one.level}|{escape(one.text)}|{code(one.functions)}|{code(one.tests)}|"
                for one in met
            ]
            lines.append("")
    return "\n".join(lines)


def print_table(found: Compliance) -> None:
    """The counts, printed by rich if it is installed."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        for row in [HEADINGS, *rows(found)]:
            print(f"{row[0]:<10}" + "".join(f"{cell:>12}" for cell in row[1:]))
        return
    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == HEADINGS[0] else "right", no_wrap=True)
    for row in rows(found):
        table.add_row(*row)
    Console().print(table)


def as_json(found: Compliance) -> str:
    counts = {
        rfc: {
            level: {state: count[level, state] for state in STATES}
            for level in LEVELS
            if any(count[level, state] for state in STATES)
        }
        for rfc, count in sorted(found.counts().items())
    }
    requirements = [asdict(one) for one in found.requirements]
    return json.dumps(
        {"counts": counts, "offences": found.offences, "open": found.open, "requirements": requirements},
        indent=2,
    )


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="update names that have moved to one new place")
    parser.add_argument("--allow-open", action="store_true", help="accept open requirements")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    options = parser.parse_args(arguments)
    found = read(root)
    if options.fix:
        fix(root, found.moved)
        found = read(root)
    if not options.allow_open:
        found.offences += found.open
    if options.json:
        print(as_json(found))
    else:
        print_table(found)
    for offence in found.offences:
        print(offence, file=sys.stderr)
    if not options.json:
        still = f", {len(found.open)} still to be done" if found.open else ""
        print(f"compliance: {f'{len(found.offences)} offence(s)' if found.offences else 'ok'}{still}")
    return 1 if found.offences else 0


if __name__ == "__main__":
    sys.exit(main())
