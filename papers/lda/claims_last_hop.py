"""The paper's claims on base algorithms in competition on the last hop (Sections 3.1, 6.3, 6.5)."""

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
    span,
    steady,
    times,
)
from whimbrel.papers.lda.thresholds import (
    CLOSE_TO_ZERO,
    HIGH_M_C,
    HIGH_M_W,
    HIGH_THROUGHPUT,
    MUCH,
    PRINTED,
    SIMILAR,
    SIMILAR_ERRORS,
    Sheets,
    curve,
    one,
    overall,
    reaches,
    rows,
)
from whimbrel.papers.lda.topology import BASE
from whimbrel.sheet import Value


def _range(sheets: Sheets, column: str) -> Value:
    return span(curve(sheets, "fig9", column, "m_c"), f"{column}, from the least M_c to the greatest")


def _zigzag_varies_little(sheets: Sheets) -> Verdict:
    return every(*(below(_range(sheets, "zigzag"), _range(sheets, other)) for other in ("biaz", "spike")))


def _mbiaz_lower(sheets: Sheets) -> Verdict:
    """Less than Biaz over all N, and least with two flows."""
    at_two = sheets["fig9"].value("mbiaz", "throughput", "2")
    others = [
        sheets["fig9"].value("mbiaz", "throughput", row)
        for row in rows(sheets["fig9"], above=1)
        if row != "2"
    ]
    return every(
        below(overall(sheets, "fig9", "mbiaz", "throughput"), overall(sheets, "fig9", "biaz", "throughput")),
        lowest(at_two, *others),
    )


def _many_mbiaz(sheets: Sheets) -> Verdict:
    many = rows(sheets["fig9"], above=6)
    sheet = sheets["fig9"]
    return every(
        *(at_least(sheet.value("mbiaz", "throughput", row), HIGH_THROUGHPUT) for row in many),
        *(
            below(sheet.value("mbiaz", "congestion", row), sheet.value("omniscient", "congestion", row))
            for row in many
        ),
    )


def _zigzag_best(sheets: Sheets) -> Verdict:
    """The scheme congests least of the base algorithms, and has about the largest throughput."""
    throughput = {column: overall(sheets, "fig9", column, "throughput") for column in BASE}
    most_of_all = max(throughput.values(), key=lambda value: value.mean)
    return every(
        close(throughput["zigzag"], most_of_all, SIMILAR),
        lowest(
            *(
                overall(sheets, "fig9", column, "congestion")
                for column in ("zigzag", *(each for each in BASE if each != "zigzag"))
            )
        ),
    )


def _unacceptable(sheets: Sheets) -> Verdict:
    """Both are very high, and higher than modified Biaz's and ZigZag's."""
    return every(
        *(
            part
            for column in ("biaz", "spike")
            for part in (
                at_least(overall(sheets, "fig9", column, "m_c"), HIGH_M_C),
                *(
                    above(overall(sheets, "fig9", column, "m_c"), overall(sheets, "fig9", other, "m_c"))
                    for other in ("mbiaz", "zigzag")
                ),
            )
        )
    )


