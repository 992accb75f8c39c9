#!/usr/bin/env python3
"""Counts phrases in comments and docstrings that need a second reading: their numbers may only fall.

Usage: scripts/check_english.py [--list [AREA...]] [--mend] [--write]

An area is a crate (`crates/proto`) or another folder with Rust or Python files (`gst`, `papers`). `--list`
prints each place. Without options each area and phrase is compared with its ceiling in scripts/english.toml:
a higher number is an offence, a lower one asks for `--write`, which lowers the ceilings. An area without an
entry has the ceiling 0. Rust functions without an empty line before them count as a phrase; `--mend` inserts
the lines.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CEILINGS = "scripts/english.toml"
COLUMNS = 110
FOLDERS = ("benches", "crates", "examples", "fuzz", "gst", "interop", "papers", "python", "scripts", "site")
# Folders that tools write.
BUILT = {"target", "__pycache__", "node_modules"}
PHRASES: dict[str, re.Pattern[str]] = {
    # The subject is in another line or sentence.
    "pronoun": re.compile(r"^(It|They|That|Those)\b(?! is why)"),
    # Repeat the noun, or use a possessive.
    "that-of": re.compile(r"\b(that|those) of\b", re.IGNORECASE),
    # "next to", "with", "in addition to".
    "beside": re.compile(r"\bbeside\b", re.IGNORECASE),
    # "has ended", "has passed".
    "is-over": re.compile(r"\b(is|are|was|were) over\b"),
    # "any", "the ... that".
    "whatever": re.compile(r"\b(whatever|whichever)\b", re.IGNORECASE),
    # A noun: "Fate of a packet" for "What becomes of a packet", "If" for "Where". A question is none.
    "clause": re.compile(r"^(What|How|Whether|Where|Who|Whose|Which|Why)\b(?!.*\?)"),
    "long": re.compile(rf"^.{{{COLUMNS + 1}}}"),
}
# Phrases counted only at the beginning of a paragraph.
AT_BEGIN = {"clause"}
COMMENT = re.compile(r"^\s*//[/!]?\s?(.*)$")
QUOTES = re.compile(r'^[rR]?"""|"""$')
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


def sources(root: Path) -> Iterator[tuple[str, Path]]:
    """Area and path of each Rust and Python file."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            if path.suffix in {".rs", ".py"} and not BUILT.intersection(parts):
                yield "/".join(parts[:2]) if folder == "crates" else folder, path


def mend(root: Path) -> None:
    """Inserts the empty lines, except in files that would become too long."""
    for _, path in sources(root):
        lines = path.read_text(encoding="utf-8").splitlines()
        wanted = set(gaps(lines)) if path.suffix == ".rs" else set()
        if wanted and len(lines) + len(wanted) <= LONGEST_FILE:
            spaced = ("\n" * (index in wanted) + line + "\n" for index, line in enumerate(lines))
            path.write_text("".join(spaced), encoding="utf-8")


def rust_comments(lines: list[str]) -> dict[int, str]:
    """Line number and text of the comments that have a line of their own."""
    matches = ((number, COMMENT.match(line)) for number, line in enumerate(lines, 1))
    return {number: match[1].strip() for number, match in matches if match}


def python_comments(text: str) -> dict[int, str]:
    """Line number and text of the comments and the lines of docstrings."""
    lines = text.splitlines()
    found = {
        token.start[0]: token.string.lstrip("#!").strip()
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }
    for node in ast.walk(ast.parse(text)):
        # Docstrings, and the strings that explain the constant above them.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found[number] = QUOTES.sub("", lines[number - 1].strip()).strip()
    return found


def subject(phrase: str, line: str, comment: str) -> str:
    """The text in which a phrase is searched: a long line of code with a comment at its end is code."""
    if phrase != "long":
        return comment
    return line if line.lstrip().startswith(("/", "#", '"', *comment[:1])) else ""


def places(root: Path) -> Iterator[tuple[str, str, Path, int, str]]:
    """Area, phrase, file, line number and text of each place."""
    for area, path in sources(root):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        rust = path.suffix == ".rs"
        for index in gaps(lines) if rust else ():
            yield area, GAP, path, index + 1, lines[index].strip()
        comments = rust_comments(lines) if rust else python_comments(text)
        for number, comment in sorted(comments.items()):
            for phrase, pattern in PHRASES.items():
                if phrase in AT_BEGIN and comments.get(number - 1):
                    continue
                if pattern.search(subject(phrase, lines[number - 1], comment)):
                    yield area, phrase, path, number, comment


def ceilings(root: Path) -> dict[str, dict[str, int]]:
    """The ceilings by area and phrase; none without the file."""
    path = root / CEILINGS
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def written(counts: Counter[tuple[str, str]]) -> str:
    """The file of ceilings for the given numbers."""
    areas: dict[str, dict[str, int]] = {}
    for (area, phrase), number in sorted(counts.items()):
        areas.setdefault(area, {})[phrase] = number
    lines = ["# How often a phrase may occur in an area's comments: scripts/check_english.py. Only lower."]
    for area, phrases in areas.items():
        listed = ", ".join(f"{phrase} = {number}" for phrase, number in phrases.items())
        lines.append(f'"{area}" = {{ {listed} }}')
    return "\n".join(lines) + "\n"


def offences(counts: Counter[tuple[str, str]], allowed: dict[str, dict[str, int]]) -> Iterator[str]:
    """Numbers above their ceilings."""
    for (area, phrase), number in sorted(counts.items()):
        limit = allowed.get(area, {}).get(phrase, 0)
        if number > limit:
            yield f"{area}: {number} times {phrase!r}, ceiling {limit}"


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", nargs="*", metavar="AREA", help="print the places, of these areas")
    parser.add_argument("--mend", action="store_true", help="insert empty lines between functions")
    parser.add_argument("--write", action="store_true", help="lower the ceilings to the present numbers")
    given = parser.parse_args(arguments)
    if given.mend:
        mend(root)
    found = list(places(root))
    if given.list is not None:
        for area, phrase, path, number, text in found:
            if not given.list or area in given.list:
                print(f"{path.relative_to(root)}:{number}: {phrase}: {text}")
        return 0
    counts = Counter((area, phrase) for area, phrase, *_ in found)
    allowed = ceilings(root)
    high = list(offences(counts, allowed)) if allowed or not given.write else []
    for offence in high:
        print(offence, file=sys.stderr)
    if high:
        print("english: rewrite them; `scripts/check_english.py --list AREA` has the places", file=sys.stderr)
        return 1
    if given.write:
        (root / CEILINGS).write_text(written(counts), encoding="utf-8")
    elif any(counts[area, phrase] < limit for area in allowed for phrase, limit in allowed[area].items()):
        print("english: fewer than the ceilings: scripts/check_english.py --write")
    print(f"english: ok, {sum(counts.values())} places left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
