#!/usr/bin/env python3
"""Counts phrases in the comments of the crates that need a second reading: their numbers may only fall.

Usage: scripts/check_english.py [--list [CRATE...]] [--mend] [--write]

`--list` prints each place. Without options each crate and phrase is compared with its ceiling in
scripts/english.toml: a higher number is an offence, a lower one asks for `--write`, which lowers the
ceilings. A new crate has the ceiling 0. Functions without an empty line before them count as a phrase;
`--mend` inserts the lines.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CEILINGS = "scripts/english.toml"
COLUMNS = 110
PHRASES: dict[str, re.Pattern[str]] = {
    # The subject is in another line or sentence.
    "pronoun": re.compile(r"^(It|They|That|Those)\b(?! is why)"),
    # Repeat the noun, or use a possessive.
    "that-of": re.compile(r"\b(that|those) of\b"),
    # "next to", "with", "in addition to".
    "beside": re.compile(r"\bbeside\b"),
    # "has ended", "has passed".
    "is-over": re.compile(r"\b(is|are|was|were) over\b"),
    # "any", "the ... that".
    "whatever": re.compile(r"\b(whatever|whichever)\b"),
    # A noun: "Fate of a packet" for "What becomes of a packet", "If" for "Where". A question is none.
    "clause": re.compile(r"^(What|How|Whether|Where|Who|Whose|Which|Why)\b(?!.*\?)"),
    "long": re.compile(rf"^.{{{COLUMNS + 1}}}"),
}
# Phrases counted only at the beginning of a paragraph.
AT_BEGIN = {"clause"}
COMMENT = re.compile(r"^\s*//[/!]?\s?(.*)$")
# A function after a block of the same indentation, without an empty line between them.
GAP = "gap"
END = re.compile(r"^( *)\}$")
FUNCTION = re.compile(r"^ *(pub(\([a-z: ]+\))? )?((const|async|unsafe|extern \"C\") )*fn ")
# Files have no more lines (check_layout.py), which `--mend` respects.
LONGEST_FILE = 500


def gaps(lines: list[str]) -> Iterator[int]:
    """Indices of the lines that want an empty line before them."""
    for index, (before, line) in enumerate(pairwise(lines), 1):
        if not line.strip() or (end := END.match(before)) is None:
            continue
        heads = (rf"^{end[1]}(//|#\[)", rf"^{end[1]}\S")
        rest = (line for line in lines[index:] if not re.match(heads[0], line))
        if re.match(heads[1], first := next(rest, "")) and FUNCTION.match(first):
            yield index


def mend(root: Path) -> None:
    """Inserts the empty lines, except in files that would become too long."""
    for path in sorted((root / "crates").glob("*/**/*.rs")):
        lines = path.read_text(encoding="utf-8").splitlines()
        wanted = set(gaps(lines))
        if wanted and len(lines) + len(wanted) <= LONGEST_FILE:
            spaced = ("\n" * (index in wanted) + line + "\n" for index, line in enumerate(lines))
            path.write_text("".join(spaced), encoding="utf-8")


def places(root: Path) -> Iterator[tuple[str, str, Path, int, str]]:
    """Crate, phrase, file, line number and text of each place."""
    for path in sorted((root / "crates").glob("*/**/*.rs")):
        crate = path.relative_to(root / "crates").parts[0]
        begins = True
        lines = path.read_text(encoding="utf-8").splitlines()
        for index in gaps(lines):
            yield crate, GAP, path, index + 1, lines[index].strip()
        for number, line in enumerate(lines, 1):
            begun, begins = begins, True
            if (comment := COMMENT.match(line)) is None:
                continue
            begins = not comment[1].strip()
            for phrase, pattern in PHRASES.items():
                if phrase in AT_BEGIN and not begun:
                    continue
                if pattern.search(line if phrase == "long" else comment[1].strip()):
                    yield crate, phrase, path, number, comment[1].strip()


def ceilings(root: Path) -> dict[str, dict[str, int]]:
    """The ceilings by crate and phrase; none without the file."""
    path = root / CEILINGS
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def written(counts: Counter[tuple[str, str]]) -> str:
    """The file of ceilings for the given numbers."""
    crates: dict[str, dict[str, int]] = {}
    for (crate, phrase), number in sorted(counts.items()):
        crates.setdefault(crate, {})[phrase] = number
    lines = ["# How often a phrase may occur in a crate's comments: scripts/check_english.py. Only lower."]
    for crate, phrases in crates.items():
        listed = ", ".join(f"{phrase} = {number}" for phrase, number in phrases.items())
        lines.append(f"{crate} = {{ {listed} }}")
    return "\n".join(lines) + "\n"


def offences(counts: Counter[tuple[str, str]], allowed: dict[str, dict[str, int]]) -> Iterator[str]:
    """Numbers above their ceilings."""
    for (crate, phrase), number in sorted(counts.items()):
        limit = allowed.get(crate, {}).get(phrase, 0)
        if number > limit:
            yield f"crates/{crate}: {number} times {phrase!r}, ceiling {limit}"


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", nargs="*", metavar="CRATE", help="print the places, of these crates")
    parser.add_argument("--mend", action="store_true", help="insert empty lines between functions")
    parser.add_argument("--write", action="store_true", help="lower the ceilings to the present numbers")
    given = parser.parse_args(arguments)
    if given.mend:
        mend(root)
    found = list(places(root))
    if given.list is not None:
        for crate, phrase, path, number, text in found:
            if not given.list or crate in given.list:
                print(f"{path.relative_to(root)}:{number}: {phrase}: {text}")
        return 0
    counts = Counter((crate, phrase) for crate, phrase, *_ in found)
    allowed = ceilings(root)
    high = list(offences(counts, allowed)) if allowed or not given.write else []
    for offence in high:
        print(offence, file=sys.stderr)
    if high:
        print(
            "english: rewrite them; `scripts/check_english.py --list CRATE` has the places", file=sys.stderr
        )
        return 1
    if given.write:
        (root / CEILINGS).write_text(written(counts), encoding="utf-8")
    elif any(counts[crate, phrase] < limit for crate in allowed for phrase, limit in allowed[crate].items()):
        print("english: fewer than the ceilings: scripts/check_english.py --write")
    print(f"english: ok, {sum(counts.values())} places left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
