"""The effect of a handover on a stream, from captured datagrams and the reports of both ends."""

from __future__ import annotations

import bisect
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PLAYOUT_S = 0.4
"""Playout delay of a frame: a delay acceptable for conversation (ITU-T G.114)."""
WINDOW_S = 0.5
WHOLE = 0.9
"""Share of the datagrams due in a window that must pass for the stream to count as whole again."""
SLACK_S = 0.09
"""A frame lasts 40 ms, and a trigger may take 50 ms."""
CARRIED = 0.6
"""On a path that cannot carry the stream, the least share of its capacity that must arrive; a collapsed rate
leaves a third."""
OBSERVED_S = 4.0
"""Longest time after the interface's return that is evaluated."""
FREEZING = ("link", "warned")
"""Ways without a requested freeze, for which only the connection must survive."""


@dataclass(frozen=True)
class Clip:
    """A schedule, repeated forever.

    Attributes:
        offsets_s: time at which each datagram is due.
        frames: the frame that each belongs to.
        sizes: of each, in bytes.
        period_s: length of a repetition.
    """

    offsets_s: list[float]
    frames: list[int]
    sizes: list[int]
    period_s: float

    @classmethod
    def read(cls, path: Path) -> Clip:
        """Reads a file for `whimbrel perf --schedule`."""
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        offsets = [float(row["time_s"]) for row in rows]
        frames = [int(row["frame"]) for row in rows]
        sizes = [int(row["size_bytes"]) for row in rows]
        # As in perf: the last frame has the average length.
        span = offsets[-1] - offsets[0]
        return cls(offsets, frames, sizes, span + span / (len(set(offsets)) - 1))

    @property
    def kbps(self) -> float:
        """Its mean rate in kbit/s."""
        return 8 * sum(self.sizes) / self.period_s / 1e3

    def size(self, number: int) -> int:
        """The bytes of a datagram."""
        return self.sizes[number % len(self.sizes)]

    def arises_s(self, number: int) -> float:
        """Time at which a datagram is due, counted from the first."""
        rounds, index = divmod(number, len(self.offsets_s))
        return rounds * self.period_s + self.offsets_s[index]

    def frame(self, number: int) -> int:
        """The frame that it belongs to."""
        rounds, index = divmod(number, len(self.offsets_s))
        return rounds * (self.frames[-1] + 1) + self.frames[index]


@dataclass(slots=True)
class Line:
    """A line of the table. Times in seconds; `None`: unknown, or never.

    Attributes:
        gap_s: time for which the interface was down.
        way: trigger of the client's freeze, if any.
        sent: datagrams that left the sender.
        lost: of these, those that did not arrive.
        into_gap: datagrams given to the kernel while the interface was down.
        after_reaction: of these, those sent later than the trigger may take.
        held: datagrams that the sender dropped as stale, or for lack of room.
        whole_s: from the interface's return until the stream was whole again.
        full_rate_s: from the end of the freeze until congestion control allowed the old rate.
        frames: frames outside the gap.
        frames_late: of these, those not whole within the playout delay.
        away_kbps: the rate of the path after the gap.
        carried: share of the path's capacity used by the stream in `OBSERVED_S`, or until the stream ended.
        rtt_s: of the path after the gap, without queues.
        problems: failed requirements.
    """

    gap_s: float
    way: str
    sent: int = 0
    lost: int = 0
    into_gap: int = 0
    after_reaction: int = 0
    held: int = 0
    whole_s: float | None = None
    full_rate_s: float | None = None
    frames: int = 0
    frames_late: int = 0
    away_kbps: int = 0
    carried: float = 0.0
    is_narrow: bool = False
    rtt_s: float = 0.0
    problems: list[str] = field(default_factory=list)


def check(walk: Mapping[str, Any], clip: Clip) -> Line:
    """Creates a line from the output of `handover_walk.py`."""
    line = Line(walk["gap_s"], walk["way"], rtt_s=walk["rtt_s"][1], away_kbps=walk["away_kbps"])
    line.is_narrow = line.away_kbps < clip.kbps
    record = walk["record"]
    if walk["exit_code"] or record is None or record["error"]:
        reason = walk["errors"] or (record or {}).get("error") or f"exit code {walk['exit_code']}"
        line.problems.append(f"the connection was lost: {reason}")
        if record is None:
            return line
    moments, up = walk["moments"], record["summary"]["up"]
    line.sent = up["sent"]["datagrams"]
    line.lost = line.sent - up["received"]["datagrams"]
    line.held = up["sent"]["dropped"]
    line.into_gap = moments["handed_at_up"] - moments["handed_at_down"]
    line.after_reaction = moments["handed_at_up"] - moments["handed_after_reaction"]
    _follow_stream(line, walk, clip)
    freezes = record["handover"]["freezes"]
    if freezes:
        line.full_rate_s = freezes[-1]["full_rate_s"]
    _require(line, record, moments)
    return line


