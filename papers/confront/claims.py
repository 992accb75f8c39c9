"""The sentences of Sections 4 and 5 on the tables; `thresholds` has numbers for their words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whimbrel.claims import (
    Check,
    Claim,
    Verdict,
    above,
    at_least,
    at_most,
    average,
    below,
    every,
    times,
)
from whimbrel.papers.confront.measures import ROWS
from whimbrel.papers.confront.tables import TABLES
from whimbrel.papers.confront.thresholds import FAIR, FEW, LEAST, MOST, SAME, SOURCE
from whimbrel.papers.confront.topology import CCID2, CCID3, NAMES, TCPS, UDP
from whimbrel.sheet import Sheet, Value

Sheets: TypeAlias = Mapping[str, Sheet]
KEYS = tuple(TABLES)
RESULTS, CONCLUSION = "Section 4.1", "Section 5"
ALL_TCP = tuple(TCPS.values())


@dataclass(frozen=True)
class Line:
    """A line of a table.

    Attributes:
        row: its key.
        first: scheme of the flow that starts first.
        other: scheme of the other flows.
    """

    row: str
    first: str
    other: str

    def of(self, sheet: Sheet, scheme: str, metric: str) -> Value:
        """A metric of one of its schemes."""
        return sheet.value(scheme, metric, row=self.row)


LINES = [Line(row, confront.first, confront.other) for row, confront in ROWS.items()]


def lines(first: Sequence[str], other: str) -> list[Line]:
    """The lines of confronts between one of the first schemes and another."""
    return [line for line in LINES if line.first in first and line.other == other]


AGAINST_UDP = lines(ALL_TCP, UDP)
AGAINST_DCCP = [*lines(ALL_TCP, CCID2), *lines(ALL_TCP, CCID3)]
DCCP_UDP = lines((CCID2, CCID3), UDP)


def on_each_table(claim: str, sentence: str, where: str, check: Callable[[Sheet], Verdict]) -> list[Claim]:
    """A claim on each of the two tables."""

    def of(key: str) -> Check:
        return lambda sheets: check(sheets[key])

    return [
        Claim(f"{claim}-{size}", f"{sentence} (packets of {size} bytes).", (key,), of(key), where)
        for key, size in TABLES.items()
    ]


def mean(sheet: Sheet, chosen: Sequence[Line], scheme: str) -> Value:
    """The mean throughput of a scheme over the lines that have it."""
    values = [line.of(sheet, scheme, "throughput") for line in chosen if scheme in (line.first, line.other)]
    return average(values, NAMES[scheme])


def more(a: Value, b: Value) -> Verdict:
    """The mean of `a` exceeds the mean of `b` by at least `LEAST`; undecided if they differ by less."""
    verdict = times(a, b, 1 + LEAST)
    if times(a, b, 1 - LEAST, 1 + LEAST).holds:
        # No number of runs decides a difference without substance.
        return Verdict(None, f"{verdict.evidence}; less than {LEAST:.0%} apart")
    if verdict.holds is False and not times(a, b, 0.0, 1 - LEAST).holds:
        return Verdict(None, verdict.evidence, a.cells | b.cells)
    return verdict


def _udp_loses(sheet: Sheet) -> Verdict:
    return every(*(above(line.of(sheet, UDP, "lost_share"), MOST) for line in (*AGAINST_UDP, *DCCP_UDP)))


def _dccp_loses(sheet: Sheet) -> Verdict:
    cases = [*((line, line.other) for line in AGAINST_DCCP), *((line, line.first) for line in DCCP_UDP)]
    return every(*(at_most(line.of(sheet, scheme, "lost_share"), FEW) for line, scheme in cases))


def _at_source(sheet: Sheet) -> Verdict:
    return every(*(at_least(line.of(sheet, UDP, "at_source"), SOURCE) for line in (*AGAINST_UDP, *DCCP_UDP)))


def _out_of_order(sheet: Sheet) -> Verdict:
    return every(*(above(line.of(sheet, UDP, "reordered"), 0.0) for line in (*AGAINST_UDP, *DCCP_UDP)))


def _fair(sheet: Sheet) -> Verdict:
    pairs = [
        [line.of(sheet, each, "throughput") for each in (line.first, line.other)] for line in AGAINST_DCCP
    ]
    return every(*(times(tcp, dccp, 1 / FAIR, FAIR) for tcp, dccp in pairs))


def _smoother(metric: str) -> Callable[[Sheet], Verdict]:
    """CCID 3 in competition with a TCP, or UDP, against CCID 2 in competition with the same."""

    def jitter(sheet: Sheet, ccid: str) -> list[Value]:
        own = [*lines(ALL_TCP, ccid), *lines((ccid,), UDP)]
        return [line.of(sheet, ccid, metric) for line in own]

    def check(sheet: Sheet) -> Verdict:
        pairs = zip(jitter(sheet, CCID3), jitter(sheet, CCID2), strict=True)
        return every(*(below(third, second) for third, second in pairs))

    return check


def _against_udp(sheet: Sheet, scheme: str) -> Value:
    (line,) = lines((scheme,), UDP)
    return line.of(sheet, scheme, "throughput")


def _worse(ccid: str, tcp: str) -> Callable[[Sheet], Verdict]:
    return lambda sheet: more(_against_udp(sheet, tcp), _against_udp(sheet, ccid))


def _performs(ccid: str, tcp: str) -> list[Claim]:
    """DCCP and TCP, each against UDP: DCCP performs worse, with one exception."""
    if (ccid, tcp) == (CCID3, "tcp-reno"):
        sentence = f"Against UDP, {NAMES[ccid]} performs better than {NAMES[tcp]}"
        return on_each_table(
            f"better-{ccid}-{tcp}",
            sentence,
            CONCLUSION,
            lambda sheet: more(_against_udp(sheet, ccid), _against_udp(sheet, tcp)),
        )
    sentence = f"Against UDP, {NAMES[ccid]} performs worse than {NAMES[tcp]}"
    return on_each_table(f"worse-{ccid}-{tcp}", sentence, CONCLUSION, _worse(ccid, tcp))


def _reno_lowest(sheet: Sheet) -> Verdict:
    reno, *others = (mean(sheet, LINES, tcp) for tcp in ALL_TCP)
    return every(*(more(other, reno) for other in others))


def _cubic_best(sheet: Sheet) -> Verdict:
    return more(mean(sheet, LINES, "tcp-cubic"), mean(sheet, LINES, "tcp-veno"))


def _interferes(sheet: Sheet) -> Verdict:
    with_udp = average([line.of(sheet, line.first, "throughput") for line in AGAINST_UDP], "TCP with UDP")
    with_dccp = average([line.of(sheet, line.first, "throughput") for line in AGAINST_DCCP], "TCP with DCCP")
    return more(with_dccp, with_udp)


def _sizes(sheets: Sheets, line: Line, scheme: str) -> tuple[Value, Value]:
    """The effective loads with small and large packets."""
    small, large = (line.of(sheets[key], scheme, "load") for key in KEYS)
    return small, large


def _larger_helps(chosen: Sequence[Line], of: Callable[[Line], str]) -> Check:
    def check(sheets: Sheets) -> Verdict:
        pairs = [_sizes(sheets, line, of(line)) for line in chosen]
        return every(*(more(large, small) for small, large in pairs))

    return check


def _larger_is_useless(sheets: Sheets) -> Verdict:
    pairs = [_sizes(sheets, line, line.first) for line in AGAINST_UDP]
    return every(*(times(large, small, 0.0, 1 + SAME) for small, large in pairs))


def _size_is_indifferent(sheets: Sheets) -> Verdict:
    pairs = [[mean(sheets[key], LINES, scheme) for key in KEYS] for scheme in NAMES]
    return every(*(times(large, small, 1 - SAME, 1 + SAME) for small, large in pairs))


def _size_claims() -> list[Claim]:
    larger = "transmits more data with packets of 1424 bytes than with 512"
    claims = [
        Claim(
            "size-same",
            f"The size of packets changes no protocol's throughput considerably (by {SAME:.0%}).",
            KEYS,
            _size_is_indifferent,
            RESULTS,
        ),
        Claim(
            "size-tcp-udp",
            f"Against UDP, no TCP {larger} (by {SAME:.0%}).",
            KEYS,
            _larger_is_useless,
            RESULTS,
        ),
    ]
    for ccid in (CCID2, CCID3):
        chosen = lines(ALL_TCP, ccid)
        sentences = {
            f"size-tcp-{ccid}": (
                f"Against {NAMES[ccid]}, every TCP {larger}.",
                lambda line: line.first,
                RESULTS,
            ),
            f"size-{ccid}": (f"Against TCP, {NAMES[ccid]} {larger}.", lambda line: line.other, CONCLUSION),
        }
        claims += [
            Claim(key, sentence, KEYS, _larger_helps(chosen, of), where)
            for key, (sentence, of, where) in sentences.items()
        ]
    return claims


CLAIMS = [
    *on_each_table("udp-loses-most", f"UDP loses more than {MOST:g} % of what it sends", RESULTS, _udp_loses),
    *on_each_table("dccp-loses-few", f"DCCP loses at most {FEW:g} % of what it sends", RESULTS, _dccp_loses),
    *on_each_table(
        "source",
        f"UDP does not congest the network: at least {SOURCE:g} % of its losses are at the source",
        CONCLUSION,
        _at_source,
    ),
    *on_each_table(
        "udp-interferes",
        "UDP interferes with TCP, which has less throughput against it than against DCCP",
        CONCLUSION,
        _interferes,
    ),
    *on_each_table("out-of-order", "UDP delivers packets out of order", RESULTS, _out_of_order),
    *on_each_table(
        "fair",
        f"TCP and DCCP share in a fair way: their throughputs differ by at most a factor of {FAIR:g}",
        CONCLUSION,
        _fair,
    ),
    *on_each_table(
        "jitter", "The jitter of CCID 3 is below that of CCID 2", "Tables 3 and 4", _smoother("jitter")
    ),
    *_size_claims(),
    *(claim for ccid in (CCID2, CCID3) for tcp in ALL_TCP for claim in _performs(ccid, tcp)),
    *on_each_table(
        "reno-lowest", "TCP Reno has the lowest throughput of the three", CONCLUSION, _reno_lowest
    ),
    *on_each_table(
        "cubic-above-veno", "TCP Cubic has more throughput than TCP Veno", CONCLUSION, _cubic_best
    ),
]
