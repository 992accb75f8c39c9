"""Numbers for the paper's words.

The text has "high" and "similar" where its figures, which we do not have, show numbers. Each limit is our
choice, and the same for every claim.
"""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.claims import Verdict, at_least, average, every
from whimbrel.sheet import Sheet, Value

FULL = 95.0
"""Throughput in percent: "almost fully utilize", "close to full"."""
HIGH_THROUGHPUT = 90.0
"""Throughput in percent: "high"."""
PRINTED = 0.5
"""Points of throughput that a table of whole percents does not show."""
SIMILAR = 5.0
"""Points of throughput between two that are "about the same", "close to" each other, "not affected"."""
SIMILAR_ERRORS = 10.0
"""Points of M_c or M_w between two that are "similar"."""
HIGH_M_W = 50.0
"""M_w in percent: "high", more wrong than right."""
HIGH_M_C = 20.0
"""M_c in percent: "very high"; a wrong verdict harms other flows, so the limit is lower."""
LOW = 10.0
"""M_c or M_w in percent: "low", "few mistakes"."""
CLOSE_TO_ZERO = 5.0
"""M_c in percent."""
FLAT = 2.0
"""Points of M_w by which a rising curve may fall from one number of flows to the next, if the link is full.
"""
NONE = 1.0
"""M_c in percent: "no" congestion losses misclassified."""
MUCH = 1.5
"""Least factor of "much more"; its inverse is the largest of "much less"."""

Sheets = Mapping[str, Sheet]


def rows(sheet: Sheet, *, above: int = 0, below: int = 1000) -> list[str]:
    """The sheet's numbers of flows between two, which are left out."""
    return [row for row in sheet.rows if above < int(row) < below]


def curve(sheets: Sheets, item: str, column: str, metric: str, *, above: int = 0) -> list[Value]:
    """A metric over the numbers of flows above one."""
    sheet = sheets[item]
    return [sheet.value(column, metric, row) for row in rows(sheet, above=above)]


def overall(sheets: Sheets, item: str, column: str, metric: str, *, above: int = 1) -> Value:
    """A metric's mean over the numbers of flows above one."""
    values = curve(sheets, item, column, metric, above=above)
    return average(values, f"{values[0].name.partition(' (')[0]} over N")


def one(sheets: Sheets, item: str, column: str, metric: str) -> Value:
    """A metric of a single flow."""
    return sheets[item].value(column, metric, "1")


def reaches(sheets: Sheets, item: str, column: str, limit: float, above: int = 0) -> Verdict:
    """The throughput is the limit or more for every number of flows above one."""
    return every(
        *(at_least(value, limit) for value in curve(sheets, item, column, "throughput", above=above))
    )
