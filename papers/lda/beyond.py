"""Beyond the paper: the effect of the algorithms on other flows, and the cost of wrong verdicts.

Every experiment is run as in the paper, and again with the guard, in the spirit of RFC 8085, on the
classifier (`dccp.guard`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.papers.lda import measures, topology
from whimbrel.papers.lda.topology import CLASSIFIERS, RIVAL, SCHEMES, WARM_UP_S
from whimbrel.result import Result, Table
from whimbrel.scenario import Scenario
from whimbrel.sheet import POSITIVE, Metric
from whimbrel.statistics import Precision

COLUMNS = (*SCHEMES, RIVAL)
GUESSING = (*CLASSIFIERS, RIVAL)

GUARDED = ", guard"
DROP_S = WARM_UP_S + 100
"""Time of the capacity drop, in seconds."""
AFTER_S = 10
"""Seconds after the drop within which a sender must have detected it."""

_FIVE = Precision.exactly(5)
_NAMES = {"WLH": "the wireless last hop", "WB": "the wireless backbone"}


@dataclass(frozen=True)
class Crowd:
    """The flows that share the bottleneck.

    Attributes:
        flows: of the scheme in question.
        rivals: additional TCP flows.
    """

    flows: int = 1
    rivals: int = 0


def _with_guard(rows: Sequence[str]) -> list[str]:
    return [*rows, *(row + GUARDED for row in rows)]


def _has(row: str, column: str) -> bool:
    return column in GUESSING if row.endswith(GUARDED) else True


def _plain(row: str) -> str:
    return row.removesuffix(GUARDED)


# Against TCP, with and without losses on the radio.

AGAINST = {
    "1 TCP": Crowd(rivals=1),
    "4 TCP": Crowd(rivals=4),
    "16 TCP": Crowd(rivals=16),
}

WIRED = {
    "1 flow": Crowd(),
    "16 flows": Crowd(flows=16),
    "1 flow, 4 TCP": Crowd(rivals=4),
}

SHARES = [
    Metric("own", "%", "Throughput of its fair share", bounds=POSITIVE),
    Metric("tcp", "%", "The TCPs' throughput of their fair share", bounds=POSITIVE),
    Metric("congestion", "%", "Congestion loss of all", 2),
    Metric("m_c", "%", "M_c"),
    Metric("m_w", "%", "M_w"),
]


def _crowded(row: str, column: str, *, name: str, loss: str, crowds: Mapping[str, Crowd]) -> Scenario:
    crowd = crowds[_plain(row)]
    return topology.scenario(
        name, column, crowd.flows, loss, rivals=crowd.rivals, guard=row.endswith(GUARDED)
    )


def _shares(
    result: Result, row: str, column: str, *, name: str, crowds: Mapping[str, Crowd]
) -> Mapping[str, float]:
    """Throughput of both parties as percent of an even division."""
    crowd = crowds[_plain(row)]
    total = crowd.flows + crowd.rivals
    mine, theirs, everyone = _parties(result)
    _, rate = topology.bottleneck(name, total)
    of_mine = measures.measure(mine, total, column, name=name)
    return {
        "own": of_mine["throughput"] * total / crowd.flows,
        "tcp": (
            100 * float(theirs["throughput_bps"].sum()) / rate * total / crowd.rivals
            if crowd.rivals
            else math.nan
        ),
        "congestion": measures.share(
            float(everyone["lost_queue"].sum()), float(everyone["bottleneck_packets"].sum()), 0.0
        ),
        "m_c": of_mine["m_c"],
        "m_w": of_mine["m_w"],
    }


def _parties(result: Result) -> tuple[Result, Table, Table]:
    """The flows in question, their rivals, and both."""
    everyone = result.flows.where(background=0)
    is_rival = np.char.startswith(everyone["flow"], "rival")

    def of(keep: np.ndarray) -> Table:
        return Table({name: column[keep] for name, column in everyone.items()})

    return Result({"flows": of(~is_rival)}), of(is_rival), everyone


def _crowd_item(key: str, title: str, name: str, loss: str, crowds: Mapping[str, Crowd], note: str) -> Item:
    return Item(
        key=key,
        title=f"{title} {_NAMES[name]}",
        source="not in the paper",
        rows=_with_guard(list(crowds)),
        columns=COLUMNS,
        metrics=SHARES,
        scenario=functools.partial(_crowded, name=name, loss=loss, crowds=crowds),
        measure=functools.partial(_shares, name=name, crowds=crowds),
        precision=_FIVE,
        quick=Quick(precision=Precision.exactly(1), rows=_with_guard(list(crowds)[:1])),
        has=_has,
        is_drawn=False,
        row_label="Crowd",
        note=note,
    )


# When the capacity drops.


DROP_FLOWS = 4

AFTER = [
    Metric("before", "%", "Congestion loss before", 2),
    Metric("at_once", "%", f"Congestion loss in the {AFTER_S} s after", 2),
    Metric("later", "%", "Congestion loss later", 2),
    Metric("throughput", "%", "Throughput later, of the new rate"),
]


def _drop(row: str, column: str) -> Scenario:
    name = _plain(row)
    halved = topology.shared_rate(name, DROP_FLOWS) / 2
    event = {
        "time": f"{DROP_S} s",
        "link": "shared",
        "direction": "forward",
        "rate": f"{halved:g} kbit/s",
    }
    more = {"event": [event], "record": {"interval": "1 s"}}
    return topology.scenario(name, column, DROP_FLOWS, guard=row.endswith(GUARDED), more=more)


def _after(result: Result, row: str, column: str) -> Mapping[str, float]:
    """Congestion loss, relative to departures, before the drop, right after it and from then on."""
    del column
    halved = topology.shared_rate(_plain(row), DROP_FLOWS) * 1e3 / 2
    intervals = result.intervals
    # Intervals are named by their ends.
    time = np.asarray(intervals["time_s"]) - 0.5
    mine = np.char.startswith(intervals["flow"], "flow")

    def between(start: float, end: float, column: str) -> float:
        return float(intervals[column][mine & (time > start) & (time < end)].sum())

    def lost(start: float, end: float) -> float:
        left = between(start, end, "throughput_bps") / (8 * topology.PACKET)
        return measures.share(between(start, end, "lost_queue"), left, math.nan)

    calm, end = DROP_S + AFTER_S, WARM_UP_S + topology.SETTLE_S + topology.MEASURED_S
    return {
        "before": lost(WARM_UP_S + topology.SETTLE_S, DROP_S),
        "at_once": lost(DROP_S, calm),
        "later": lost(calm, end),
        "throughput": 100 * between(calm, end, "throughput_bps") / (end - calm) / halved,
    }


ITEMS = [
    *(
        _crowd_item(
            f"against-tcp-{name.lower()}",
            "One flow against TCP over",
            name,
            "high",
            AGAINST,
            "All share the bottleneck and have the same losses on their radios. In the column TCP, the "
            "flow in question is a TCP as well, which shows the others' fair share.",
        )
        for name in _NAMES
    ),
    *(
        _crowd_item(
            f"no-radio-loss-{name.lower()}",
            "Cost of wrong verdicts: no loss on the radio of",
            name,
            "none",
            WIRED,
            "Every loss is one to congestion, so a verdict of wireless is always wrong.",
        )
        for name in _NAMES
    ),
    Item(
        key="capacity-drop",
        title=f"{DROP_FLOWS} flows of one kind when the shared link's rate is halved",
        source="not in the paper",
        rows=_with_guard(list(_NAMES)),
        columns=COLUMNS,
        metrics=AFTER,
        scenario=_drop,
        measure=_after,
        precision=_FIVE,
        quick=Quick(precision=Precision.exactly(1), rows=["WB", "WB" + GUARDED]),
        has=_has,
        is_drawn=False,
        row_label="Topology",
        note=f"After {DROP_S - WARM_UP_S} s. Losses of all flows, of what left the bottleneck.",
    ),
]
