"""The paper's claims under each set of three open choices, each of which has two readings.

- Scan: a client without a list scans channels 1 to 11, or (`listed`) only its network's channels.
- Segment: TCP sends full segments for any `iperf -l`, or (`segmented`) as many bytes as iperf writes at once.
- Jitter: equation 7's variation is the jitter that iperf reports, or (`delays`) the difference of the delays
  of two packets one second apart.

All other items use the first reading of each, since the authors' tools work so. Of a reproduction,

    whimbrel reproduce confront --out out
    python -m whimbrel.papers.confront.sets out --record

counts the claims under each of the eight sets, and writes `sets.csv` and the table of README.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from whimbrel import kinds, read_reproduction, sets
from whimbrel.claims import Claim
from whimbrel.paper import Item
from whimbrel.papers.confront import over_time, tables
from whimbrel.papers.confront.topology import BED, Bed
from whimbrel.sheet import Sheet

USUAL = "tools"
"""The set of all other items: how iperf and Linux work."""
DELAYS = "delays"
BEDS: Mapping[str, Bed] = {
    "listed": replace(BED, channels=None),
    "segmented": replace(BED, segment=None),
    "listed-segmented": replace(BED, channels=None, segment=None),
}
"""Test beds that differ from the usual one."""
NAMES = (USUAL, *BEDS, DELAYS, *(f"{bed}-{DELAYS}" for bed in BEDS))


def _items(bed: Bed) -> list[Item]:
    return [
        *(tables.item(key, size, bed) for key, size in tables.TABLES.items()),
        over_time.figure("fig2", bed),
        over_time.handoffs(bed),
        over_time.still(bed),
    ]


KEYS = frozenset(item.key for item in _items(BED))
"""Items that exist on each test bed; a claim that needs another one is not varied."""


def _named(item: Item, name: str) -> Item:
    return replace(
        item,
        key=f"{item.key}-{name}",
        title=f"{item.title}, {name.replace('-', ' and ')}",
        quick=replace(item.quick, by_name=True),
        charts=None,
    )


ITEMS = [_named(item, name) for name, bed in BEDS.items() for item in _items(bed)]


def _with_delays(sheet: Sheet) -> Sheet:
    """The sheet with the other reading of equation 7."""
    values = {
        place: sheet.values.get((*place[:2], "delay_jitter"), value) if place[2] == "jitter" else value
        for place, value in sheet.values.items()
    }
    return replace(sheet, values=values)


def verdicts(claims: Sequence[Claim], made: Mapping[str, Sheet]) -> Mapping[str, Mapping[str, str]]:
    """The verdict of each of the paper's claims under each set.

    Args:
        claims: of the paper.
        made: sheets by item, on all test beds.
    """

    def sheets(name: str) -> Mapping[str, Sheet]:
        bed = name.removesuffix(DELAYS).removesuffix("-")
        found = {key: made[key if bed in ("", USUAL) else f"{key}-{bed}"] for key in KEYS}
        return {key: _with_delays(sheet) for key, sheet in found.items()} if name.endswith(DELAYS) else found

    return sets.under_each(claims, KEYS, NAMES, sheets)


if __name__ == "__main__":
    reproduced = read_reproduction("confront", sys.argv[1])
    by_claim = verdicts([claim for claim, _ in reproduced.claims], reproduced.sheets)
    kinds.show(Path(__file__).parent, by_claim, record="--record" in sys.argv)
