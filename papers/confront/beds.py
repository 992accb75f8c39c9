"""The parts of the test bed that the paper leaves open, varied: which results depend on them (ours)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whimbrel.claims import Claim, Verdict, at_most, below, times
from whimbrel.paper import Item, Quick
from whimbrel.papers.confront import measures
from whimbrel.papers.confront.topology import (
    BED,
    CCID2,
    CCID3,
    UDP,
    Bed,
    Confront,
    Times,
    scenario,
    with_host,
)
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet
from whimbrel.statistics import Precision

NO_LIMIT = "no limit of the processor"
CALIBRATED = "as calibrated"
BEDS: Mapping[str, Bed] = {
    CALIBRATED: BED,
    "half the cost per packet": with_host(send_cost_us=365.0),
    "send queue of 20": with_host(queue=20),
    "send queue of 200": with_host(queue=200),
    NO_LIMIT: replace(BED, host=None),
    "router of 8 Mbit/s": replace(BED, router_mbps=8.0),
    "router of 100 Mbit/s": replace(BED, router_mbps=100.0),
    "UDP at 5 Mbit/s": replace(BED, udp_mbps={512: 5.0, 1424: 5.0}),
    "802.11g at 12 Mbit/s": replace(BED, wifi_mbps=12.0),
}
TIMES = Times(total=90.0, await_=6.0, handoffs=(30.0, 60.0))
"""Shorter than the paper's."""
COLUMNS = (UDP, CCID2, CCID3)
METRICS = [
    Metric("tcp", "kbit/s", "TCP Cubic", 0, title="Throughput of TCP Cubic beside it"),
    *(
        metric
        for metric in measures.METRICS
        if metric.key in ("throughput", "lost_share", "at_source", "jitter", "delay_jitter")
    ),
]


def _confront(column: str) -> Confront:
    return Confront(0, "tcp-cubic", column)


def _measure(result: Result, column: str, size: int) -> dict[str, float]:
    confront = _confront(column)
    mine = measures.measure(result, confront, size, column)
    tcp = measures.measure(result, confront, size, confront.first)["throughput"]
    return {"tcp": tcp, **{metric.key: mine[metric.key] for metric in METRICS[1:]}}


def _scenario(row: str, column: str, size: int) -> Scenario:
    return scenario(_confront(column), size, TIMES, BEDS[row])


def _item(key: str, size: int) -> Item:
    return Item(
        key=key,
        title=f"TCP Cubic against UDP and DCCP, by the test bed, packets of {size} bytes",
        source="ours",
        rows=list(BEDS),
        columns=COLUMNS,
        metrics=METRICS,
        scenario=lambda row, column: _scenario(row, column, size),
        measure=lambda result, _row, column: _measure(result, column, size),
        precision=Precision.exactly(3),
        quick=Quick(precision=Precision.exactly(2), by_name=True),
        is_drawn=False,
        row_label="Test bed",
        note="Each line changes one thing.",
    )


SIZES = {"test-bed": 512, "test-bed-1424": 1424}
ITEMS = [_item(key, size) for key, size in SIZES.items()]
STARVED = 0.5
"""Largest part of its throughput that a TCP has that is "avoided to transmit data"."""


def _starves(sheets: Mapping[str, Sheet], key: str) -> Verdict:
    value = sheets[key].value
    return times(value(UDP, "tcp", row=NO_LIMIT), value(UDP, "tcp", row=CALIBRATED), 0.0, STARVED)


def _claims(key: str) -> list[Claim]:
    size = SIZES[key]
    return [
        Claim(
            f"unlimited-starves-{size}",
            f"Without the limit of the processors UDP congests the network: TCP has at most {STARVED:.0%} "
            f"of its throughput ({size} bytes).",
            (key,),
            lambda sheets: _starves(sheets, key),
            "Sections 4.1 and 5",
        ),
        Claim(
            f"unlimited-elsewhere-{size}",
            f"Then nothing is lost at the source, and TCP has more against DCCP-3 than UDP ({size} bytes).",
            (key,),
            lambda sheets: (
                at_most(sheets[key].value(UDP, "at_source", row=NO_LIMIT), 0.0)
                & below(
                    sheets[key].value(UDP, "tcp", row=NO_LIMIT), sheets[key].value(CCID3, "tcp", row=NO_LIMIT)
                )
            ),
        ),
    ]


CLAIMS = [claim for key in SIZES for claim in _claims(key)]
