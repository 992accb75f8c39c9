"""Statements on the matrix that were written before it was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from whimbrel.claims import Claim, Verdict, above, at_most, below, between, every, times
from whimbrel.papers.matrix import base_stations
from whimbrel.papers.matrix.measures import ALONE
from whimbrel.papers.matrix.networks import ONE_WAY_MS
from whimbrel.papers.matrix.schemes import ALL, DIFFERENTIATION, SCHEMES
from whimbrel.sheet import Sheet, Value

DELAY_BASED = ("gcc", "nada", "scream", "copa", "delay-aware")
L4S = ("ccid254", "tcp-prague", "scream-l4s", "delay-aware-l4s")
CUBIC, RENO = "tcp-cubic", "tcp-sack"
FULL_MS = 200
"""One-way delay of a path whose queue of 300 ms is mostly full."""
L4S_MS = ONE_WAY_MS + 10
SMALL_SHARE = 35
EVEN = (40, 60)
COEXISTS = (35, 65)

Sheets = Mapping[str, Sheet]


def _present(sheets: Sheets, network: str, schemes: tuple[str, ...]) -> list[str]:
    rows = sheets[network].rows
    return [SCHEMES[scheme].title for scheme in schemes if SCHEMES[scheme].title in rows]


def _each(
    network: str, schemes: tuple[str, ...], check: Callable[[Sheet, str], Verdict]
) -> Callable[[Sheets], Verdict]:
    """A check of each of the schemes that were measured."""

    def verdict(sheets: Sheets) -> Verdict:
        return every(*(check(sheets[network], scheme) for scheme in _present(sheets, network, schemes)))

    return verdict


def _share(network: str, row: str, column: str, low: float, high: float) -> Callable[[Sheets], Verdict]:
    return lambda sheets: between(sheets[network].value(column, "share", row=SCHEMES[row].title), low, high)


def _halved_delay(network: str) -> Callable[[Sheets], Verdict]:
    """TCP CUBIC alone has at most half of the delay that it has with the drop-tail queue."""

    def delay(sheets: Sheets, of: str) -> Value:
        return sheets[of].value(ALONE, "delay", row=SCHEMES[CUBIC].title)

    return lambda sheets: times(delay(sheets, network), delay(sheets, "droptail"), 0, 0.5)


def _by_terminal(metric: str, low: float, high: float) -> Callable[[Sheets], Verdict]:
    """Under base stations: of delay-based laws, next to the same terminal's download and another one's."""

    def verdict(sheets: Sheets) -> Verdict:
        sheet = sheets[base_stations.KEY]
        same, other = (
            [
                sheet.value(base_stations.column_of(preset, way, terminal), metric, row=row)
                for preset in base_stations.PRESETS
                for way in base_stations.WAYS
                if base_stations.column_of(preset, way, terminal) in sheet.columns
                for row in _present(sheets, base_stations.KEY, DELAY_BASED)
            ]
            for terminal in (base_stations.SAME, base_stations.OTHER)
        )
        return every(*(times(one, two, low, high) for one, two in zip(same, other, strict=True)))

    return verdict


def _gains(sheets: Sheets) -> Verdict:
    """Each loss differentiation raises the rate of CCID 3 alone on the network with independent losses."""
    sheet = sheets["differentiate-random"]
    plain, *variants = (sheet.value(ALONE, "rate", row=ALL[name].title) for name in DIFFERENTIATION)
    return every(*(above(variant, plain) for variant in variants))


def _names(schemes: tuple[str, ...]) -> str:
    *first, last = (SCHEMES[scheme].title for scheme in schemes)
    return f"{', '.join(first)} and {last}"


CLAIMS = [
    Claim(
        "cubic-fills-the-queue",
        f"Alone, TCP CUBIC fills a deep drop-tail queue: its delay exceeds {FULL_MS} ms.",
        ("droptail",),
        lambda sheets: above(sheets["droptail"].value(ALONE, "delay", row=SCHEMES[CUBIC].title), FULL_MS),
    ),
    Claim(
        "media-short-queue",
        f"Alone, {_names(DELAY_BASED)} have at most half of the delay of TCP CUBIC.",
        ("droptail",),
        _each(
            "droptail",
            DELAY_BASED,
            lambda sheet, scheme: times(
                sheet.value(ALONE, "delay", row=scheme),
                sheet.value(ALONE, "delay", row=SCHEMES[CUBIC].title),
                0,
                0.5,
            ),
        ),
    ),
    Claim(
        "media-starve",
        f"Beside TCP CUBIC at a drop-tail queue, {_names(DELAY_BASED)} have at most "
        f"{SMALL_SHARE} % of the data.",
        ("droptail",),
        _each(
            "droptail",
            DELAY_BASED,
            lambda sheet, scheme: at_most(sheet.value(CUBIC, "share", row=scheme), SMALL_SHARE),
        ),
    ),
    Claim(
        "l4s-short-delay",
        f"Alone behind DualPI2, {_names(L4S)} keep the delay below {L4S_MS} ms.",
        ("dualpi2",),
        _each("dualpi2", L4S, lambda sheet, scheme: below(sheet.value(ALONE, "delay", row=scheme), L4S_MS)),
    ),
    Claim(
        "ccid3-fair",
        f"CCID 3 has {EVEN[0]} to {EVEN[1]} % of the data beside TCP Reno at a drop-tail queue.",
        ("droptail",),
        _share("droptail", "ccid3", RENO, *EVEN),
    ),
    Claim(
        "ccid2-fair",
        f"CCID 2 has {EVEN[0]} to {EVEN[1]} % of the data beside TCP Reno at a drop-tail queue.",
        ("droptail",),
        _share("droptail", "ccid2", RENO, *EVEN),
    ),
    Claim(
        "ccid-cubic-fair",
        f"DCCP CUBIC has {EVEN[0]} to {EVEN[1]} % of the data beside TCP CUBIC at a drop-tail queue.",
        ("droptail",),
        _share("droptail", "ccid248", CUBIC, *EVEN),
    ),
    Claim(
        "prague-coexists",
        f"TCP Prague has {COEXISTS[0]} to {COEXISTS[1]} % of the data beside TCP CUBIC behind DualPI2.",
        ("dualpi2",),
        _share("dualpi2", "tcp-prague", CUBIC, *COEXISTS),
    ),
    Claim(
        "codel-shortens",
        "CoDel halves the delay of TCP CUBIC.",
        ("droptail", "codel"),
        _halved_delay("codel"),
    ),
    Claim(
        "zbs-on-radio",
        "With 1 % of random losses, CCID 3 with ZBS has at least 1.3 times the rate of CCID 3.",
        ("differentiate-random",),
        lambda sheets: times(
            sheets["differentiate-random"].value(ALONE, "rate", row=ALL["zbs"].title),
            sheets["differentiate-random"].value(ALONE, "rate", row=ALL["ccid3"].title),
            1.3,
        ),
    ),
    Claim(
        "fq-codel-isolates",
        f"Behind FQ-CoDel, {_names(DELAY_BASED)} have {EVEN[0]} to {EVEN[1]} % of the data beside TCP CUBIC.",
        ("fq-codel",),
        _each(
            "fq-codel",
            DELAY_BASED,
            lambda sheet, scheme: between(sheet.value(CUBIC, "share", row=scheme), *EVEN),
        ),
    ),
    Claim(
        "pie-shortens",
        "PIE halves the delay of TCP CUBIC.",
        ("droptail", "pie"),
        _halved_delay("pie"),
    ),
    Claim(
        "differentiation-gains",
        "With 1 % of random losses, CCID 3 with any loss differentiation has a higher rate than without.",
        ("differentiate-random",),
        _gains,
    ),
    Claim(
        "differentiation-is-harmless",
        "Without a radio, CCID 3 with any loss differentiation loses at most 1 % of its packets.",
        ("differentiate-none",),
        lambda sheets: every(
            *(
                at_most(sheets["differentiate-none"].value(ALONE, "loss", row=ALL[variant].title), 1)
                for variant in DIFFERENTIATION
            )
        ),
    ),
    Claim(
        "own-queue-shortens",
        f"Under base stations, {_names(DELAY_BASED)} have at least twice the delay next to a download of "
        "their own terminal that they have next to one of another terminal.",
        (base_stations.KEY,),
        _by_terminal("delay", 2, math.inf),
    ),
    Claim(
        "shared-queue-starves",
        f"Under base stations, {_names(DELAY_BASED)} have at most half of the rate next to a download of "
        "their own terminal that they have next to one of another terminal.",
        (base_stations.KEY,),
        _by_terminal("rate", 0, 0.5),
    ),
]
