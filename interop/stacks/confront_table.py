"""Converts the counters of confronts into throughputs and losses, and these into a table with deviations."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from confront_cells import LINUX, OURS, PAIRS, SECONDS, SIMULATED, VARIED, Cell, Pair

ETHERNET_BYTES = 14
TOLERANCE = 0.15
"""Deviation of a simulated throughput from a real one up to which they agree."""
COLUMNS = ("first", "second", "stack", "run", "flow", "throughput_bps", "loss")
STACKS = (SIMULATED, VARIED, OURS, LINUX)


@dataclass(frozen=True, slots=True)
class Row:
    """One flow of one confront.

    Attributes:
        pair: names of both flows.
        stack: the implementation of DCCP, or `simulated`.
        run: number of the repetition.
        flow: 0 for the first flow of the pair, 1 for the second.
        throughput_bps: received IP packets, in bit/s, over the time in which it was sent.
        loss: share of its packets that did not arrive.
    """

    pair: tuple[str, str]
    stack: str
    run: int
    flow: int
    throughput_bps: float
    loss: float

    def fields(self) -> list[object]:
        """The row's cells in the file."""
        rate = round(self.throughput_bps)
        return [*self.pair, self.stack, self.run, self.flow, rate, f"{self.loss:.5f}"]


def names(pair: Pair) -> tuple[str, str]:
    """The names of both flows."""
    return pair[0].name, pair[1].name


def counted(text: str) -> list[dict[str, Any]]:
    """The devices of both ends of both flows: s0, r0, s1, r1."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("[")]
    return [device["stats64"] for line in lines for device in line if device.get("stats64")]


def rows(cell: Cell, before: str, after: str) -> Iterator[Row]:
    """The flows of a real confront, from the counters before and after it."""
    early, late = counted(before), counted(after)
    for flow in (0, 1):
        sender, receiver = ((early[2 * flow + end], late[2 * flow + end]) for end in (0, 1))
        sent = sender[1]["tx"]["packets"] - sender[0]["tx"]["packets"]
        got = receiver[1]["rx"]["packets"] - receiver[0]["rx"]["packets"]
        size = receiver[1]["rx"]["bytes"] - receiver[0]["rx"]["bytes"] - ETHERNET_BYTES * got
        seconds = SECONDS - (cell.offset_s if flow else 0)
        yield Row(names(cell.pair), cell.stack, cell.run, flow, 8 * size / seconds, 1 - got / sent)


def write(found: Sequence[Row], file: Path) -> None:
    """A line for each flow."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(row.fields() for row in found)


def read(file: Path) -> list[Row]:
    """The rows of a file."""
    with file.open(newline="", encoding="utf-8") as lines:
        return [
            Row(
                (line["first"], line["second"]),
                line["stack"],
                int(line["run"]),
                int(line["flow"]),
                float(line["throughput_bps"]),
                float(line["loss"]),
            )
            for line in csv.DictReader(lines)
        ]


@dataclass(frozen=True, slots=True)
class Figure:
    """A flow of a pair with one stack, over all runs."""

    throughput_bps: float
    spread: float
    """Distance of the farthest run from the mean throughput, as a share of it."""

    def __str__(self) -> str:
        return f"{self.throughput_bps / 1e6:.2f} ± {100 * self.spread:.0f} %"


def figure(found: Sequence[Row], pair: tuple[str, str], flow: int, stack: str) -> Figure | None:
    """The mean of a flow's runs; none if there are none."""
    chosen = [row for row in found if (row.pair, row.flow, row.stack) == (pair, flow, stack)]
    if not chosen:
        return None
    mean = fmean(row.throughput_bps for row in chosen)
    spread = max(abs(row.throughput_bps - mean) for row in chosen) / mean
    return Figure(mean, spread)


@dataclass(frozen=True, slots=True)
class Line:
    """A flow of a pair, by stack."""

    pair: tuple[str, str]
    flow: int
    figures: dict[str, Figure]

    def deviation(self, simulated: str, real: str) -> float | None:
        """The relative deviation of a simulated throughput from a real one; none if there is no such run."""
        if simulated not in self.figures or real not in self.figures:
            return None
        return self.figures[simulated].throughput_bps / self.figures[real].throughput_bps - 1

    @property
    def reference(self) -> str:
        """The real stack with which the simulation has to agree: ours, with the same DCCP, if any."""
        return OURS if any("DCCP" in name for name in self.pair) else LINUX

    @property
    def is_close(self) -> bool:
        """`true` if the simulated throughput agrees with its reference's."""
        deviation = self.deviation(SIMULATED, self.reference)
        return deviation is not None and abs(deviation) <= TOLERANCE

    def __str__(self) -> str:
        cells = [f"{self.pair[self.flow]} against {self.pair[1 - self.flow]}"]
        cells += [str(self.figures[stack]) if stack in self.figures else "" for stack in STACKS]
        deviations = (self.deviation(simulated, self.reference) for simulated in (SIMULATED, VARIED))
        cells += ["" if each is None else f"{100 * each:+.0f} %" for each in deviations]
        return "| " + " | ".join(cells) + " |"


HEAD = (
    "| flow | simulated | phase varied | ours for real | Linux for real | simulated against real "
    "| phase varied |",
    "|---|---|---|---|---|---|---|",
)


def lines(found: Sequence[Row]) -> list[Line]:
    """The lines of the table, for all pairs of which there are rows."""
    return [
        Line(names(pair), flow, figures)
        for pair in PAIRS
        for flow in (0, 1)
        if (figures := by_stack(found, names(pair), flow))
    ]


def by_stack(found: Sequence[Row], pair: tuple[str, str], flow: int) -> dict[str, Figure]:
    """The means of a flow by stack."""
    all_of = {stack: figure(found, pair, flow, stack) for stack in STACKS}
    return {stack: one for stack, one in all_of.items() if one is not None}


def table(found: Sequence[Row]) -> list[str]:
    """The table in Markdown."""
    return [*HEAD, *map(str, lines(found))]
