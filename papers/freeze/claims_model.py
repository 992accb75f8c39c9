"""The paper's claims on TFRC and on its model (Sections 3 and 4.1)."""

from __future__ import annotations

from dataclasses import replace

from whimbrel.claims import (
    Claim,
    Verdict,
    above,
    at_least,
    at_most,
    between,
    every,
    most,
    never_above,
    rising,
    some,
    times,
)
from whimbrel.papers.freeze.handovers import PAIRS, ends
from whimbrel.papers.freeze.networks import NETWORKS
from whimbrel.papers.freeze.thresholds import (
    ABOUT,
    ACCURATE,
    ALIKE_S,
    BOUND,
    COHERENT,
    EXACT,
    SEVERAL_S,
    Sheets,
)
from whimbrel.sheet import Sheet, Value

LARGER = tuple(pair for pair in PAIRS if NETWORKS.index(ends(pair)[0]) < NETWORKS.index(ends(pair)[1]))
"""Handovers to a larger network."""


def _about(value: Value, seconds: float) -> Verdict:
    return between(value, seconds / ABOUT, seconds * ABOUT)


def _adjacent(sheets: Sheets, metric: str, seconds: float) -> Verdict:
    return _about(sheets["fig3"].value("tfrc", metric), seconds)


def _apart(sheets: Sheets) -> Verdict:
    sheet = sheets["fig4"]
    values = [sheet.value("tfrc", "restored", row) for row in sheet.rows]
    return every(
        rising(*values),
        some(*(at_least(value, 50 / ABOUT) for value in values)),
        *(at_most(value, 50 * ABOUT) for value in values),
    )


def _alike(sheets: Sheets) -> Verdict:
    """The full rate is back after the same time, within `ALIKE_S`."""
    link = sheets["fig3"].value("tfrc", "restored")
    air = sheets["fig3-air"].value("tfrc", "restored", "ns-2")
    return every(above(air, link, -ALIKE_S), above(link, air, -ALIKE_S))


def _exact(sheets: Sheets) -> Verdict:
    """Rates agree, and no timeout is further off than the interval between the two samples around it."""
    sheet = sheets["fig6"]
    cells = [(row, column) for row in sheet.rows for column in sheet.columns]
    rates = [at_most(sheet.value(column, "rate_error", row), EXACT) for row, column in cells]
    timers = [never_above(_beyond_grain(sheet, row, column), 0) for row, column in cells]
    return every(*rates, *timers)


def _beyond_grain(sheet: Sheet, row: str, column: str) -> Value:
    """Excess of a timeout's error over the grain, with 1 % for rounding; run by run."""
    error, grain = (sheet.value(column, metric, row) for metric in ("timer_error", "grain"))
    return replace(error, sample=error.sample - 1.01 * grain.sample, name=f"{error.name} less the grain")


def _accurate(sheets: Sheets) -> Verdict:
    sheet = sheets["fig6"]
    return every(
        *(
            between(sheet.value(column, "difference", row), -ACCURATE, ACCURATE)
            for row in sheet.rows
            for column in sheet.columns
        )
    )


def _losses_bounded(sheets: Sheets) -> Verdict:
    """The simulation loses no more than the model predicts."""
    model, seen = sheets["table4"], sheets["table6"]
    return every(
        *(
            times(seen.value("tfrc", "lost", pair), model.value(new, "lost", old), 0, 1 + BOUND / 100)
            for pair in PAIRS
            for old, new in [ends(pair)]
        )
    )


def _waste_bounded(sheets: Sheets) -> Verdict:
    """The simulation wastes no less than the model predicts, where the model applies."""
    model, seen = sheets["table4"], sheets["table6"]
    return every(
        *(
            at_least(seen.value("tfrc", "wasted", pair), model.value(new, "wasted", old))
            for pair in PAIRS
            for old, new in [ends(pair)]
            if model.value(new, "wasted", old).mean > 1
        )
    )


def _coherent(sheets: Sheets) -> Verdict:
    model, seen = sheets["table4"], sheets["table6"]
    return most(
        *(
            times(seen.value("tfrc", "wasted", pair), model.value(new, "wasted", old), 1 / COHERENT, COHERENT)
            for pair in PAIRS
            for old, new in [ends(pair)]
            if model.value(new, "wasted", old).mean > 1
        )
    )


def _room(sheets: Sheets) -> Verdict:
    """Handovers to larger networks waste more than the horizontal ones of the same old network."""
    sheet = sheets["table6"]
    return every(
        *(
            above(
                sheet.value("tfrc", "wasted", pair),
                sheet.value("tfrc", "wasted", f"{ends(pair)[0]} to {ends(pair)[0]}"),
            )
            for pair in LARGER
        )
    )


def _several_seconds(sheets: Sheets) -> Verdict:
    """The rate on a network of the same kind is back after several seconds in some handover."""
    sheet = sheets["table6"]
    return some(
        *(
            at_least(sheet.value("tfrc", "restored", f"{network} to {network}"), SEVERAL_S)
            for network in NETWORKS
        )
    )


CLAIMS = [
    Claim(
        "adjacent-restart",
        "Once the address on the next network is usable, TFRC takes about 100 ms to send again.",
        ("fig3",),
        lambda sheets: _adjacent(sheets, "restart", 0.1),
        "Section 3.2, Figure 3",
    ),
    Claim(
        "adjacent-restored",
        "It takes about 500 ms until its rate is fully restored.",
        ("fig3",),
        lambda sheets: _adjacent(sheets, "restored", 0.5),
        "Section 3.2, Figure 3",
    ),
    Claim(
        "apart-much-larger",
        "Between networks that are apart the delay is much larger, up to about 50 s.",
        ("fig4",),
        _apart,
        "Section 3.2, Figure 4",
    ),
    Claim(
        "moving-air-alike",
        "Between adjacent access routers TFRC's full rate is back over ns-2's 802.11 MAC when it is back "
        "over a link that is down for a time, within a quarter of a second.",
        ("fig3", "fig3-air"),
        _alike,
    ),
    Claim(
        "internal-parameters-exact",
        "The model predicts the sender's rate and nofeedback timer during a disconnection exactly.",
        ("fig6",),
        _exact,
        "Section 3.4, Figure 6",
    ),
    Claim(
        "losses-accurate",
        "The model accurately estimates the packets lost in a disconnection.",
        ("fig6",),
        _accurate,
        "Section 3.4, Figure 6",
    ),
    Claim(
        "waste-coherent",
        "The wasted capacity by the model is of the right order of magnitude.",
        ("table4", "table6"),
        _coherent,
        "Section 3.4",
    ),
    Claim(
        "losses-upper-bound",
        "The model's packet losses are an upper bound.",
        ("table4", "table6"),
        _losses_bounded,
        "Section 3.5",
    ),
    Claim(
        "waste-lower-bound",
        "The model's wasted capacity is a lower bound.",
        ("table4", "table6"),
        _waste_bounded,
        "Section 3.5",
    ),
    Claim(
        "larger-wastes-more",
        "On a network with a larger capacity TFRC adapts slowly and wastes more than on one like the old.",
        ("table6",),
        _room,
        "Sections 3.1 and 3.3.2",
    ),
    Claim(
        "several-seconds",
        "It can take up to several seconds to restore the rate after a handover.",
        ("table6",),
        _several_seconds,
        "Section 4.1",
    ),
]
