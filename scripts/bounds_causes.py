#!/usr/bin/env python3
"""Rows of the repair's table of bounds that fail, by the change that makes them met.

Usage: scripts/bounds_causes.py [--frames 20000]

Each change is made alone in a copy of the sources in a temporary directory, which the example `bounds` of
the crate `whimbrel-repair` then runs: with the change, its cause is gone. Needs cargo; takes some minutes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
REPAIR = Path("crates/repair")


class Change(NamedTuple):
    """A change of one file that removes a cause."""

    cause: str
    path: Path
    replaced: dict[str, str]
    """Pieces of its text, and what takes their places."""


CHANGES = (
    Change(
        "coded packets never exceed the source (RFC 6363, Section 8.2)",
        REPAIR / "src/sender/rate.rs",
        {"self.coded.take(now, bytes, self.source.sum)": "self.coded.take(now, bytes, u64::MAX)"},
    ),
    Change(
        "repeats wait for a sign of life",
        REPAIR / "src/sender/answers.rs",
        {"const RISK: f64 = 0.1;": "const RISK: f64 = 2.0;"},
    ),
)


def failing(tree: Path, target: Path, frames: int) -> dict[str, str]:
    """The label and the line of each row that fails."""
    command = ["cargo", "run", "--release", "-q", "-p", "whimbrel-repair", "--example", "bounds"]
    run = subprocess.run(
        [*command, "--", str(frames)],
        cwd=tree,
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        check=True,
        capture_output=True,
        text=True,
    )
    rows = [line for line in run.stdout.splitlines() if " | FAILS" in line]
    return {row.split(" | ")[0]: row for row in rows}


def main() -> int:
    """Makes the changes and prints; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--frames", type=int, default=20_000, help="per row")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree, target = Path(folder) / "tree", Path(folder) / "target"
        subprocess.run(["git", "worktree", "add", "--detach", "-q", str(tree)], cwd=ROOT, check=True)
        try:
            before = failing(tree, target, given.frames)
            print(f"as it is: {len(before)} rows fail")
            left = dict(before)
            for change in CHANGES:
                path = tree / change.path
                text = path.read_text(encoding="utf-8")
                changed = text
                for piece, other in change.replaced.items():
                    if changed.count(piece) != 1:
                        raise SystemExit(f"{change.path}: expected exactly once: {piece!r}")
                    changed = changed.replace(piece, other)
                path.write_text(changed, encoding="utf-8")
                after = failing(tree, target, given.frames)
                path.write_text(text, encoding="utf-8")
                met = [label for label in before if label not in after]
                print(f'\nwithout "{change.cause}": {len(met)} of them are met')
                for label in met:
                    left.pop(label, None)
                    print(f"  {label}")
            print(f"\nno change makes them met: {len(left)}")
            for row in left.values():
                print(f"  {row}")
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
