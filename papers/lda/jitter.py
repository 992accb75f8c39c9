"""The effect of jitter on the algorithms, as published and with a T_min for real links.

The paper's links delay every packet by the same time. Here the radio delays each packet individually,
uniformly around 10 ms, as a scheduler or a retransmission below IP does. Packets whose delays differ by more
than their spacing are reordered. `Differentiation::guarded` has the robust T_min, `unguarded` the paper's.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace

from whimbrel.claims import Claim
from whimbrel.paper import Item, Quick
from whimbrel.papers.lda import measures, topology
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

JITTERS = {"none": 0.0, "0.5 ms": 0.5, "2 ms": 2.0, "10 ms": 10.0}
"""Largest deviation of delays from their mean."""

ROBUST = ", robust"
"""Algorithms based on the time between packets, with an estimate of T_min robust to jitter."""

COLUMNS = (
    "tfrc",
    "omniscient",
    "biaz",
    "biaz" + ROBUST,
    "mbiaz",
    "mbiaz" + ROBUST,
    "spike",
    "zigzag",
    "zbs",
    "zbs" + ROBUST,
    "zbs2",
    "zbs2" + ROBUST,
    "zbs3",
    "zbs3" + ROBUST,
)

FLOWS = ("1", "8")

_NAMES = {"WLH": "the wireless last hop", "WB": "the wireless backbone"}


def _row(flows: str, jitter: str) -> str:
    return f"{flows} flow{'s' if flows != '1' else ''}, jitter {jitter}"


ROWS = {_row(flows, jitter): (flows, jitter) for flows in FLOWS for jitter in JITTERS}


def _scenario(row: str, column: str, *, name: str) -> Scenario:
    flows, jitter = ROWS[row]
    assumed = replace(
        topology.USUAL,
        netem={"delay": "10 ms", "jitter": f"{JITTERS[jitter]:g} ms"},
        classification={"robust": column.endswith(ROBUST)},
    )
    return topology.scenario(name, column.removesuffix(ROBUST), int(flows), assumed=assumed)


def _measure(result: Result, row: str, column: str, *, name: str) -> Mapping[str, float]:
    return measures.measure(result, int(ROWS[row][0]), column.removesuffix(ROBUST), name=name)


def _item(name: str) -> Item:
    return Item(
        key=f"jitter-{name.lower()}",
        title=f"Effect of jitter on the algorithms over {_NAMES[name]}",
        source="not in the paper",
        rows=list(ROWS),
        columns=COLUMNS,
        metrics=measures.METRICS,
        scenario=functools.partial(_scenario, name=name),
        measure=functools.partial(_measure, name=name),
        precision=Precision.exactly(5),
        quick=Quick(precision=Precision.exactly(1), by_name=True),
        is_drawn=False,
        row_label="Flows and jitter",
        note="The radio delays packets by 10 ms more than in the paper, uniformly within the given "
        "range. Without a guard.",
    )


ITEMS = [_item(name) for name in _NAMES]
CLAIMS: list[Claim] = []
