"""Reordering and wireless loss together: the paper's buffer, loss differentiation (paper `lda`), and both.

A classifier uses the times between packets as they arrive, so behind the buffer it classifies a loss only
when it is one: packets are first put in order, then losses are differentiated. A radio behind the bottleneck
loses packets, and some of the others arrive later: for the flow alone, and in competition with a TCP that is
affected by neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import beyond_paths, beyond_schemes, beyond_tcp
from whimbrel.papers.reorder.beyond_paths import PATHS, WARM_UP_S
from whimbrel.papers.reorder.beyond_schemes import SCHEMES
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

NEITHER, FORGIVING, BUFFER, RACK = "neither", "forgiving", "buffer", "rack"
DIFFERENTIATION = "differentiation"
BOTH = f"{BUFFER}, {DIFFERENTIATION}"
NO_CLASSIFIER = "none"

ROWS: Mapping[str, str] = {
    NEITHER: beyond_schemes.PLAIN,
    FORGIVING: beyond_schemes.FORGIVING,
    BUFFER: beyond_schemes.DYNAMIC,
    RACK: beyond_schemes.RACK,
    DIFFERENTIATION: beyond_schemes.PLAIN,
    f"{FORGIVING}, {DIFFERENTIATION}": beyond_schemes.FORGIVING,
    BOTH: beyond_schemes.DYNAMIC,
    f"{RACK}, {DIFFERENTIATION}": beyond_schemes.RACK,
}
"""The receiver's components, and its loss detection."""

ALONE = (NEITHER, FORGIVING, BUFFER, RACK)
COLUMNS = (NO_CLASSIFIER, "mbiaz", "spike", "zbs", "omniscient")
LOSS = "3 %"
"""Of the radio, each packet by chance."""
END_S = 120.0

METRICS = [
    Metric("throughput", "%", "Throughput, of the bottleneck"),
    Metric("p", "%", "Loss event rate", 2),
    Metric("m_c", "%", "M_c"),
    Metric("m_w", "%", "M_w"),
    Metric("congestion", "%", "Congestion loss", 2),
]


def _flow(row: str, column: str) -> dict[str, Any]:
    changes: dict[str, Any] = {} if column == NO_CLASSIFIER else {"classifier": column}
    details = {
        **SCHEMES[ROWS[row]],
        "guard": False,
        "clock_correction": False,
        "classification": {"robust": False},
    }
    return beyond_schemes.flow(details, **changes)


def scenario(row: str, column: str) -> Scenario:
    """One flow over a radio that loses and reorders."""
    path = PATHS["NetEm"]
    made = beyond_paths.network(replace(path, ways=[replace(path.ways[0], loss=LOSS)]), END_S)
    return Scenario(
        {
            "title": f"{row}, {column}",
            "simulation": {"duration": f"{END_S:g} s", "warm_up": f"{WARM_UP_S:g} s"},
            **made,
            "flow": [_flow(row, column) | {"bottleneck": "bottleneck"}],
        }
    )


def _beside_tcp(row: str, column: str) -> Scenario:
    way = replace(beyond_tcp.WAYS["reordered"], loss=LOSS)
    return beyond_tcp.beside(way, _flow(row, column), f"{row}, {column}, beside a TCP")


def measure(result: Result, _row: str, column: str) -> Mapping[str, float]:
    """Throughput of the bottleneck, the sender's p, and verdicts against the truth (see paper `lda`)."""
    flow = {name: float(result.flows.one(name, flow="flow")) for name in COUNTS}
    guesses = column not in (NO_CLASSIFIER, "omniscient")

    def share(part: str, whole: str) -> float:
        return 100 * flow[part] / flow[whole] if flow[whole] else math.nan

    return {
        "throughput": 100 * flow["throughput_bps"] / result.links.one("capacity_bps", link="bottleneck"),
        "p": 100 * flow["loss_event_rate_mean"],
        "m_c": share("congestion_misclassified", "congestion_judged") if guesses else math.nan,
        "m_w": share("wireless_misclassified", "wireless_judged") if guesses else math.nan,
        "congestion": share("lost_queue", "sent_packets"),
    }


def _measure_both(result: Result, row: str, column: str) -> Mapping[str, float]:
    tcp = result.flows.one("throughput_bps", flow="tcp")
    return {**measure(result, row, column), "tcp": 100 * tcp / beyond_tcp.RATE_BPS}


COUNTS = (
    "throughput_bps",
    "loss_event_rate_mean",
    "sent_packets",
    "lost_queue",
    "congestion_judged",
    "congestion_misclassified",
    "wireless_judged",
    "wireless_misclassified",
)

_NOTE = (
    f"A radio behind the bottleneck loses {LOSS} of the packets, and 5 % of the rest arrive 25 ± 8 ms later. "
    "Buffer: Q = X D_max, 50 ms. Throughput counts departures from the bottleneck, including packets "
    "that the radio then loses."
)


def _has(row: str, column: str) -> bool:
    return (row in ALONE) == (column == NO_CLASSIFIER)


_ABOUT: dict[str, Any] = {
    "source": "not in the paper",
    "rows": list(ROWS),
    "columns": COLUMNS,
    "precision": Precision.exactly(5),
    "quick": Quick(precision=Precision.exactly(3)),
    "has": _has,
    "is_drawn": False,
    "row_label": "Receiver",
    "column_label": "Differentiation",
}

ITEMS = [
    Item(
        key="beyond-wireless",
        title="Reordering and wireless loss together",
        metrics=METRICS,
        scenario=scenario,
        measure=measure,
        note=f"1 Mbit/s. {_NOTE}",
        **_ABOUT,
    ),
    Item(
        key="beyond-wireless-tcp",
        title="Reordering and wireless loss together, beside a TCP",
        metrics=[*METRICS, Metric("tcp", "%", "The TCP's throughput")],
        scenario=_beside_tcp,
        measure=_measure_both,
        note=f"2 Mbit/s. {_NOTE} The TCP's packets are neither lost on the radio nor delayed.",
        # By chance, five runs called 0.7 points of 13 a difference that forty do not show.
        **_ABOUT | {"precision": Precision.exactly(20)},
    ),
]
