"""The paper's claims on the walk to the cafe (Section 5.3), and claims of our own."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.claims import Claim, Verdict, above, at_least, at_most, below, every, never_above, some
from whimbrel.papers.freeze.walk import VISIT_S
from whimbrel.sheet import Sheet

NARROW = ("3G", "cafe", "3G again")
"""The visits to networks that cannot carry 1 Mbit/s."""

STEADY_DB = 2.0
"""Largest deviation of the moving PSNR of a stable picture."""
MOST_OF = 90.0
"""Percent that are "close to the full available path capacity"."""
RANDOM_DB = 7.0
"""Section 5.3: "a PSNR of 7 dB is that of a purely random image"."""

Sheets = Mapping[str, Sheet]

_VISITS = "fig10-visits"
_OTHERS = "others"
_SOURCE = "Section 5.3"


def _reduced_but_stable(sheets: Sheets) -> Verdict:
    sheet = sheets[_VISITS]
    home = sheet.value("freeze", "psnr", "home")
    parts = [below(sheet.value("freeze", "psnr", row), home) for row in NARROW]
    parts += [at_most(sheet.value("freeze", "swing", row), STEADY_DB) for row in NARROW]
    return every(*parts)


def _close_to_capacity(sheets: Sheets) -> Verdict:
    return every(*(at_least(sheets[_VISITS].value("freeze", "used", row), MOST_OF) for row in NARROW))


def _faster(sheets: Sheets) -> Verdict:
    sheet = sheets[_VISITS]
    rows = [row for row in sheet.rows if row != "home"]
    return every(
        *(below(sheet.value("freeze", "full", row), sheet.value("tfrc", "full", row)) for row in rows)
    )


def _minimum(sheets: Sheets) -> Verdict:
    sheet = sheets[_VISITS]
    parts = [at_most(sheet.value("tfrc", "least", row), RANDOM_DB + 1) for row in NARROW]
    parts += [below(sheet.value("tfrc", "psnr", row), sheet.value("freeze", "psnr", row)) for row in NARROW]
    return every(*parts)


def _whole_visit(sheets: Sheets) -> Verdict:
    sheet = sheets[_VISITS]
    return some(*(at_least(sheet.value("tfrc", "full", row), VISIT_S / 2) for row in NARROW))


def _no_oscillation(sheets: Sheets) -> Verdict:
    sheet = sheets[_VISITS]
    return below(sheet.value("freeze", "swing", "cafe"), sheet.value("tfrc", "swing", "cafe"))


def _nothing_lost(sheets: Sheets) -> Verdict:
    sheet = sheets[_VISITS]
    return every(*(never_above(sheet.value("freeze", "lost", row), 0) for row in sheet.rows))


def _harm(sheets: Sheets, metric: str) -> Verdict:
    sheet = sheets[_OTHERS]
    return every(
        *(above(sheet.value("freeze", metric, row), sheet.value("tfrc", metric, row)) for row in sheet.rows)
    )


def _bounded(sheets: Sheets, column: str) -> Verdict:
    sheet = sheets[_OTHERS]
    return every(
        *(
            below(sheet.value(column, "call_lost", row), sheet.value("freeze", "call_lost", row))
            for row in sheet.rows
        )
    )


CLAIMS = [
    Claim(
        "walk-reduced-but-stable",
        "With Freeze the picture in networks that cannot carry the stream is reduced, but stable.",
        (_VISITS,),
        _reduced_but_stable,
        _SOURCE,
    ),
    Claim(
        "walk-capacity",
        "With Freeze the stream uses close to the full capacity of the narrow networks.",
        (_VISITS,),
        _close_to_capacity,
        _SOURCE,
    ),
    Claim(
        "walk-adapts-faster",
        "Freeze reaches the rate of a new network sooner than TFRC, in every network.",
        (_VISITS,),
        _faster,
        _SOURCE,
    ),
    Claim(
        "walk-tfrc-minimum",
        "With TFRC the PSNR in the narrow networks falls to a minimum, near the 7 dB of a random picture, "
        "and below Freeze's.",
        (_VISITS,),
        _minimum,
        _SOURCE,
    ),
    Claim(
        "walk-tfrc-whole-visit",
        "TFRC takes long to come to a better level, up to the whole visit to a network.",
        (_VISITS,),
        _whole_visit,
        _SOURCE,
    ),
    Claim(
        "walk-no-oscillation",
        "At the cafe the picture does not oscillate with Freeze, as it does with TFRC.",
        (_VISITS,),
        _no_oscillation,
        _SOURCE,
    ),
    Claim(
        "walk-nothing-lost",
        "Freeze loses nothing in the gaps.",
        (_VISITS,),
        _nothing_lost,
        "Section 5.1",
    ),
    Claim(
        "others-suffer",
        "In its first 5 s on a narrower network Freeze makes a call lose more than TFRC does.",
        (_OTHERS,),
        lambda sheets: _harm(sheets, "call_lost"),
    ),
    Claim(
        "others-capped",
        "A cap on the restored rate lowers what the call loses to Freeze, on every network.",
        (_OTHERS,),
        lambda sheets: _bounded(sheets, "at-most-500"),
    ),
    Claim(
        "others-careful",
        "Careful Resume lowers what the call loses to Freeze, on every network.",
        (_OTHERS,),
        lambda sheets: _bounded(sheets, "careful"),
    ),
]
