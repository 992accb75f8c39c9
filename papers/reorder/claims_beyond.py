"""Claims of our own beyond the paper, and one of its introduction."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.claims import Claim, Verdict, above, at_least, at_most, below, close, every
from whimbrel.papers.reorder import (
    beyond_mechanisms,
    beyond_order,
    beyond_paths,
    beyond_playout,
    beyond_rack,
    beyond_schemes,
    beyond_size,
    beyond_tcp,
    beyond_wireless,
)
from whimbrel.papers.reorder.beyond_schemes import DYNAMIC, FORGIVING, PLAIN, RACK, RACK_FORGIVING, TWELVE
from whimbrel.sheet import Sheet

Sheets = Mapping[str, Sheet]

FULL = 80.0
"""Throughput in percent of the path's rate at which reordering has almost no effect."""
MUCH = 20.0
"""Points of throughput."""
SAME = 3.0
"""Points of throughput that do not count."""
HALF = 55.0
"""Percent of a bottleneck that is barely more than half of it."""

_RACK, _RACK_NETEM = (item.key for item in beyond_rack.ITEMS)
_WIRELESS, _WIRELESS_TCP = (item.key for item in beyond_wireless.ITEMS)

REORDERING = tuple(row for row in beyond_paths.PATHS if row != "in order")


def _rate_reorders(sheets: Sheets) -> Verdict:
    sheet = sheets[beyond_order.ITEM.key]
    low, *_, high = beyond_order.PROBES
    return every(
        *(above(sheet.value(high, "ratio", row), sheet.value(low, "ratio", row)) for row in REORDERING)
    )


def _forgiving_helps(sheets: Sheets) -> Verdict:
    sheet = sheets[beyond_mechanisms.ITEM.key]
    return every(
        *(
            at_least(sheet.value(FORGIVING, "throughput", row), FULL)
            & above(sheet.value(FORGIVING, "throughput", row), sheet.value(PLAIN, "throughput", row), MUCH)
            for row in ("NetEm", "spraying", "layer 2")
        )
    )


def _forgiving_fails(sheets: Sheets) -> Verdict:
    sheet = sheets[beyond_mechanisms.ITEM.key]
    return above(
        sheet.value(DYNAMIC, "throughput", "bond"), sheet.value(FORGIVING, "throughput", "bond"), MUCH
    )


def _dynamic_never_behind(sheets: Sheets) -> Verdict:
    sheet = sheets[beyond_size.ITEM.key]
    return every(
        *(
            above(sheet.value(DYNAMIC, "throughput", row), sheet.value(size, "throughput", row), -SAME)
            for row in sheet.rows
            for size in (beyond_schemes.FIVE, TWELVE)
        )
    )


def _as_in_order(sheets: Sheets) -> Verdict:
    sheet = sheets[beyond_size.ITEM.key]
    in_order = beyond_size.IN_ORDER
    return every(
        *(
            close(sheet.value(DYNAMIC, "throughput", row), sheet.value(in_order, "throughput", row), SAME)
            for row in sheet.rows
        )
    )


def _fixed_too_small(sheets: Sheets) -> Verdict:
    sheet = sheets[beyond_size.ITEM.key]
    return above(
        sheet.value(DYNAMIC, "throughput", "10 Mbit/s"),
        sheet.value(TWELVE, "throughput", "10 Mbit/s"),
        MUCH,
    )


def _rack_everywhere(sheets: Sheets) -> Verdict:
    sheet = sheets[_RACK]
    limit = FULL / 100 * beyond_rack.DATA_KBPS
    return every(*(at_least(sheet.value(RACK, "rate", row), limit) for row in sheet.rows))


def _buffer_too_short(sheets: Sheets) -> Verdict:
    sheet = sheets[_RACK]
    rows = [row for row in sheet.rows if int(row) > 200]
    return every(*(below(sheet.value(DYNAMIC, "rate", row), sheet.value(PLAIN, "rate", row)) for row in rows))


def _short_and_forgiving(sheets: Sheets) -> Verdict:
    sheet = sheets[_RACK_NETEM]
    rows = [row for row in sheet.rows if int(row) > 200]
    return every(
        *(
            below(sheet.value(beyond_rack.DYNAMIC_FORGIVING, "rate", row), sheet.value(PLAIN, "rate", row))
            for row in rows
        )
    )


def _rack_forgiving(sheets: Sheets) -> Verdict:
    limit = FULL / 100 * beyond_rack.DATA_KBPS
    return every(
        *(
            at_least(sheets[item].value(RACK_FORGIVING, "rate", row), limit)
            for item in (_RACK, _RACK_NETEM)
            for row in sheets[item].rows
        )
    )


def _no_more_than_half(sheets: Sheets) -> Verdict:
    sheet = sheets[beyond_tcp.ITEM.key]
    return every(
        *(at_most(sheet.value(column, "own", row), HALF) for row in sheet.rows for column in sheet.columns)
    )


