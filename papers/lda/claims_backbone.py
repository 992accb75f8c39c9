"""The paper's claims on base algorithms in competition on the backbone (Sections 3.1, 6.4, 6.5, 8)."""

from __future__ import annotations

from whimbrel.claims import (
    Claim,
    Verdict,
    above,
    at_least,
    at_most,
    below,
    between,
    close,
    every,
    highest,
    lowest,
    most,
    rising,
    times,
)
from whimbrel.papers.lda.thresholds import (
    CLOSE_TO_ZERO,
    FLAT,
    FULL,
    HIGH_M_C,
    HIGH_M_W,
    HIGH_THROUGHPUT,
    MUCH,
    PRINTED,
    SIMILAR,
    SIMILAR_ERRORS,
    Sheets,
    curve,
    overall,
    reaches,
    rows,
)
from whimbrel.papers.lda.topology import BASE


def _rate_per_flow(sheets: Sheets) -> Verdict:
    """More flows on one rate lose more; twice the rate with two flows more loses less."""
    sheet = sheets["fig10"]
    slow, fast = rows(sheet, below=9), rows(sheet, above=8)
    parts = [rising(*(sheet.value("omniscient", "congestion", row) for row in slow))]
    if len(fast) > 1:
        parts.append(rising(*(sheet.value("omniscient", "congestion", row) for row in fast)))
    if slow[-1] == "8":
        before, after = (sheet.value("omniscient", "congestion", row) for row in (slow[-1], fast[0]))
        parts.append(below(after, before))
    return every(*parts)


def _spike_fuller(sheets: Sheets) -> Verdict:
    sheet = sheets["fig10"]
    return every(
        *(
            rising(*(sheet.value("spike", "m_w", row) for row in part), within=FLAT)
            for part in (rows(sheet, below=9), rows(sheet, above=8))
            if len(part) > 1
        )
    )


def _like_tfrc(sheets: Sheets) -> Verdict:
    verdicts = []
    for row in rows(sheets["fig10"], above=1):
        tfrc = sheets["fig10"].value("tfrc", "throughput", row)
        verdicts += [
            close(sheets["fig10"].value(column, "throughput", row), tfrc, SIMILAR)
            for column in ("biaz", "mbiaz")
        ]
    return every(*verdicts)


def _zigzag_pattern(sheets: Sheets) -> Verdict:
    """With one and two flows TCP, TFRC and ZigZag have less than with four and more."""
    verdicts = []
    for column in ("tcp", "tfrc", "zigzag"):
        many = overall(sheets, "fig10", column, "throughput", above=3)
        verdicts += [below(sheets["fig10"].value(column, "throughput", row), many) for row in ("1", "2")]
    return every(*verdicts)


def _omniscient_congests(sheets: Sheets) -> Verdict:
    omniscient = overall(sheets, "fig10", "omniscient", "congestion")
    return every(
        reaches(sheets, "fig10", "omniscient", FULL),
        *(
            times(omniscient, overall(sheets, "fig10", column, "congestion"), MUCH)
            for column in ("tcp", "tfrc")
        ),
    )


def _similar_errors(sheets: Sheets) -> Verdict:
    return every(
        *(
            close(
                overall(sheets, "fig10", "zigzag", metric),
                overall(sheets, "fig9", "zigzag", metric),
                SIMILAR_ERRORS,
            )
            for metric in ("m_c", "m_w")
        )
    )


def _mostly_lower(sheets: Sheets) -> Verdict:
    shared = [row for row in rows(sheets["fig9"], above=1) if row in sheets["fig10"].rows]
    return most(
        *(
            lowest(
                sheets["fig10"].value("zigzag", "m_c", row),
                sheets["fig9"].value("zigzag", "m_c", row),
            )
            for row in shared
        )
    )


def _spike_best(sheets: Sheets) -> Verdict:
    throughput = {column: overall(sheets, "fig10", column, "throughput") for column in BASE}
    spike = throughput.pop("spike")
    return every(
        highest(spike, *throughput.values()),
        below(overall(sheets, "fig10", "spike", "m_c"), overall(sheets, "fig10", "zigzag", "m_c")),
        below(
            overall(sheets, "fig10", "spike", "congestion"), overall(sheets, "fig10", "zigzag", "congestion")
        ),
    )


def _none_consistent(sheets: Sheets) -> Verdict:
    """Each fails somewhere, in the way named in the paper."""
    return every(
        *(at_least(overall(sheets, "fig10", column, "m_w"), HIGH_M_W) for column in ("biaz", "mbiaz")),
        at_least(overall(sheets, "fig9", "spike", "m_c"), HIGH_M_C),
        below(sheets["fig10"].value("zigzag", "throughput", "1"), HIGH_THROUGHPUT),
    )


