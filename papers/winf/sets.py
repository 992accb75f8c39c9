"""The paper's claims under each set of the open choices that the paper does not name.

The items of meshes, of ad hoc networks and of Figure 15 use `ns2`, the first one: what a reader of ns-2.35
runs; all others have the choices of `today`, the last one. Each of the sets between them differs from `ns2`
in one choice, and `today` in three: the smallest number of sets that shows the effect of each choice alone,
and one in which several of them meet.

- `unlimited`: no transport has a largest window; under `ns2` TCP and XCP have 20 packets.
- `rcp-window`: RCP has one of 20 packets too.
- `at-the-end`: RCP repeats nothing before the application has ended and all was sent, as the agent of its
  authors for ns-2; under `ns2` it repairs losses as TCP does.
- `latest`: rt-Winf takes the capacity from the latest exchange, which often carries an acknowledgement of a
  transport; under `ns2` from the latest exchange with the largest packet.
- `cycle`: DIFS, backoff, RTS and CTS count in the capacity, as in equation 3; under `ns2` as in Figure 1.
- `corrected`: available bandwidth and capacity of a sender are corrected for collisions. The text names both,
  its equation 9 the first only; under `ns2` neither is, but in Figures 17 and 18, which compare.
- `prompt`: changes of routes are advertised at once; under `ns2` they wait as in ns-2.35.
- `today`: `unlimited`, `latest` and `prompt`.

Each of them with the paper's throughput, which counts repetitions, and with goodput (`-goodput`). Of a
reproduction,

    whimbrel reproduce winf --out out
    python -m whimbrel.papers.winf.sets out --record

counts the claims under each set, and writes `sets.csv` and the table of README.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from whimbrel import kinds, read_reproduction, sets
from whimbrel.claims import Claim
from whimbrel.paper import Item
from whimbrel.papers.winf import adhoc, building, choices, inference, mesh
from whimbrel.papers.winf.choices import EVERY, Choice
from whimbrel.sheet import Sheet
from whimbrel.statistics import Precision

USUAL = "ns2"
CHOICES: Mapping[str, Choice] = {
    USUAL: choices.USUAL,
    "unlimited": Choice(limited=frozenset()),
    "rcp-window": Choice(limited=EVERY),
    "at-the-end": Choice(repairs=False),
    "latest": Choice(averaging="latest"),
    "cycle": Choice(whole_cycle=True),
    "corrected": Choice(corrects=True),
    "prompt": Choice(waits=False),
    "today": choices.TODAY,
}
GOODPUT = "-goodput"
NAMES = tuple(f"{name}{metric}" for metric in ("", GOODPUT) for name in CHOICES)
ROWS = {"fig15": ["10"], "fig17": ["100"], "fig18": ["100"]}
"""Rows of the building under the sets; the claims on Figures 17 and 18 need no other."""
USUAL_KEYS = ("fig10", "fig11", "grids", "fig12")
"""Items that use `ns2` themselves, with all of their rows."""
KEYS = ("fig3", "fig7", *USUAL_KEYS, "fig15", "fig17", "fig18")
"""Items with the MAC of ns-2 on which the paper has claims."""
_ALL = {item.key: item for item in (*inference.ITEMS, *mesh.ITEMS, *adhoc.ITEMS, *building.ITEMS)}


def _runs(key: str) -> int:
    """Runs of meshes and ad hoc networks, of the building, which takes longer, and of rt-Winf alone."""
    return {"fig3": 2, "fig7": 2, "fig15": 3, "fig17": 3, "fig18": 3}.get(key, 5)


def _item(item: Item, name: str, choice: Choice) -> Item:
    return replace(
        item,
        key=f"{item.key}-{name}",
        title=f"{item.title}, {name}",
        rows=ROWS.get(item.key, item.rows),
        scenario=choice.under(item.scenario),
        precision=Precision.exactly(_runs(item.key)),
        quick=replace(item.quick, by_name=True, rows=None),
        is_drawn=False,
    )


def item_of(key: str, name: str) -> str:
    """The item of a figure under a set."""
    return key if name == USUAL and key in USUAL_KEYS else f"{key}-{name}"


ITEMS = [
    _item(_ALL[key], name, choice)
    for key in KEYS
    for name, choice in CHOICES.items()
    if item_of(key, name) != key
]


def _with_goodput(sheet: Sheet) -> Sheet:
    """The sheet with goodput in the place of throughput, if it has both."""
    values = {
        place: sheet.values.get((*place[:2], "goodput"), value) if place[2] == "throughput" else value
        for place, value in sheet.values.items()
    }
    return replace(sheet, values=values)


def verdicts(claims: Sequence[Claim], made: Mapping[str, Sheet]) -> Mapping[str, Mapping[str, str]]:
    """The verdict of each of the paper's claims with the MAC of ns-2 under each set.

    Args:
        claims: of the paper.
        made: sheets by item; claims on items that lack one of the sets are left out.
    """
    keys = [key for key in KEYS if {item_of(key, name) for name in CHOICES} <= set(made)]

    def sheets(name: str) -> Mapping[str, Sheet]:
        choice = name.removesuffix(GOODPUT)
        found = {key: made[item_of(key, choice)] for key in keys}
        return (
            {key: _with_goodput(sheet) for key, sheet in found.items()} if name.endswith(GOODPUT) else found
        )

    return sets.under_each(claims, keys, NAMES, sheets)


if __name__ == "__main__":
    reproduced = read_reproduction("winf", sys.argv[1])
    by_claim = verdicts([claim for claim, _ in reproduced.claims], reproduced.sheets)
    kinds.show(Path(__file__).parent, by_claim, record="--record" in sys.argv)
