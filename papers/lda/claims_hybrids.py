"""The paper's claims on the hybrids (Sections 7 and 8)."""

from __future__ import annotations

from whimbrel.claims import Claim, Verdict, above, at_most, below, between, close, every, most, not_above
from whimbrel.papers.lda.thresholds import (
    CLOSE_TO_ZERO,
    SIMILAR,
    SIMILAR_ERRORS,
    Sheets,
    overall,
    rows,
)
from whimbrel.papers.lda.topology import BASE, HYBRIDS

_BASE_SHEET = {"fig12": "fig9", "fig13": "fig10"}


def _near_omniscient(sheets: Sheets, columns: tuple[str, ...]) -> Verdict:
    return every(
        *(
            close(
                sheets[item].value(column, "throughput", row),
                sheets[item].value("omniscient", "throughput", row),
                SIMILAR,
            )
            for item in ("fig12", "fig13")
            for row in rows(sheets[item])
            for column in columns
        )
    )


def _matches_best(sheets: Sheets) -> Verdict:
    """Case by case: no base algorithm is known to exceed a hybrid by more than the limit of "similar"."""
    verdicts = []
    for item, base in _BASE_SHEET.items():
        for row in rows(sheets[item]):
            best = max(
                (sheets[base].value(column, "throughput", row) for column in BASE),
                key=lambda value: value.mean,
            )
            verdicts += [
                above(sheets[item].value(column, "throughput", row), best, by=-SIMILAR)
                for column in ("zbs2", "zbs3")
            ]
    return most(*verdicts)


def _zbs_errs_more(sheets: Sheets) -> Verdict:
    return every(
        *(
            above(overall(sheets, "fig12", "zbs", "m_c"), overall(sheets, "fig12", column, "m_c"))
            for column in ("zbs2", "zbs3")
        )
    )


def _less_than_zigzag(sheets: Sheets, metric: str) -> Verdict:
    return every(
        *(
            below(overall(sheets, "fig12", column, metric), overall(sheets, "fig12", "zigzag", metric))
            for column in ("zbs2", "zbs3")
        )
    )


def _spike_in_wb(sheets: Sheets) -> Verdict:
    spike = overall(sheets, "fig13", "spike", "m_w")
    return every(
        *(close(overall(sheets, "fig13", column, "m_w"), spike, SIMILAR_ERRORS) for column in HYBRIDS)
    )


def _congestion_safe(sheets: Sheets) -> Verdict:
    """On both topologies the two hybrids lose no more to congestion than the omniscient TFRC."""
    return every(
        *(
            not_above(
                overall(sheets, item, column, "congestion"), overall(sheets, item, "omniscient", "congestion")
            )
            for item in ("fig12", "fig13")
            for column in ("zbs2", "zbs3")
        )
    )


def _narr_is_n(sheets: Sheets) -> Verdict:
    sheet = sheets["inter-arrival"]
    return every(
        *(between(sheet.value("WB", "narr", row), 0.75 * int(row), 1.25 * int(row)) for row in sheet.rows)
    )


CLAIMS = [
    Claim(
        "narr-wlh",
        "On the last hop the mean time between packets is near the least one: T_narr is about 1.",
        ("inter-arrival",),
        lambda sheets: every(
            *(
                between(sheets["inter-arrival"].value("WLH", "narr", row), 0.75, 1.25)
                for row in sheets["inter-arrival"].rows
            )
        ),
        "Section 7",
    ),
    Claim(
        "narr-wb",
        "On the backbone T_narr is about N, the number of flows that share the link.",
        ("inter-arrival",),
        _narr_is_n,
        "Section 7",
    ),
    Claim(
        "narr-misleads-zbs",
        "In competition on the last hop the link is not always busy, and from time to time T_narr looks like "
        "a backbone's.",
        ("inter-arrival",),
        lambda sheets: every(
            *(
                between(sheets["inter-arrival"].value("WLH", "shared", row), 1, 50)
                for row in rows(sheets["inter-arrival"], above=1)
            )
        ),
        "Section 7.2",
    ),
    Claim(
        "rott-steady-wlh",
        "The trip time varies little beside T_min on the last hop, and comparably to it on the backbone.",
        ("inter-arrival",),
        lambda sheets: every(
            *(
                above(
                    sheets["inter-arrival"].value("WLH", "steady", row),
                    sheets["inter-arrival"].value("WB", "steady", row),
                )
                for row in rows(sheets["inter-arrival"], above=1)
            )
        ),
        "Section 7.2",
    ),
    Claim(
        "hybrids-throughput",
        "All three hybrids have a throughput close to the omniscient TFRC's on both topologies, for all "
        "numbers of flows.",
        ("fig12", "fig13"),
        lambda sheets: _near_omniscient(sheets, HYBRIDS),
        "Section 7.4",
    ),
    Claim(
        "two-hybrids-everywhere",
        "ZBS2 and ZBS3 have an excellent throughput on both topologies, regardless of the number of flows.",
        ("fig12", "fig13"),
        lambda sheets: _near_omniscient(sheets, ("zbs2", "zbs3")),
        "Section 8",
    ),
    Claim(
        "two-hybrids-congest-no-more",
        "ZBS2 and ZBS3 do so without more congestion loss than the omniscient TFRC.",
        ("fig12", "fig13"),
        _congestion_safe,
        "Sections 7.4 and 8",
    ),
    Claim(
        "zbs-m-c-wlh",
        "In competition on the last hop ZBS has a higher M_c than ZBS2 and ZBS3: it takes the topology for a "
        "backbone and uses Spike.",
        ("fig12",),
        _zbs_errs_more,
        "Sections 7.2 and 7.4",
    ),
    Claim(
        "two-hybrids-m-c-wlh",
        "In competition on the last hop ZBS2 and ZBS3 have a lower M_c than ZigZag.",
        ("fig12",),
        lambda sheets: _less_than_zigzag(sheets, "m_c"),
        "Section 7.4",
    ),
    Claim(
        "two-hybrids-m-w-wlh",
        "In competition on the last hop ZBS2 and ZBS3 have a lower M_w than ZigZag.",
        ("fig12",),
        lambda sheets: _less_than_zigzag(sheets, "m_w"),
        "Section 7.4",
    ),
    Claim(
        "two-hybrids-congestion-wlh",
        "In competition on the last hop ZBS2 and ZBS3 lose 3 to 4 % to congestion.",
        ("fig12",),
        lambda sheets: every(
            *(between(overall(sheets, "fig12", column, "congestion"), 3, 4) for column in ("zbs2", "zbs3"))
        ),
        "Section 7.4",
    ),
    Claim(
        "hybrids-m-c-wb",
        "In competition on the backbone all three hybrids have an M_c close to 0.",
        ("fig13",),
        lambda sheets: every(
            *(at_most(overall(sheets, "fig13", column, "m_c"), CLOSE_TO_ZERO) for column in HYBRIDS)
        ),
        "Section 7.4",
    ),
    Claim(
        "hybrids-m-w-wb",
        "In competition on the backbone all three hybrids have an M_w similar to Spike's.",
        ("fig13",),
        _spike_in_wb,
        "Section 7.4",
    ),
    Claim(
        "two-hybrids-match-best",
        "In most cases ZBS2 and ZBS3 match or exceed the throughput of the best base algorithm of the case.",
        ("fig9", "fig10", "fig12", "fig13"),
        _matches_best,
        "Section 7.4",
    ),
]
