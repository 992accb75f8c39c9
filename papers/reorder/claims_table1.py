"""What the paper says of reordering without a buffer (Section II, Table I)."""

from __future__ import annotations

from whimbrel.claims import Claim, Verdict, at_least, average, below, every, ordered
from whimbrel.papers.reorder.words import FULL_KBPS, Sheets, comes_out
from whimbrel.sheet import Value


def _values(sheets: Sheets, item: str, column: str, metric: str) -> list[Value]:
    sheet = sheets[item]
    return [sheet.value(column, metric, row) for row in sheet.rows]


def _loss_rises(sheets: Sheets, item: str, column: str) -> Verdict:
    return ordered(*_values(sheets, item, column, "ler"))


def _rate_falls(sheets: Sheets, item: str, column: str) -> Verdict:
    return ordered(*reversed(_values(sheets, item, column, "rate")))


def _more_is_worse(sheets: Sheets) -> Verdict:
    return every(
        *(
            judge(sheets, "table1-share", column)
            for column in ("netem", "delayed")
            for judge in (_loss_rises, _rate_falls)
        )
    )


def _costs(sheets: Sheets) -> Verdict:
    pairs = zip(
        _values(sheets, "table1", "netem", "rate"), _values(sheets, "table1", "in-order", "rate"), strict=True
    )
    return every(*(below(reordered, in_order) for reordered, in_order in pairs))


def _fills(sheets: Sheets) -> Verdict:
    return every(*(at_least(value, FULL_KBPS) for value in _values(sheets, "table1", "in-order", "rate")))


def _comes_out(sheets: Sheets, metric: str) -> Verdict:
    return every(*(comes_out(value) for value in _values(sheets, "table1", "netem", metric)))


def _forgiveness(sheets: Sheets) -> Verdict:
    """At least half of what reordering takes comes back where it takes something."""
    sheet = sheets["table1"]
    parts = []
    for row in sheet.rows:
        reordered, in_order = (sheet.value(column, "rate", row) for column in ("netem", "in-order"))
        if below(reordered, FULL_KBPS).holds:
            midway = average([reordered, in_order], f"midway to in order ({row} ms)")
            parts.append(at_least(sheet.value("forgiven", "rate", row), midway))
    return every(*parts)


CLAIMS = [
    Claim(
        "more-reordering-more-loss",
        "The higher the reordering ratio, the higher the loss event rate, and the lower the throughput.",
        ("table1-share",),
        _more_is_worse,
        "Section II",
    ),
    Claim(
        "ler-rises",
        "The loss event rate rises down Table I, with the round-trip time and the spread of the delays.",
        ("table1",),
        lambda sheets: _loss_rises(sheets, "table1", "netem"),
        "Table I",
    ),
    Claim(
        "ler-rises-delayed",
        "The same where only 5 % of the packets are delayed, as the text has it.",
        ("table1",),
        lambda sheets: _loss_rises(sheets, "table1", "delayed"),
        "Section II, Table I",
    ),
    Claim(
        "rate-falls",
        "The throughput falls down Table I.",
        ("table1",),
        lambda sheets: _rate_falls(sheets, "table1", "netem"),
        "Table I",
    ),
    Claim(
        "rate-falls-delayed",
        "The same where only 5 % of the packets are delayed.",
        ("table1",),
        lambda sheets: _rate_falls(sheets, "table1", "delayed"),
        "Section II, Table I",
    ),
    Claim(
        "reordering-costs",
        "Reordering alone, without any loss, takes throughput from DCCP at every round-trip time.",
        ("table1",),
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
    Claim(
        "rates-printed",
        "The throughputs of Table I come out within a tenth.",
        ("table1",),
        lambda sheets: _comes_out(sheets, "rate"),
        "Table I",
    ),
    Claim(
        "ler-printed",
        "The loss event rates of Table I come out within a tenth.",
        ("table1",),
        lambda sheets: _comes_out(sheets, "ler"),
        "Table I",
    ),
    Claim(
        "forgiveness-restores",
        "Where a late packet takes its loss back, as RFC 5348 allows, at least half of the throughput that "
        "reordering costs comes back without any buffer (not in the paper).",
        ("table1",),
        _forgiveness,
    ),
]
