#!/usr/bin/env python3
"""Rows of the repair's table of bounds that fail, by the change that makes them met.

Usage: scripts/bounds_causes.py [--frames 20000]

Each change is made alone in a copy of the sources in a temporary directory, which the example `bounds` of
the crate `whimbrel-repair` then runs: with the change, its cause is gone. Needs cargo; takes a quarter of
an hour.
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


SENDER = REPAIR / "src/sender"
PLANNER = REPAIR / "src/decision/planner.rs"
SIMULATION = REPAIR / "tests/support/simulation.rs"


class Edit(NamedTuple):
    """A piece of a file's text, and what takes its place."""

    path: Path
    piece: str
    other: str


class Change(NamedTuple):
    """A change of the sources, or of the channel, that removes a cause."""

    cause: str
    edits: tuple[Edit, ...]


NO_WAIT = Edit(SENDER / "answers.rs", "const RISK: f64 = 0.1;", "const RISK: f64 = 2.0;")
CHANGES = (
    Change(
        "coded packets never exceed the source (RFC 6363, Section 8.2)",
        (
            Edit(
                SENDER / "rate.rs",
                "self.coded.take(now, bytes, self.source.sum)",
                "self.coded.take(now, bytes, u64::MAX)",
            ),
        ),
    ),
    Change("repeats wait for a sign of life", (NO_WAIT,)),
    # The bound takes the losses of different rounds as independent. The sender of such a channel neither
    # waits, nor forgets a packet that reports echo in a long burst, and its receiver expects frames in it.
    Change(
        "repeats meet the burst that took the originals",
        (
            NO_WAIT,
            Edit(
                SENDER / "flight.rs",
                "(self.round_trip.smoothed * 4 + Duration::from_millis(500)).min(MEMORY)",
                "MEMORY",
            ),
            Edit(
                REPAIR / "src/receiver/feedback.rs",
                "const MOST_SILENT: u32 = 32;\nconst MOST_SILENCE: Duration = Duration::from_secs(2);",
                "const MOST_SILENT: u32 = u32::MAX;\nconst MOST_SILENCE: Duration = Duration::from_secs(20);",
            ),
            Edit(SIMULATION, "    slot: u64,\n", "    slot: u64,\n    answer: (Instant, bool),\n"),
            Edit(SIMULATION, "slot: 0, interval", "slot: 0, answer: (Instant::ZERO, false), interval"),
            Edit(
                SIMULATION,
                "sender.poll_transmit(now, &mut out).is_some() {\n            if !lossy.loses(now) {",
                """let Some(sent) = sender.poll_transmit(now, &mut out) {
            use whimbrel_repair::sender::Sent::{Repeat, Surplus};
            let is_answer = matches!(sent, Repeat(_) | Surplus);
            if !(if is_answer { lossy.loses_anew(now) } else { lossy.loses(now) }) {""",
            ),
            Edit(
                SIMULATION,
                "    pub(crate) fn loses(",
                """    fn loses_anew(&mut self, now: Instant) -> bool {
        let (Loss::Packets(channel) | Loss::Frames(channel)) = self.loss else { return self.loses(now) };
        let (before, mut is_bad) = self.answer;
        let draw = self.random.unit();
        if now.saturating_since(before) > Duration::from_millis(1) {
            is_bad = draw < channel.stationary()[1];
        } else if matches!(self.loss, Loss::Packets(_)) {
            is_bad = if is_bad { draw >= channel.to_good } else { draw < channel.to_bad };
        }
        self.answer = (now, is_bad);
        self.random.unit() < if is_bad { channel.loss_bad } else { channel.loss_good }
    }

    pub(crate) fn loses(""",
            ),
        ),
    ),
    Change(
        "the model's state moves with each packet, where the state of this channel lasts for a frame",
        (
            Edit(
                PLANNER,
                "self.set_channels(estimator.model(), estimator.cautious());",
                """let _ = estimator;
        let known = Channel { to_bad: 0.068, to_good: 0.852, loss_good: 0.04, loss_bad: 0.5 };
        self.set_channels(known, known);""",
            ),
            Edit(
                REPAIR / "src/channel.rs",
                "let moved = |row: [f64; 2]| {",
                """let is_first = rows.len() == 2;
                let moved = |row: [f64; 2]| {
                    if !is_first {
                        return row;
                    }""",
            ),
            Edit(
                REPAIR / "src/decision/window.rs",
                "channel.joint(parity))",
                "Channel { to_bad: 0.0, to_good: 0.0, ..*channel }.joint(parity))",
            ),
        ),
    ),
    Change(
        "the model does not know that a fade has a fixed length",
        (
            Edit(
                PLANNER,
                """.then(|| window::cheapest(channel, key.packets, key.frames, target))
            .flatten();""",
                """.then(|| {
                let overhead = if key.packets > 1 { 0.5 } else { 0.425 };
                WindowPlan { overhead, missed: 0.0 }
            });""",
            ),
            Edit(
                PLANNER,
                "if window.is_none_or(|window| rounds.overhead() <= window.overhead)",
                "if window.is_none()",
            ),
        ),
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
                for edit in change.edits:
                    path = tree / edit.path
                    text = path.read_text(encoding="utf-8")
                    if text.count(edit.piece) != 1:
                        raise SystemExit(f"{edit.path}: expected exactly once: {edit.piece!r}")
                    path.write_text(text.replace(edit.piece, edit.other), encoding="utf-8")
                after = failing(tree, target, given.frames)
                subprocess.run(["git", "checkout", "-q", "."], cwd=tree, check=True)
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