CLAIMS = [
    Claim(
        "wlh-zigzag-best",
        "In competition on the last hop ZigZag is the best of the base algorithms: a high throughput at the "
        "lowest congestion loss.",
        ("fig9",),
        _zigzag_best,
        "Sections 6.3 and 6.5",
    ),
    Claim(
        "wlh-biaz-spike-unacceptable",
        "In competition on the last hop Biaz and Spike have an unacceptably high M_c.",
        ("fig9",),
        _unacceptable,
        "Section 6.5",
    ),
    Claim(
        "biaz-congests",
        "In competition on the last hop Biaz loses 8 to 12 % of its throughput to congestion.",
        ("fig9",),
        lambda sheets: most(
            *(between(value, 8, 12) for value in curve(sheets, "fig9", "biaz", "congestion", above=1))
        ),
        "Sections 3.1 and 6.3",
    ),
    Claim(
        "biaz-twice-omniscient",
        "Biaz's congestion loss in competition on the last hop is almost twice the omniscient TFRC's.",
        ("fig9",),
        lambda sheets: times(
            overall(sheets, "fig9", "biaz", "congestion"),
            overall(sheets, "fig9", "omniscient", "congestion"),
            1.5,
            2.0,
        ),
        "Section 3.1",
    ),
    Claim(
        "biaz-congests-most",
        "In competition on the last hop Biaz's congestion loss is far above that of all others.",
        ("fig9",),
        lambda sheets: every(
            *(
                times(
                    overall(sheets, "fig9", "biaz", "congestion"),
                    overall(sheets, "fig9", column, "congestion"),
                    MUCH,
                )
                for column in ("tcp", "tfrc", "omniscient", "mbiaz", "spike", "zigzag")
            )
        ),
        "Sections 3.1 and 6.3",
    ),
    Claim(
        "others-congest-less",
        "In competition on the last hop mBiaz, Spike and ZigZag congest less than the omniscient TFRC.",
        ("fig9",),
        lambda sheets: every(
            *(
                below(
                    overall(sheets, "fig9", column, "congestion"),
                    overall(sheets, "fig9", "omniscient", "congestion"),
                )
                for column in ("mbiaz", "spike", "zigzag")
            )
        ),
        "Section 3.1",
    ),
    Claim(
        "wlh-unaware-rise",
        "On the last hop the throughput of TCP and TFRC increases with the number of flows.",
        ("fig9",),
        lambda sheets: every(
            *(
                rising(*curve(sheets, "fig9", column, "throughput"), within=PRINTED)
                for column in ("tcp", "tfrc")
            )
        ),
        "Section 6.3",
    ),
    Claim(
        "wlh-omniscient-steady",
        "On the last hop the number of flows does not affect the omniscient TFRC's throughput.",
        ("fig9",),
        lambda sheets: steady(SIMILAR, *curve(sheets, "fig9", "omniscient", "throughput")),
        "Section 6.3",
    ),
    Claim(
        "wlh-biaz-fills",
        "Biaz keeps its high throughput on the last hop whatever the number of flows.",
        ("fig9",),
        lambda sheets: reaches(sheets, "fig9", "biaz", HIGH_THROUGHPUT),
        "Section 6.3",
    ),
    Claim(
        "wlh-biaz-m-c",
        "Biaz's M_c on the last hop rises dramatically beyond one flow.",
        ("fig9",),
        lambda sheets: every(
            at_most(one(sheets, "fig9", "biaz", "m_c"), CLOSE_TO_ZERO),
            *(at_least(value, HIGH_M_C) for value in curve(sheets, "fig9", "biaz", "m_c", above=1)),
        ),
        "Section 6.3",
    ),
    Claim(
        "wlh-mbiaz-m-c",
        "In competition on the last hop modified Biaz has the lowest M_c of the base algorithms.",
        ("fig9",),
        lambda sheets: lowest(
            overall(sheets, "fig9", "mbiaz", "m_c"),
            *(overall(sheets, "fig9", column, "m_c") for column in ("biaz", "spike", "zigzag")),
        ),
        "Section 6.3",
    ),
    Claim(
        "wlh-mbiaz-m-w",
        "In competition on the last hop modified Biaz has a high M_w, higher than Biaz.",
        ("fig9",),
        lambda sheets: every(
            at_least(overall(sheets, "fig9", "mbiaz", "m_w"), HIGH_M_W),
            above(overall(sheets, "fig9", "mbiaz", "m_w"), overall(sheets, "fig9", "biaz", "m_w")),
        ),
        "Section 6.3",
    ),
    Claim(
        "wlh-mbiaz-two-flows",
        "In competition on the last hop modified Biaz has less throughput than Biaz, above all with "
        "two flows.",
        ("fig9",),
        _mbiaz_lower,
        "Section 6.3",
    ),
    Claim(
        "wlh-spike-fills",
        "Spike's throughput on the last hop is high for every number of flows.",
        ("fig9",),
        lambda sheets: reaches(sheets, "fig9", "spike", HIGH_THROUGHPUT),
        "Section 6.3",
    ),
    Claim(
        "wlh-spike-errs",
        "In competition on the last hop both M_c and M_w of Spike are very high.",
        ("fig9",),
        lambda sheets: every(
            at_least(overall(sheets, "fig9", "spike", "m_c"), HIGH_M_C),
            at_least(overall(sheets, "fig9", "spike", "m_w"), HIGH_M_W),
        ),
        "Section 6.3",
    ),
    Claim(
        "wlh-spike-m-w-persists",
        "Spike's M_w in competition on the last hop is similar to that of a single flow.",
        ("fig9",),
        lambda sheets: close(
            overall(sheets, "fig9", "spike", "m_w"), one(sheets, "fig9", "spike", "m_w"), SIMILAR_ERRORS
        ),
        "Section 6.3",
    ),
    Claim(
        "wlh-zigzag-fills",
        "ZigZag's throughput on the last hop is high for every number of flows.",
        ("fig9",),
        lambda sheets: reaches(sheets, "fig9", "zigzag", HIGH_THROUGHPUT),
        "Section 6.3",
    ),
    Claim(
        "wlh-zigzag-congests-little",
        "ZigZag's congestion loss on the last hop is low, below the omniscient TFRC's, for every N.",
        ("fig9",),
        lambda sheets: every(
            *(
                below(mine, truth)
                for mine, truth in zip(
                    curve(sheets, "fig9", "zigzag", "congestion"),
                    curve(sheets, "fig9", "omniscient", "congestion"),
                    strict=True,
                )
            )
        ),
        "Section 6.3",
    ),
    Claim(
        "wlh-zigzag-m-c-rises",
        "ZigZag's M_c on the last hop is higher with more flows.",
        ("fig9",),
        lambda sheets: above(
            curve(sheets, "fig9", "zigzag", "m_c")[-1], curve(sheets, "fig9", "zigzag", "m_c")[0]
        ),
        "Section 6.3",
    ),
    Claim(
        "wlh-zigzag-second",
        "In competition on the last hop ZigZag has the second lowest M_c of the base algorithms.",
        ("fig9",),
        lambda sheets: every(
            above(overall(sheets, "fig9", "zigzag", "m_c"), overall(sheets, "fig9", "mbiaz", "m_c")),
            *(
                below(overall(sheets, "fig9", "zigzag", "m_c"), overall(sheets, "fig9", column, "m_c"))
                for column in ("biaz", "spike")
            ),
        ),
        "Section 6.3",
    ),
    Claim(
        "wlh-zigzag-varies-little",
        "ZigZag's M_c on the last hop varies little with the number of flows, beside that of Biaz and Spike.",
        ("fig9",),
        _zigzag_varies_little,
        "Section 6.3",
    ),
    Claim(
        "wlh-zigzag-m-w",
        "In competition on the last hop ZigZag has the highest M_w of the base algorithms.",
        ("fig9",),
        lambda sheets: highest(
            overall(sheets, "fig9", "zigzag", "m_w"),
            *(overall(sheets, "fig9", column, "m_w") for column in ("biaz", "mbiaz", "spike")),
        ),
        "Section 6.3",
    ),
    Claim(
        "wlh-all-high",
        "All base algorithms have a high throughput when they compete with their like on the last hop.",
        ("fig9",),
        lambda sheets: every(
            *(at_least(overall(sheets, "fig9", column, "throughput"), HIGH_THROUGHPUT) for column in BASE)
        ),
        "Section 6.3",
    ),
    Claim(
        "wlh-mbiaz-many",
        "Modified Biaz performs well on the last hop with more than six flows.",
        ("fig9",),
        _many_mbiaz,
        "Section 6.5",
    ),
]
