"""The paper's claims on reordering without a buffer (Section II, Table I).

Its sentences are checked by the reading of Figures 2 to 4: `delayed`. The same by the other reading, `netem`,
are claims of our own.
"""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.claims import Claim, Verdict, at_least, average, below, between, every, ordered
from whimbrel.papers.reorder.thresholds import FULL_KBPS, PRINTED, Sheets
from whimbrel.sheet import Value

TAKEN, OTHER = "delayed", "netem"


def _values(sheets: Sheets, item: str, column: str, metric: str) -> list[Value]:
    sheet = sheets[item]
    return [sheet.value(column, metric, row) for row in sheet.rows]


def _loss_rises(sheets: Sheets, column: str, item: str = "table1") -> Verdict:
    return ordered(*_values(sheets, item, column, "ler"))


def _rate_falls(sheets: Sheets, column: str, item: str = "table1") -> Verdict:
    return ordered(*reversed(_values(sheets, item, column, "rate")))


def _more_is_worse(sheets: Sheets, column: str) -> Verdict:
    return every(*(check(sheets, column, "table1-share") for check in (_loss_rises, _rate_falls)))


def _costs(sheets: Sheets, column: str) -> Verdict:
    pairs = zip(
        _values(sheets, "table1", column, "rate"), _values(sheets, "table1", "in-order", "rate"), strict=True
    )
    return every(*(below(reordered, in_order) for reordered, in_order in pairs))


def _fills(sheets: Sheets) -> Verdict:
    return every(*(at_least(value, FULL_KBPS) for value in _values(sheets, "table1", "in-order", "rate")))


def _comes_out(sheets: Sheets, column: str, metric: str) -> Verdict:
    """Within a tenth of the printed numbers, which are listed with the default reading."""
    printed = [value.paper or 0.0 for value in _values(sheets, "table1", TAKEN, metric)]
    pairs = zip(_values(sheets, "table1", column, metric), printed, strict=True)
    return every(*(between(value, (1 - PRINTED) * number, (1 + PRINTED) * number) for value, number in pairs))


def _forgiveness(sheets: Sheets) -> Verdict:
    """At least half of the loss due to reordering is recovered, where there is any."""
    sheet = sheets["table1"]
    parts = []
    for row in sheet.rows:
        reordered, in_order = (sheet.value(column, "rate", row) for column in (TAKEN, "in-order"))
        if below(reordered, FULL_KBPS).holds:
            midway = average([reordered, in_order], f"midway to in order ({row} ms)")
            parts.append(at_least(sheet.value("forgiven", "rate", row), midway))
    return every(*parts)


def _both(
    key: str, claim: str, item: str, check: Callable[[Sheets, str], Verdict], where: str
) -> tuple[Claim, Claim]:
    """A sentence of the paper by the default reading, and the same by the other one."""
    return (
        Claim(key, claim, (item,), lambda sheets: check(sheets, TAKEN), where),
        Claim(
            f"{key}-{OTHER}",
            f"{claim} The same if NetEm delays all packets but 5 % (another reading).",
            (item,),
            lambda sheets: check(sheets, OTHER),
        ),
    )


CLAIMS = [
    *_both(
        "more-reordering-more-loss",
        "The higher the reordering ratio, the higher the loss event rate, and the lower the throughput.",
        "table1-share",
        _more_is_worse,
        "Section II",
    ),
    *_both(
        "ler-rises",
        "The loss event rate rises down Table I, with the round-trip time and the spread of the delays.",
        "table1",
        _loss_rises,
        "Table I",
    ),
    *_both("rate-falls", "The throughput falls down Table I.", "table1", _rate_falls, "Table I"),
    *_both(
        "reordering-costs",
        "Reordering alone, without any loss, reduces DCCP's throughput at every round-trip time.",
        "table1",
        _costs,
        "Section II, Table I",
    ),
    Claim(
        "in-order-fills",
        "Without reordering DCCP fills the link of 1 Mbit/s at every round-trip time.",
        ("table1",),
        _fills,
        "Table I",
    ),
    *_both(
        "rates-printed",
        "The throughputs of Table I are reproduced within a tenth.",
        "table1",
        lambda sheets, column: _comes_out(sheets, column, "rate"),
        "Table I",
    ),
    *_both(
        "ler-printed",
        "The loss event rates of Table I are reproduced within a tenth.",
        "table1",
        lambda sheets, column: _comes_out(sheets, column, "ler"),
        "Table I",
    ),
    Claim(
        "forgiveness-restores",
        "If a late packet withdraws its loss, as RFC 5348 allows, at least half of the throughput lost "
        "by reordering is recovered without any buffer (not in the paper).",
        ("table1",),
        _forgiveness,
    ),
]
