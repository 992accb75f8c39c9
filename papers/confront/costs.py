"""Costs of a packet by protocol, fitted to the throughputs of Table 3 alone (ours).

With one cost for all packets the three protocols send the same number of packets per second, while the paper
prints 820 writes of TCP, 700 packets of UDP and 437 to 708 of DCCP. Here each protocol has a cost of its own.
The cost per byte is the same as in all other items, and the router limits nothing, so that Table 4 is a
prediction except for UDP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whimbrel.paper import Item, Quick
from whimbrel.papers.confront import measures
from whimbrel.papers.confront.measures import ROWS
from whimbrel.papers.confront.topology import (
    BED,
    CCID2,
    CCID3,
    NAMES,
    TCPS,
    Host,
    Times,
    scenario,
)
from whimbrel.statistics import Precision

TIMES = Times(total=90.0, await_=6.0, handoffs=(30.0, 60.0))
"""Shorter than the paper's."""
COSTS_US: Mapping[str, float] = {"tcp": 1559.0, CCID2: 1116.0, CCID3: 799.0}
"""Per packet: the mean throughput that Table 3 prints for all lines of a protocol; UDP has the usual one."""


def _host(us: float) -> Host:
    return Host(send_cost_us=us)


BY_PROTOCOL = replace(
    BED,
    router_mbps=100.0,
    costs={
        **{tcp: _host(COSTS_US["tcp"]) for tcp in TCPS.values()},
        **{ccid: _host(COSTS_US[ccid]) for ccid in (CCID2, CCID3)},
    },
)
_METRICS = [metric for metric in measures.METRICS if metric.key in ("throughput", "lost_share", "at_source")]


def _item(key: str, size: int, source: str) -> Item:
    return Item(
        key=key,
        title=f"Eleven confronts with a cost per packet by protocol, packets of {size} bytes",
        source=source,
        rows=list(ROWS),
        columns=list(NAMES),
        metrics=_METRICS,
        has=lambda row, column: column in ROWS[row].schemes,
        scenario=lambda row, _column: scenario(ROWS[row], size, TIMES, BY_PROTOCOL),
        measure=lambda result, row, column: {
            key: value
            for key, value in measures.measure(result, ROWS[row], size, column).items()
            if key in {metric.key for metric in _METRICS}
        },
        precision=Precision.exactly(3),
        quick=Quick(precision=Precision.exactly(2), by_name=True),
        is_drawn=False,
        row_label="Confront",
        note="The costs are fitted to the mean throughput of each protocol in Table 3. Router of 100 Mbit/s.",
    )


ITEMS = [_item("costs", 512, "Table 3, ours"), _item("costs-1424", 1424, "Table 4, ours")]
