#!/usr/bin/env python3
"""Applies small changes to the code and checks that a test fails for each.

Usage: scripts/mutants.py [--file TEXT] [--shard K/N] [--listed] [--list] [--timeout S] [--minutes M]

There are two kinds of mutants. The listed ones are in tests/mutants.toml: each is a change of one place that
once survived, with the tests that must fail for it. The generated ones change one operator or bound in a line
of `proto`, `control`, `repair`, `wifi`, `netsim` or `lab`. Each is applied to a copy of the tree below
target/mutants, in which the tests of its crate then run.

A mutant that survives is an offence, unless tests/mutants.toml explains under [[survivor]] why it has no
observable effect; so is an explanation of a mutant that no longer survives. There are thousands of generated
mutants, and each takes as long as its crate takes to build and to test: `--file` and `--shard` select some.
With `--minutes`, the selected files are taken one after the other, and the results of each are counted in
tests/lasting/mutants.json: commit it. A file that has not changed since it was counted is left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = Path("tests/mutants.toml")
COUNTS = Path("tests/lasting/mutants.json")
CRATES = ("proto", "control", "repair", "wifi", "netsim", "lab")
# Packages with most of their tests outside of the library.
TESTED_OUTSIDE = ("whimbrel-repair",)
# Operators and their replacements.
OPERATORS = {
    " < ": " <= ",
    " <= ": " < ",
    " > ": " >= ",
    " >= ": " > ",
    " == ": " != ",
    " != ": " == ",
    " && ": " || ",
    " || ": " && ",
    " + ": " - ",
    " - ": " + ",
    " += ": " -= ",
    " -= ": " += ",
    ".max(": ".min(",
    ".min(": ".max(",
    ".saturating_sub(": ".saturating_add(",
}
PLACES = re.compile("|".join(re.escape(operator) for operator in sorted(OPERATORS, key=len, reverse=True)))
# Lines in which these signs are not operators, or changes have no observable effect.
NO_CODE = re.compile(r"^\s*(//|#\[|use |pub use |impl|fn .*->|assert|debug_assert|where)|dyn | as &|: &'")
RESULT = {True: "dead", False: "SURVIVES", None: "does not build"}


@dataclass(frozen=True)
class Mutant:
    """One change. `line` is 0 if `old` occurs in one place of the file only."""

    file: str
    line: int
    old: str
    new: str
    tests: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """The crate whose tests should fail."""
        return f"whimbrel-{Path(self.file).parts[1]}"

    def name(self) -> str:
        """Name of the mutant in the results."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.old.strip()!r} -> {self.new.strip()!r}"

    def apply(self, text: str) -> str:
        """The file's text with the change."""
        if not self.line:
            if text.count(self.old) != 1:
                raise SystemExit(
                    f"mutants: {self.name()}: expected once in the file, not {text.count(self.old)} times"
                )
            return text.replace(self.old, self.new)
        lines = text.splitlines(keepends=True)
        lines[self.line - 1] = lines[self.line - 1].replace(self.old, self.new)
        return "".join(lines)


@dataclass(frozen=True)
class Survivor:
    """A mutant without observable effect, by its file and lines (not their numbers, which change)."""

    file: str
    old: str
    new: str
    reason: str


def generated(root: Path) -> Iterator[Mutant]:
    """All changes of one operator, in the order of the files."""
    for crate in CRATES:
        for path in sorted((root / "crates" / crate / "src").rglob("*.rs")):
            if path.name == "tests.rs" or "tests" in path.parts:
                continue
            file = path.relative_to(root).as_posix()
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if NO_CODE.search(line):
                    continue
                code = line.split(" // ")[0]
                for place in PLACES.finditer(code):
                    new = code[: place.start()] + OPERATORS[place.group()] + code[place.end() :]
                    yield Mutant(file, number, code, new)


def read(root: Path) -> tuple[list[Mutant], list[Survivor]]:
    """The listed mutants, and the survivors that are explained."""
    document = tomllib.loads((root / LIST).read_text())
    mutants = [
        Mutant(one["file"], 0, one["old"], one["new"], tuple(one["tests"]))
        for one in document.get("mutant", [])
    ]
    survivors = [
        Survivor(one["file"], one["old"].strip(), one["new"].strip(), one["reason"])
        for one in document.get("survivor", [])
    ]
    for one in survivors:
        text = (root / one.file).read_text()
        if one.old not in text:
            raise SystemExit(f"mutants: {LIST}: {one.file} has no {one.old!r} any more")
    return mutants, survivors


def choose(mutants: list[Mutant], part: str | None, shard: str | None) -> list[Mutant]:
    """Mutants of files with `part` in their names, and of these every Nth from the Kth (`K/N`, from 1)."""
    chosen = [one for one in mutants if part is None or part in one.file]
    if shard is None:
        return chosen
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", shard)
    if match is None or int(match[1]) > int(match[2]):
        raise SystemExit(f"mutants: --shard {shard!r}: expected K/N with K from 1 to N, such as 3/100")
    return chosen[int(match[1]) - 1 :: int(match[2])]