def _order_first(sheets: Sheets, item: str) -> Verdict:
    sheet = sheets[item]
    none, both = beyond_wireless.NO_CLASSIFIER, beyond_wireless.BOTH
    parts = []
    for scheme in ("spike", "zbs", "omniscient"):
        value = sheet.value(scheme, "throughput", both)
        parts += [
            above(value, sheet.value(none, "throughput", beyond_wireless.BUFFER)),
            above(value, sheet.value(scheme, "throughput", beyond_wireless.DIFFERENTIATION)),
        ]
    return every(*parts)


def _mistaken_for_radio(sheets: Sheets) -> Verdict:
    sheet = sheets[_WIRELESS]
    row = beyond_wireless.DIFFERENTIATION
    return every(
        *(
            above(sheet.value(scheme, "throughput", row), sheet.value("omniscient", "throughput", row), MUCH)
            for scheme in ("spike", "zbs")
        )
    )


def _playout_pays(sheets: Sheets) -> Verdict:
    sheet = sheets[beyond_playout.ITEM.key]
    alone, under, _ = beyond_playout.COLUMNS
    return every(
        *(
            above(sheet.value(under, "missing", f"{delay} ms"), sheet.value(alone, "missing", f"{delay} ms"))
            for delay in (60, 80, 100)
        )
    )


def _playout_long_enough(sheets: Sheets) -> Verdict:
    sheet = sheets[beyond_playout.ITEM.key]
    alone, under, _ = beyond_playout.COLUMNS
    row = f"{max(beyond_playout.FIXED_MS)} ms"
    return every(
        below(sheet.value(under, "missing", row), 0.1), below(sheet.value(alone, "missing", row), 0.1)
    )


CLAIMS = [
    Claim(
        "beyond-rate-reorders",
        "The faster a flow sends, the more of its packets are reordered.",
        (beyond_order.ITEM.key,),
        _rate_reorders,
        "Section I, after others",
    ),
    Claim(
        "beyond-forgiving",
        "If single packets are late, forgiveness (RFC 5348, Section 5.1) yields the rate without a buffer.",
        (beyond_mechanisms.ITEM.key,),
        _forgiving_helps,
    ),
    Claim(
        "beyond-forgiving-bond",
        "Over a bond, where some packet is always late, forgiveness is not enough, and a buffer is.",
        (beyond_mechanisms.ITEM.key,),
        _forgiving_fails,
    ),
    Claim(
        "beyond-dynamic",
        "Q = X D_max works as well as 5 or 12 packets on every path.",
        (beyond_size.ITEM.key,),
        _dynamic_never_behind,
    ),
    Claim(
        "beyond-in-order",
        "If packets arrive within D_max, Q = X D_max has the throughput of the same path in order.",
        (beyond_size.ITEM.key,),
        _as_in_order,
    ),
    Claim(
        "beyond-fixed",
        "At 10 Mbit/s 12 packets are too few, and Q = X D_max is not.",
        (beyond_size.ITEM.key,),
        _fixed_too_small,
    ),
    Claim(
        "beyond-rack",
        "With a time after RACK the flow fills the path at every round-trip time, and no packet waits.",
        (_RACK,),
        _rack_everywhere,
    ),
    Claim(
        "beyond-rack-forgiving",
        "RACK with forgiveness does so as well if nearly all packets are delayed.",
        (_RACK, _RACK_NETEM),
        _rack_forgiving,
    ),
    Claim(
        "beyond-short-buffer",
        "If packets arrive later than D_max, the buffer is worse than none.",
        (_RACK,),
        _buffer_too_short,
    ),
    Claim(
        "beyond-short-forgiving",
        "With a D_max that is much too short forgiveness does not help: packets that the buffer "
        "discards stay lost.",
        (_RACK_NETEM,),
        _short_and_forgiving,
    ),
    Claim(
        "beyond-half",
        "No kind of loss detection takes more from a TCP than half of the bottleneck.",
        (beyond_tcp.ITEM.key,),
        _no_more_than_half,
    ),
    Claim(
        "beyond-order-first",
        "On a radio that reorders and loses, a buffer with Spike, ZBS or the truth has more "
        "throughput than either alone.",
        (_WIRELESS,),
        lambda sheets: _order_first(sheets, _WIRELESS),
    ),
    Claim(
        "beyond-order-first-tcp",
        "The same holds beside a TCP.",
        (_WIRELESS_TCP,),
        lambda sheets: _order_first(sheets, _WIRELESS_TCP),
    ),
    Claim(
        "beyond-mistaken",
        "Without a buffer, Spike and ZBS classify reordering as wireless loss, so that it costs no rate.",
        (_WIRELESS,),
        _mistaken_for_radio,
    ),
    Claim(
        "beyond-playout-short",
        "With a playout delay below the path's delay plus D_max, the transport's buffer increases a "
        "call's loss.",
        (beyond_playout.ITEM.key,),
        _playout_pays,
    ),
    Claim(
        "beyond-playout-long",
        "Above it, the transport's buffer does not affect a call.",
        (beyond_playout.ITEM.key,),
        _playout_long_enough,
    ),
]