CLAIMS = [
    Claim(
        "no-base-consistent",
        "No base algorithm does well throughout: on a shared backbone both Biaz algorithms no longer tell "
        "losses apart, on the last hop Spike takes congestion for wireless, and a single ZigZag is slow on "
        "the backbone.",
        ("fig9", "fig10"),
        _none_consistent,
        "Sections 1, 6.5 and 8",
    ),
    Claim(
        "wb-unaware-rise",
        "On the backbone the throughput of TCP and TFRC rises quickly with the number of flows.",
        ("fig10",),
        lambda sheets: every(
            *(
                rising(*curve(sheets, "fig10", column, "throughput"), within=PRINTED)
                for column in ("tcp", "tfrc")
            )
        ),
        "Section 6.4",
    ),
    Claim(
        "wb-unaware-ten",
        "With ten flows on the backbone TCP uses 90 % and TFRC 97 %.",
        ("fig10",),
        lambda sheets: every(
            between(sheets["fig10"].value("tcp", "throughput", "10"), 90 - SIMILAR, 90 + SIMILAR),
            between(sheets["fig10"].value("tfrc", "throughput", "10"), 97 - SIMILAR, 97 + SIMILAR),
        ),
        "Section 6.4",
    ),
    Claim(
        "wb-omniscient-congests",
        "The omniscient TFRC fully uses the backbone, but with much more congestion loss than TCP and TFRC.",
        ("fig10",),
        _omniscient_congests,
        "Section 6.4",
    ),
    Claim(
        "wb-omniscient-rate",
        "On the backbone the omniscient TFRC's congestion loss follows the rate per flow.",
        ("fig10",),
        _rate_per_flow,
        "Section 6.4",
    ),
    Claim(
        "wb-biaz-m-w",
        "Both Biaz algorithms have a high M_w on the backbone with more than one flow.",
        ("fig10",),
        lambda sheets: every(
            *(
                at_least(value, HIGH_M_W)
                for column in ("biaz", "mbiaz")
                for value in curve(sheets, "fig10", column, "m_w", above=1)
            )
        ),
        "Sections 6.4 and 8",
    ),
    Claim(
        "wb-biaz-like-tfrc",
        "With more than one flow on the backbone both Biaz algorithms have about the throughput of "
        "plain TFRC.",
        ("fig10",),
        _like_tfrc,
        "Sections 6.4 and 6.5",
    ),
    Claim(
        "biaz-limit-wb",
        "On the backbone Biaz's performance is insensitive to its upper limit: mBiaz moves as much as Biaz.",
        ("fig10",),
        lambda sheets: close(
            overall(sheets, "fig10", "mbiaz", "throughput"),
            overall(sheets, "fig10", "biaz", "throughput"),
            SIMILAR,
        ),
        "Section 3.1",
    ),
    Claim(
        "wb-spike-m-c",
        "In competition on the backbone Spike's M_c is close to 0.",
        ("fig10",),
        lambda sheets: at_most(overall(sheets, "fig10", "spike", "m_c"), CLOSE_TO_ZERO),
        "Sections 6.4 and 8",
    ),
    Claim(
        "wb-spike-m-w-rises",
        "On the backbone Spike's M_w rises with the number of flows on the same rate.",
        ("fig10",),
        _spike_fuller,
        "Section 6.4",
    ),
    Claim(
        "wb-spike-fills",
        "Spike's rising M_w does not affect its throughput on the backbone.",
        ("fig10",),
        lambda sheets: reaches(sheets, "fig10", "spike", FULL),
        "Section 6.4",
    ),
    Claim(
        "zigzag-consistent",
        "ZigZag has similar M_c and M_w in competition on both topologies.",
        ("fig9", "fig10"),
        _similar_errors,
        "Sections 3.3, 6.4 and 8",
    ),
    Claim(
        "wb-zigzag-pattern",
        "On the backbone ZigZag follows the pattern of TCP and TFRC: little with one and two flows.",
        ("fig10",),
        _zigzag_pattern,
        "Section 6.4",
    ),
    Claim(
        "wb-zigzag-four",
        "ZigZag fully uses the backbone with four flows and more.",
        ("fig10",),
        lambda sheets: reaches(sheets, "fig10", "zigzag", FULL, above=3),
        "Section 6.4",
    ),
    Claim(
        "wb-zigzag-m-c-lower",
        "ZigZag's M_c is mostly lower on the backbone than on the last hop.",
        ("fig9", "fig10"),
        _mostly_lower,
        "Section 6.4",
    ),
    Claim(
        "wb-zigzag-congests",
        "ZigZag's congestion loss is higher on the backbone than on the last hop.",
        ("fig9", "fig10"),
        lambda sheets: above(
            overall(sheets, "fig10", "zigzag", "congestion"), overall(sheets, "fig9", "zigzag", "congestion")
        ),
        "Section 6.4",
    ),
    Claim(
        "wb-spike-best",
        "In competition on the backbone Spike is the best base algorithm: it moves most, and takes fewer "
        "congestion losses for wireless and congests less than ZigZag.",
        ("fig10",),
        _spike_best,
        "Sections 6.4 and 6.5",
    ),
]
