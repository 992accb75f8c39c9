"""Kinds of a paper's claims, by their verdicts under the consistent sets of its open choices.

A paper with such sets keeps the verdicts in `papers/KEY/sets.csv`. Between two marks, its README.md has the
number of claims by set, and the claims by kind. `write` writes both.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from whimbrel._base import documents
from whimbrel._reproduce.claims import FAILS, HOLDS, UNDECIDED, Verdicts

FILE = "sets.csv"
KINDS: Mapping[str, str] = {
    "every": "hold under every set",
    "first": "hold under the first set, not under every one",
    "other": "hold under another set only: the text cannot decide them",
    "undecided": "undecided under the first set, hold under none",
    "none": "hold under no set",
}
_BLOCK = re.compile(r"<!-- sets -->\n.*?<!-- end of sets -->", re.DOTALL)


def kind(found: Mapping[str, str]) -> str:
    """The kind of a claim: a key of `KINDS`.

    Args:
        found: its verdicts; the first holds for all other items.
    """
    first = next(iter(found.values()))
    if first == HOLDS:
        return "every" if set(found.values()) == {HOLDS} else "first"
    if HOLDS in found.values():
        return "other"
    return "undecided" if first == UNDECIDED else "none"


def table(verdicts: Verdicts) -> str:
    """Both tables in Markdown."""
    names = list(next(iter(verdicts.values())))
    lines = ["| set of the open choices | hold | do not | undecided |", "|---|---|---|---|"]
    for name in names:
        count = Counter(found[name] for found in verdicts.values())
        lines.append(f"| `{name}` | {count[HOLDS]} | {count[FAILS]} | {count[UNDECIDED]} |")
    lines += ["", f"| of {len(verdicts)} claims of the paper | |", "|---|---|"]
    for key, words in KINDS.items():
        claims = [f"`{claim}`" for claim, found in verdicts.items() if kind(found) == key]
        if claims:
            lines.append(f"| {len(claims)} {words} | {', '.join(claims)} |")
    return "\n".join(lines)


def filled(page: str, verdicts: Verdicts) -> str:
    """The page with the tables between the marks."""
    return _BLOCK.sub(lambda _: f"<!-- sets -->\n{table(verdicts)}\n<!-- end of sets -->", page)


def read(directory: Path) -> Verdicts:
    """The recorded verdicts of a paper; empty without a file.

    Args:
        directory: of the paper.
    """
    path = directory / FILE
    if not path.is_file():
        return {}
    return {line.pop("claim"): line for line in map(dict, documents.CsvFile(path))}


def write(directory: Path, verdicts: Verdicts) -> None:
    """Writes the verdicts of a paper and the tables of its README.md.

    Args:
        directory: of the paper.
        verdicts: the verdicts of the items without a set come first.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["claim", *next(iter(verdicts.values()))])
    writer.writerows([claim, *found.values()] for claim, found in verdicts.items())
    (directory / FILE).write_text(text.getvalue(), encoding="utf-8", newline="\n")
    page = directory / "README.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), verdicts), encoding="utf-8", newline="\n")


def side_by_side(both: Verdicts) -> str:
    """Count of claims that hold under each reading, and the claims whose verdicts differ."""
    every = list(next(iter(both.values()), {}))
    lines = [f"{len(both)} claims under {len(every)} sets of the open choices"]
    for name in every:
        count = Counter(found[name] for found in both.values())
        lines.append(f"{name:>25}: " + ", ".join(f"{count[word]} {word}" for word in sorted(count)))
    different = {key: found for key, found in both.items() if len(set(found.values())) > 1}
    width = max(map(len, different), default=0)
    lines += [f"{key:<{width}}  " + ", ".join(f"{n}: {f[n]}" for n in every) for key, f in different.items()]
    return "\n".join(lines)


def show(directory: Path, verdicts: Verdicts, *, record: bool) -> None:
    """Prints the verdicts under each set, and records them if asked to.

    Args:
        directory: of the paper.
        verdicts: the verdicts of the items without a set come first.
        record: write `sets.csv` and the tables of README.md.
    """
    print(side_by_side(verdicts))
    if record:
        write(directory, verdicts)
