"""The paper's conclusions on Freeze where the networks are cells of LTE and NR, and claims of our own."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.claims import Claim, Verdict, above, below, every, never_above
from whimbrel.papers.freeze.cell import DROPPED, HOLE, ITEM, ROWS
from whimbrel.sheet import Sheet

Sheets = Mapping[str, Sheet]

HANDOVERS = tuple(row for row in ROWS if not row.endswith(HOLE))
LOSSY = tuple(row for row in ROWS if row.endswith(DROPPED))


def _above(sheets: Sheets, metric: str, rows: tuple[str, ...], column: str = "freeze") -> Verdict:
    sheet = sheets[ITEM.key]
    return every(*(above(sheet.value(column, metric, row), sheet.value("tfrc", metric, row)) for row in rows))


def _nothing_lost(sheets: Sheets) -> Verdict:
    sheet = sheets[ITEM.key]
    return every(*(never_above(sheet.value("freeze", "lost", row), 0) for row in HANDOVERS))


def _fewer_lost(sheets: Sheets) -> Verdict:
    sheet = sheets[ITEM.key]
    return every(
        *(below(sheet.value("freeze", "lost", row), sheet.value("tfrc", "lost", row)) for row in LOSSY)
    )


CLAIMS = [
    Claim(
        "cell-loses-nothing",
        "Between cells Freeze loses no packet in a handover.",
        (ITEM.key,),
        _nothing_lost,
    ),
    Claim(
        "cell-loses-less",
        "Where the old cell drops its queue, Freeze loses less in a handover than TFRC.",
        (ITEM.key,),
        _fewer_lost,
    ),
    Claim(
        "cell-restores-faster",
        "In the half second after a handover between cells Freeze has more goodput than TFRC.",
        (ITEM.key,),
        lambda sheets: _above(sheets, "at_once", HANDOVERS),
    ),
    Claim(
        "cell-wastes-less",
        "From 2 to 7 s after a handover between cells Freeze has more goodput than TFRC.",
        (ITEM.key,),
        lambda sheets: _above(sheets, "later", HANDOVERS),
    ),
    Claim(
        "cell-hole",
        "After a stretch beyond all cells Freeze has more goodput in the first two seconds than TFRC.",
        (ITEM.key,),
        lambda sheets: _above(sheets, "soon", tuple(row for row in ROWS if row.endswith(HOLE))),
    ),
]
