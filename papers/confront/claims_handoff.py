"""The sentences of Sections 4 and 5 on hand-offs and on the course of the throughput."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.claims import Check, Claim, Verdict, above, at_least, at_most, average, below, every, times
from whimbrel.papers.confront.claims import more
from whimbrel.papers.confront.measures import row_of
from whimbrel.papers.confront.thresholds import BRIEF_S, DENT, SAME
from whimbrel.papers.confront.topology import CCID2, CCID3, CONFRONTS, NAMES, UDP
from whimbrel.sheet import Sheet, Value

TCP = "tcp-cubic"
LINE = {UDP: 2, CCID2: 5, CCID3: 8}
"""The line of the confront of TCP Cubic and another scheme."""
PERCENT = DENT * 100
RECOVERED = 95.0
"""Per cent of the throughput before."""
START_S, BEFORE_S, AFTER_S = 20, 5, 60


def _at(sheet: Sheet, other: str, scheme: str, metric: str) -> Value:
    """A metric in the confront of TCP Cubic and another scheme."""
    return sheet.value(scheme, metric, row=row_of(CONFRONTS[str(LINE[other])]))


def _dent(other: str, scheme: str) -> Check:
    return lambda sheets: at_least(_at(sheets["handoffs"], other, scheme, "dent"), PERCENT)


def _recovers(sheets: Mapping[str, Sheet]) -> Verdict:
    cases = ((UDP, TCP), (CCID2, TCP), (CCID2, CCID2))
    return every(
        *(at_least(_at(sheets["handoffs"], other, scheme, "after"), RECOVERED) for other, scheme in cases)
    )


def _harmless(other: str, scheme: str) -> Check:
    def check(sheets: Mapping[str, Sheet]) -> Verdict:
        moving, still = (_at(sheets[key], other, scheme, "throughput") for key in ("table3", "no-handoff"))
        return times(moving, still, 1 - SAME, 1 + SAME)

    return check


def _declines(sheets: Mapping[str, Sheet]) -> Verdict:
    sheet = sheets["fig2"]

    def course(low: int, high: int) -> Value:
        rows = [row for row in sheet.rows if low < int(row) <= high]
        return average([sheet.value(TCP, "throughput", row=row) for row in rows], f"{low} to {high} s")

    return more(course(BEFORE_S, START_S), course(START_S, AFTER_S))


def _smaller_dent(sheets: Mapping[str, Sheet]) -> Verdict:
    mine, tcp = (_at(sheets["handoffs"], CCID2, scheme, "dent") for scheme in (CCID2, TCP))
    return below(mine, tcp)


def _more_lost(sheets: Mapping[str, Sheet]) -> Verdict:
    then, before = (_at(sheets["handoffs"], UDP, UDP, metric) for metric in ("lost_then", "lost_before"))
    return above(then, before)


_FIGURE_2, _FIGURE_3 = "Section 4.1, Figure 2", "Section 4.1, Figure 3"
_HANDOFFS = ("handoffs",)

CLAIMS = [
    Claim(
        "dent-tcp-udp",
        f"Against UDP, the throughput of TCP Cubic decreases at a hand-off (by {PERCENT:g} %).",
        _HANDOFFS,
        _dent(UDP, TCP),
        _FIGURE_2,
    ),
    Claim(
        "dent-tcp-ccid2",
        f"Against DCCP-2, the throughput of TCP Cubic decreases at a hand-off (by {PERCENT:g} %).",
        _HANDOFFS,
        _dent(CCID2, TCP),
        _FIGURE_3,
    ),
    Claim(
        "dent-ccid2",
        f"The throughput of DCCP-2 decreases at a hand-off (by {PERCENT:g} %).",
        _HANDOFFS,
        _dent(CCID2, CCID2),
        _FIGURE_3,
    ),
    Claim(
        "dent-ccid2-small",
        "The throughput of DCCP-2 decreases less at a hand-off than that of TCP Cubic.",
        _HANDOFFS,
        _smaller_dent,
        _FIGURE_3,
    ),
    Claim(
        "dent-brief",
        f"{BRIEF_S:g} s after a hand-off, TCP Cubic and DCCP-2 have {RECOVERED:g} % of their throughput.",
        _HANDOFFS,
        _recovers,
        "Section 4.1, Figures 2 and 3",
    ),
    Claim(
        "udp-constant",
        f"The throughput of UDP is constant: it does not decrease at a hand-off (by {PERCENT:g} %).",
        _HANDOFFS,
        lambda sheets: at_most(_at(sheets["handoffs"], UDP, UDP, "dent"), PERCENT),
        _FIGURE_2,
    ),
    Claim(
        "udp-loses-more-then",
        "UDP loses more at a hand-off than before it.",
        _HANDOFFS,
        _more_lost,
        _FIGURE_2,
    ),
    Claim(
        "tcp-declines",
        f"The throughput of TCP Cubic declines when UDP is introduced ({START_S} to {AFTER_S} s).",
        ("fig2",),
        _declines,
        _FIGURE_2,
    ),
    *(
        Claim(
            f"harmless-{scheme}-{other}",
            f"Hand-offs do not affect {NAMES[scheme]} in line {LINE[other]} (its throughput, by {SAME:.0%}).",
            ("table3", "no-handoff"),
            _harmless(other, scheme),
            "Section 5",
        )
        for other, scheme in ((UDP, TCP), (CCID2, TCP), (CCID2, CCID2), (CCID3, CCID3))
    ),
]
