"""The four measures of Section 4, computed from a run."""

from __future__ import annotations

import math
from collections.abc import Mapping

from whimbrel.papers.lda import topology
from whimbrel.result import Result
from whimbrel.sheet import Metric

METRICS = [
    Metric("throughput", "%", "Throughput", title="Throughput, of the bottleneck's rate"),
    Metric("m_c", "%", "M_c", title="Congestion losses taken for wireless ones, M_c"),
    Metric("m_w", "%", "M_w", title="Wireless losses taken for congestion, M_w"),
    Metric("congestion", "%", "Congestion loss", 2, title="Packets lost by queues"),
]

COUNTS = (
    "lost_queue",
    "bottleneck_packets",
    "congestion_judged",
    "congestion_misclassified",
    "wireless_judged",
    "wireless_misclassified",
)
"""The counters of a flow that the measures are made of."""

_A_PRIORI = {"tcp": (0.0, 100.0), "tfrc": (0.0, 100.0), "omniscient": (0.0, 0.0)}
"""M_c and M_w of schemes without a classifier (Section 4)."""


def measure(result: Result, flows: int, scheme: str, *, name: str) -> Mapping[str, float]:
    """The four measures over the measured 200 s, of all flows together.

    Throughput is the rate of departures from the bottleneck, including packets that its radio then lost,
    relative to the bottleneck's rate. Congestion loss is the number of the flows' packets that queues
    dropped, relative to departures from the bottleneck. `m_c` is the share of the congestion losses with a
    verdict that were classified as wireless, `m_w` the share of the wireless losses with a verdict that were
    classified as congestion. For a scheme without a classifier both are known beforehand; for others they are
    NaN without such a loss.

    Args:
        result: of the run.
        flows: N.
        scheme: of the flows.
        name: of the topology.
    """
    measured = result.flows.where(background=0)
    _, rate = topology.bottleneck(name, flows)
    total = {key: float(measured[key].sum()) for key in COUNTS}
    m_c, m_w = misclassified(total, scheme)
    return {
        "throughput": 100 * float(measured["throughput_bps"].sum()) / rate,
        "m_c": m_c,
        "m_w": m_w,
        "congestion": share(total["lost_queue"], total["bottleneck_packets"], 0.0),
    }


def misclassified(counts: Mapping[str, float], scheme: str) -> tuple[float, float]:
    """M_c and M_w of a scheme from its counters, in percent."""
    return _A_PRIORI.get(
        scheme,
        (
            share(counts["congestion_misclassified"], counts["congestion_judged"], math.nan),
            share(counts["wireless_misclassified"], counts["wireless_judged"], math.nan),
        ),
    )


def share(part: float, whole: float, without: float) -> float:
    """A part in percent of the whole; `without` if the whole is zero."""
    return 100 * part / whole if whole else without
