"""Agreement of a sheet's numbers with the printed ones of the paper."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from whimbrel._values.comparison import estimate
from whimbrel._values.sheet import SheetData, Value


@dataclass(frozen=True)
class Agreement:
    """Our means compared with printed numbers.

    Attributes:
        numbers: count of printed numbers that we also have.
        inside: count of those within our 95 % intervals.
        differences: of our means from them, each as a part of the printed number; for those that are not
            zero.
        farthest: the name of the one with the largest difference; empty if there is none.
    """

    numbers: int
    inside: int
    differences: tuple[float, ...]
    farthest: str

    @property
    def median(self) -> float:
        """The median of the differences; NaN without any."""
        return statistics.median(self.differences) if self.differences else math.nan

    @property
    def largest(self) -> float:
        """The largest difference; NaN without any."""
        return max(self.differences, default=math.nan)

    def sentence(self) -> str:
        """The same as a sentence; empty if nothing is printed."""
        if not self.numbers:
            return ""
        text = f"{self.inside} of {self.numbers} printed numbers lie within our 95 % intervals"
        if not self.differences:
            return f"{text}."
        text += f"; the median difference is {percent(self.median)}, the largest {percent(self.largest)}"
        return f"{text} ({self.farthest})." if self.farthest and self.numbers > 1 else f"{text}."


def agreement(sheet: SheetData, metric: str | None = None) -> Agreement:
    """The agreement of one metric, or of all of a sheet's."""
    labels = {each.key: each.label for each in sheet.metrics}
    return _of(
        (f"{value.name}, {labels[place[2]]}", value)
        for place, value in sheet.places()
        if metric in (None, place[2])
    )


def together(parts: Iterable[Agreement]) -> Agreement:
    """The agreement of several sheets."""
    listed = list(parts)
    farthest = max((part for part in listed if part.differences), key=lambda part: part.largest, default=None)
    return Agreement(
        sum(part.numbers for part in listed),
        sum(part.inside for part in listed),
        tuple(difference for part in listed for difference in part.differences),
        farthest.farthest if farthest else "",
    )


def about(sheet: SheetData) -> dict[str, Any]:
    """The JSON file's entry on printed numbers: for all, and for each metric."""
    return {
        "all": _plain(agreement(sheet)),
        "metrics": {
            metric.key: _plain(found)
            for metric in sheet.metrics
            if (found := agreement(sheet, metric.key)).numbers
        },
    }


def stored(about: Mapping[str, Any]) -> Agreement:
    """Reads what `about` wrote, for a whole sheet or for one metric."""
    return Agreement(about["numbers"], about["inside"], tuple(about["differences"]), about["farthest"])


def conclusion(sheet: SheetData, claims: Sequence[Mapping[str, Any]]) -> str:
    """Summary of a sheet by counts: its printed numbers, and the claims that rest on it.

    Args:
        sheet: the sheet.
        claims: all of the paper's, as in `claims.json`.
    """
    mine = [claim for claim in claims if sheet.key in claim["items"]]
    parts = [agreement(sheet).sentence()]
    if mine:
        noun = "claim that rests" if len(mine) == 1 else "claims that rest"
        parts.append(f"Of {len(mine)} {noun} on it {counted(mine)}.")
    return " ".join(part for part in parts if part)


def counted(claims: Sequence[Mapping[str, Any]]) -> str:
    """Counts of claims that hold, do not hold, and are undecided."""
    held = sum(claim["holds"] is True for claim in claims)
    failed = sum(claim["holds"] is False for claim in claims)
    undecided = len(claims) - held - failed
    hold = "holds" if held == 1 else "hold"
    fail = "does not" if failed == 1 else "do not"
    open_ = "is undecided" if undecided == 1 else "are undecided"
    return f"{held} {hold}, {failed} {fail}, {undecided} {open_}"


def _of(named: Iterable[tuple[str, Value]]) -> Agreement:
    numbers = inside = 0
    differences: list[float] = []
    farthest, largest = "", -1.0
    for name, value in named:
        interval = estimate(value)
        if value.paper is None or interval is None:
            continue
        numbers += 1
        inside += interval.low <= value.paper <= interval.high
        if value.paper:
            difference = abs(interval.mean / value.paper - 1)
            differences.append(difference)
            if difference > largest:
                farthest, largest = name, difference
    return Agreement(numbers, inside, tuple(differences), farthest)


def _plain(found: Agreement) -> dict[str, Any]:
    numbers = {"median": found.median, "largest": found.largest}
    return asdict(found) | {key: None if math.isnan(number) else number for key, number in numbers.items()}


def percent(part: float) -> str:
    """A part in percent, two digits for small ones and whole numbers for others; never with an exponent."""
    return f"{100 * part:.2g} %" if part < 0.1 else f"{100 * part:.0f} %"
