"""The paper's claims on Freeze-DCCP/TFRC (Sections 4 to 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whimbrel.claims import (
    Claim,
    Verdict,
    above,
    at_most,
    below,
    between,
    every,
    most,
    never_above,
    not_above,
    some,
)
from whimbrel.papers.freeze.claims_model import LARGER
from whimbrel.papers.freeze.fairness import REASONABLE
from whimbrel.papers.freeze.handovers import PAIRS, PATHOLOGICAL
from whimbrel.papers.freeze.thresholds import GREATLY, QUICKLY_S, Sheets
from whimbrel.sheet import Value

NOT_LARGER = tuple(pair for pair in PAIRS if pair not in LARGER)


def _values(sheets: Sheets, column: str, metric: str, pairs: Sequence[str] = PAIRS) -> list[Value]:
    return [sheets["table6"].value(column, metric, pair) for pair in pairs]


def _loses_nothing(sheets: Sheets) -> Verdict:
    """In the gap and after it: "did not lose any packet" refers to the whole handover."""
    return every(
        *(
            never_above(value, 0)
            for metric in ("lost", "lost_after")
            for value in _values(sheets, "freeze", metric)
        )
    )


def _wastes_less(sheets: Sheets) -> Verdict:
    usual = [pair for pair in PAIRS if pair not in PATHOLOGICAL]
    pairs = zip(
        _values(sheets, "freeze", "wasted", usual), _values(sheets, "tfrc", "wasted", usual), strict=True
    )
    return every(*(below(freeze, tfrc) for freeze, tfrc in pairs))


def _wastes_more(sheets: Sheets) -> Verdict:
    pairs = zip(
        _values(sheets, "freeze", "wasted", PATHOLOGICAL),
        _values(sheets, "tfrc", "wasted", PATHOLOGICAL),
        strict=True,
    )
    return every(*(above(freeze, tfrc) for freeze, tfrc in pairs))


def _overall(sheets: Sheets) -> Verdict:
    """In most handovers: a sum would reflect only the largest networks."""
    pairs = zip(_values(sheets, "freeze", "wasted"), _values(sheets, "tfrc", "wasted"), strict=True)
    return most(*(not_above(freeze, _scaled(tfrc, GREATLY)) for freeze, tfrc in pairs))


def _scaled(value: Value, factor: float) -> Value:
    """A part of a number; ratios are useless if a waste may be negative."""
    return replace(value, sample=factor * value.sample, paper=None, name=f"{factor:g} of {value.name}")


def _quickly(sheets: Sheets) -> Verdict:
    return most(*(at_most(value, QUICKLY_S) for value in _values(sheets, "freeze", "restored", NOT_LARGER)))


def _restores_faster(sheets: Sheets) -> Verdict:
    pairs = zip(
        _values(sheets, "freeze", "restored", NOT_LARGER),
        _values(sheets, "tfrc", "restored", NOT_LARGER),
        strict=True,
    )
    return every(*(below(freeze, tfrc) for freeze, tfrc in pairs))


def _adapts_faster(sheets: Sheets) -> Verdict:
    pairs = zip(
        _values(sheets, "freeze", "wasted", LARGER), _values(sheets, "tfrc", "wasted", LARGER), strict=True
    )
    return every(*(below(freeze, tfrc) for freeze, tfrc in pairs))


def _ratios(sheets: Sheets, column: str) -> list[Value]:
    sheet = sheets["table7"]
    return [sheet.value(column, "ratio", pair) for pair in sheet.rows]


def _reasonable(sheets: Sheets) -> Verdict:
    return most(*(between(value, *REASONABLE) for value in _ratios(sheets, "freeze")))


def _not_greedy(sheets: Sheets) -> Verdict:
    return every(*(at_most(value, REASONABLE[1]) for value in _ratios(sheets, "freeze")))


def _too_fair(sheets: Sheets, column: str) -> Verdict:
    return some(*(below(value, REASONABLE[0]) for value in _ratios(sheets, column)))


def _like_tfrc(sheets: Sheets) -> Verdict:
    """Freezing makes no flow greedier than plain TFRC is in the same place."""
    pairs = zip(_ratios(sheets, "freeze"), _ratios(sheets, "tfrc"), strict=True)
    return most(*(not_above(freeze, tfrc) for freeze, tfrc in pairs))


def _mended(sheets: Sheets) -> Verdict:
    sheet = sheets["table6-rivals"]
    return every(
        *(
            below(sheet.value("following", "wasted", pair), sheet.value("freeze", "wasted", pair))
            for pair in PATHOLOGICAL
        )
    )


CLAIMS = [
    Claim(
        "freeze-loses-nothing",
        "Freeze loses no packet in a handover, and so does not burden the rest of the network.",
        ("table6",),
        _loses_nothing,
        "Section 5.1",
    ),
    Claim(
        "freeze-wastes-less",
        "Freeze wastes less capacity than TFRC in all handovers but two.",
        ("table6",),
        _wastes_less,
        "Section 5.1, Table 6",
    ),
    Claim(
        "two-cells-waste-more",
        "From 802.11g to 802.16 and from UMTS to 802.11b Freeze wastes more than TFRC.",
        ("table6",),
        _wastes_more,
        "Section 5.1, Table 6",
    ),
    Claim(
        "underuse-greatly-reduced",
        "Freeze greatly reduces the overall under-usage of the capacity after a reconnection.",
        ("table6",),
        _overall,
        "Section 5.1",
    ),
    Claim(
        "freeze-restores-quickly",
        "Freeze quickly restores an acceptable rate.",
        ("table6",),
        _quickly,
        "Section 5.1",
    ),
    Claim(
        "restores-faster",
        "Freeze restores the rate faster than TFRC on links of lower or similar capacity.",
        ("table6",),
        _restores_faster,
        "Section 6",
    ),
    Claim(
        "adapts-faster",
        "Freeze adapts to larger capacities more quickly than TFRC.",
        ("table6",),
        _adapts_faster,
        "Sections 1 and 6",
    ),
    Claim(
        "reasonably-fair",
        "After most handovers Freeze has 0.5 to 2 times the rate of a TCP beside it.",
        ("table7",),
        _reasonable,
        "Section 5.2, Table 7",
    ),
    Claim(
        "not-too-greedy",
        "Freezing does not make the protocol too greedy: nowhere more than twice TCP's rate.",
        ("table7",),
        _not_greedy,
        "Section 5.2",
    ),
    Claim(
        "even-too-fair",
        "In some cases Freeze is even too fair, below half of TCP's rate.",
        ("table7",),
        lambda sheets: _too_fair(sheets, "freeze"),
        "Section 5.2",
    ),
    Claim(
        "tfrc-too-fair-as-well",
        "The same holds for plain TFRC.",
        ("table7",),
        lambda sheets: _too_fair(sheets, "tfrc"),
        "Section 5.2",
    ),
    Claim(
        "no-greedier-than-tfrc",
        "After most handovers Freeze takes no more from a TCP than plain TFRC does.",
        ("table7",),
        _like_tfrc,
        "Section 5.2",
    ),
    Claim(
        "second-rule-mends",
        "Probing until the receive rate no longer follows wastes less in the two cells (not in the paper).",
        ("table6-rivals",),
        _mended,
    ),
]
