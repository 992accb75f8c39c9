"""The handovers with a receiver that is sent the sender's round-trip time (RFC 6323).

Whimbrel's senders send it on every data packet unless configured otherwise. ns-2's DCCP, with which the paper
was made, has such an option only as an experiment that is off by default (`DCCP_TFRC_FEAT_DEF_RTT_SCHEME` of
its dccp_tfrc.h): the receiver uses the window counter of RFC 4342, Section 8.1, as in the other items of this
paper. `sets` checks the claims under both.
"""

from __future__ import annotations

from dataclasses import replace

from whimbrel.paper import Item
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

NAME = "rtt-option"
OPTION = "flow.0.dccp.rtt_estimate=true"

ITEMS = ("fig3", "table6")
"""The repeated items."""


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