def _follow_stream(line: Line, walk: Mapping[str, Any], clip: Clip) -> None:
    """Time at which the stream was whole again, and the frames that were not whole in time."""
    moments = walk["moments"]
    seen = {int(number): float(at) for at, number, _, _ in walk["seen"]}
    if not seen:
        return
    # The application hands a datagram over when it is due: the fastest one gives the start of the first.
    start = min(at - clip.arises_s(number) for number, at in seen.items())
    delay = {0: walk["rtt_s"][0] / 2, 1: walk["rtt_s"][1] / 2}
    arrival = {int(number): float(at) + delay[int(path)] for at, number, _, path in walk["seen"]}
    up = walk["record"]["summary"]["up"]["sent"]
    last = up["datagrams"] + up["dropped"] - 1
    arises = [start + clip.arises_s(number) for number in range(last + 1)]
    up_s = moments["up_s"]
    observed_s = min(OBSERVED_S, arises[-1] - up_s)
    if observed_s > 0:
        came = sum(clip.size(n) for n, when in seen.items() if up_s <= when < up_s + observed_s)
        line.carried = 8 * came / 1e3 / observed_s / min(line.away_kbps, clip.kbps)
    first = bisect.bisect_left(arises, moments["up_s"])
    for number in range(first, last + 1):
        end = bisect.bisect_left(arises, arises[number] + WINDOW_S)
        if arises[number] + WINDOW_S > arises[-1]:
            break
        if sum(n in seen for n in range(number, end)) >= WHOLE * (end - number):
            line.whole_s = arises[number] - moments["up_s"]
            break
    frames: dict[int, list[int]] = {}
    for number in range(last + 1):
        frames.setdefault(clip.frame(number), []).append(number)
    for numbers in frames.values():
        at = arises[numbers[0]]
        if at < moments["down_s"] - PLAYOUT_S or at >= moments["up_s"]:
            line.frames += 1
            on_time = all(arrival.get(number, float("inf")) <= at + PLAYOUT_S for number in numbers)
            line.frames_late += not on_time


def _require(line: Line, record: Mapping[str, Any], moments: Mapping[str, Any]) -> None:
    """Checks a line against the requirements on Freeze."""
    if line.way not in FREEZING:
        return
    if line.is_narrow:
        if line.carried < CARRIED:
            line.problems.append(f"of the path's capacity, {line.carried:.0%} arrived")
    elif line.whole_s is None or line.whole_s > 2 * line.rtt_s + SLACK_S:
        line.problems.append(f"the stream was whole again only after {line.whole_s} s")
    if line.after_reaction:
        line.problems.append(f"datagrams sent into the gap: {line.after_reaction}")
    if line.way == "warned" and line.lost and not line.is_narrow:
        line.problems.append(f"datagrams lost although the outage was announced: {line.lost}")
    freezes: Sequence[Mapping[str, Any]] = record["handover"]["freezes"]
    if len(freezes) != 1:
        line.problems.append(f"{len(freezes)} freezes instead of one")
    if line.full_rate_s is None or line.full_rate_s > 2 * line.rtt_s:
        line.problems.append(f"the old rate was allowed again only after {line.full_rate_s} s")
    if record["handover"]["moves"] == []:
        line.problems.append("the client kept its address")
    if moments["up_s"] == 0:
        line.problems.append("the client ended before the handover")


COLUMNS = (
    ("gap", "s", 6),
    ("new path", "kbit/s", 9),
    ("freeze", "", 8),
    ("sent", "", 6),
    ("lost", "", 5),
    ("to gap", "", 6),
    ("later", "", 6),
    ("held", "", 6),
    ("whole", "s", 7),
    ("rate", "s", 7),
    ("late frames", "", 13),
    ("carried", "%", 8),
)
HEAD = "\n".join(" ".join(f"{column[line]:>{column[2]}}" for column in COLUMNS) for line in (0, 1))
NAMES = {"tfrc": "none", "link": "link", "warned": "warned", "silence": "silence"}


def row(line: Line) -> str:
    """A line as text."""

    def seconds(value: float | None) -> str:
        return "never" if value is None else f"{value:.3f}"

    cells = (
        f"{line.gap_s:g}",
        line.away_kbps,
        NAMES[line.way],
        line.sent,
        line.lost,
        line.into_gap,
        line.after_reaction,
        line.held,
        seconds(line.whole_s),
        "" if line.way == "tfrc" else seconds(line.full_rate_s),
        f"{line.frames_late} of {line.frames}",
        f"{100 * line.carried:.0f}",
    )
    text = " ".join(f"{cell:>{column[2]}}" for cell, column in zip(cells, COLUMNS, strict=True))
    return f"{text}  {'ok' if not line.problems else 'FAILED: ' + '; '.join(line.problems)}"