class Copy:
    """A copy of the tree for mutants."""

    def __init__(self, root: Path, timeout: float) -> None:
        """Creates the copy, or updates it; its build results are kept."""
        self.root = root
        self.timeout = timeout
        self.tree = root / "target" / "mutants"
        # A target directory of its own: cargo takes both trees for the same and would run the other's builds.
        self.env = {**os.environ, "CARGO_TARGET_DIR": str(self.tree / "target")}
        self.tree.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=root, capture_output=True, text=True, check=True,
        )  # fmt: skip
        for name in listed.stdout.splitlines():
            source, copy = root / name, self.tree / name
            if source.is_file() and (not copy.is_file() or copy.read_bytes() != source.read_bytes()):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, copy)

    def dies(self, mutant: Mutant) -> bool | None:
        """True if a test fails for it; None if it does not compile."""
        path = self.tree / mutant.file
        text = path.read_text()
        path.write_text(mutant.apply(text))
        test = ["cargo", "test", "--quiet", "--offline", "-p", mutant.package, "--lib"]
        if mutant.package in TESTED_OUTSIDE:
            test.append("--tests")
        try:
            build = self.run([*test, "--no-run"], 3600)
            if build is None or build != 0:
                return None
            # An infinite loop is detected, too.
            return self.run([*test, "--", *mutant.tests], self.timeout) != 0
        finally:
            path.write_text(text)

    def run(self, command: list[str], timeout: float) -> int | None:
        """The exit code of a command in the copy; None if it takes too long."""
        try:
            done = subprocess.run(
                command, cwd=self.tree, env=self.env, capture_output=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return None
        return done.returncode


class Counts:
    """Results by file, each with the digest of the file to which they belong."""

    def __init__(self, root: Path, minutes: float) -> None:
        """Reads the results of earlier slices; no file is begun after that time."""
        self.root = root
        self.end = time.monotonic() + 60 * minutes
        self.files: dict[str, dict[str, str | int]] = {}
        if (root / COUNTS).exists():
            self.files = json.loads((root / COUNTS).read_text())
        self.taken: dict[str, bool] = {}

    def wants(self, file: str) -> bool:
        """The file has changed since its results were counted, and there is time for it."""
        if file not in self.taken:
            self.write()
            digest = hashlib.sha256((self.root / file).read_bytes()).hexdigest()[:16]
            is_new = self.files.get(file, {}).get("file") != digest
            self.taken[file] = is_new and time.monotonic() < self.end
            if self.taken[file]:
                self.files[file] = {"file": digest}
        return self.taken[file]

    def add(self, file: str, result: str) -> None:
        """Counts a result."""
        self.files[file][result] = int(self.files[file].get(result, 0)) + 1

    def write(self) -> None:
        """Writes the results, after each file: one in the middle of which the command ends is not counted."""
        (self.root / COUNTS).parent.mkdir(exist_ok=True)
        (self.root / COUNTS).write_text(json.dumps(dict(sorted(self.files.items())), indent=1) + "\n")


def main() -> int:
    """Tests the selected mutants; the exit code is 1 if one survives without an explanation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--file", help="only in files with this text in their path")
    parser.add_argument("--shard", help="K/N: every Nth of them, starting from the Kth")
    parser.add_argument("--listed", action="store_true", help="only those of tests/mutants.toml")
    parser.add_argument("--list", action="store_true", help="print them and exit")
    parser.add_argument(
        "--timeout", type=float, default=300, help="time limit for the tests of one mutant, in seconds"
    )
    parser.add_argument("--minutes", type=float, help="begin no file after this time, and count the results")
    arguments = parser.parse_args()
    listed, survivors = read(ROOT)
    every = [*listed, *(() if arguments.listed else generated(ROOT))]
    chosen = choose(every, arguments.file, arguments.shard)
    if arguments.list:
        print("\n".join(one.name() for one in chosen))
        return 0
    if not chosen:
        raise SystemExit("mutants: none chosen")
    for one in listed:
        # A change that no longer fits is an error before the hours of building, not after them.
        one.apply((ROOT / one.file).read_text())
    copy = Copy(ROOT, arguments.timeout)
    explained = {(one.file, one.old, one.new) for one in survivors}
    counts = Counts(ROOT, arguments.minutes) if arguments.minutes else None
    offences, tally = [], dict.fromkeys(RESULT.values(), 0)
    for one in chosen:
        if counts and not counts.wants(one.file):
            continue
        dies = copy.dies(one)
        tally[RESULT[dies]] += 1
        if counts:
            counts.add(one.file, RESULT[dies])
        is_explained = (one.file, one.old.strip(), one.new.strip()) in explained
        print(f"{RESULT[dies]:<15}{one.name()}{' (explained)' if is_explained else ''}", flush=True)
        if dies is False and not is_explained:
            offences.append(f"{one.name()}: survives without an explanation in {LIST}")
        elif dies and is_explained:
            offences.append(f"{one.name()}: {LIST} explains a survivor, but a test fails for it")
        elif dies is None and one in listed:
            offences.append(f"{one.name()}: a listed mutant must compile")
    if counts:
        counts.write()
    for offence in offences:
        print(offence, file=sys.stderr)
    print("mutants: " + ", ".join(f"{count} {result.lower()}" for result, count in tally.items() if count))
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
