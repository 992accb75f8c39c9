"""The handovers with a receiver that is sent the sender's round-trip time (RFC 6323).

Whimbrel's senders send it on every data packet unless configured otherwise. ns-2's DCCP, with which the paper
was made, has such an option only as an experiment that is off by default (`DCCP_TFRC_FEAT_DEF_RTT_SCHEME` of
its dccp_tfrc.h): the receiver uses the window counter of RFC 4342, Section 8.1, as in the other items of this
paper. The claims that need only Figure 3 and Table 6 are checked under both:

    whimbrel reproduce freeze --out out
    python -m whimbrel.papers.freeze.rtt_option out/freeze/claims.json
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from whimbrel import kinds, sets
from whimbrel.claims import Claim
from whimbrel.paper import Item
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

NAME = "rtt-option"
USUAL = "window counter"
OPTION = "flow.0.dccp.rtt_estimate=true"

ITEMS = ("fig3", "table6")
"""The repeated items."""
SHARED = ("table4",)
"""The items that do not change."""


def again(item: Item, runs: int) -> Item:
    """An item with the option on."""

    def scenario(row: str, column: str) -> Scenario:
        return item.scenario(row, column).changed(OPTION)

    return replace(
        item,
        key=f"{item.key}-{NAME}",
        title=f"{item.title}: the receiver is sent R",
        source="not in the paper",
        scenario=scenario,
        precision=Precision.exactly(runs),
        quick=replace(item.quick, by_name=True),
        note=f"{item.note} Data packets carry the sender's R, which makes them 8 bytes longer.",
    )


def claims(usual: list[Claim]) -> list[Claim]:
    """The claims that need no other items."""
    return sets.again(usual, NAME, ITEMS, SHARED)


if __name__ == "__main__":
    checked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(kinds.side_by_side(sets.by_set(checked, [NAME], USUAL)))
