"""Fairness to a TCP after a handover (Table 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import networks, schemes
from whimbrel.papers.freeze.handovers import PAIRS, ends
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

SETTLE_S = 20
"""Seconds after the reconnection that are left out: "discarding the initial rate settlement period"."""
MEASURED_S = 100
"""Seconds measured (Section 5.2)."""

REASONABLE = (0.5, 2.0)
"""Ratios that count as reasonably fair (Section 5.2)."""

LEFT_OUT_S = (0, 20, 60)
"""Other lengths of the "initial rate settlement period" in seconds, which the paper does not give."""

METRICS = [
    Metric("ratio", "", "Rate in terms of TCP's", 2),
    Metric("share", "%", "Share of the capacity", 1),
]

TCP_BYTES = 1000
"""Data of a TCP packet: ns-2's default (`Agent/TCP set packetSize_ 1000` in tcl/lib/ns-default.tcl), as 500
is its default for DCCP (`Agent/DCCP set packetSize_ 500`)."""

TCP: Mapping[str, object] = {
    "preset": "ns2",
    "variant": "new-reno",
    "window_limit": 10_000,
    "handshake": True,
}
"""The competing TCP; the paper does not specify its variant."""


def scenario(pair: str, scheme: str, *, settle_s: float = SETTLE_S, tcp_bytes: int = TCP_BYTES) -> Scenario:
    """The flow and a TCP, from the beginning, through the same handover."""
    old, new = ends(pair)
    start = networks.SETTLED_S[old]
    jitter = 4 * networks.SEEN[old].rtt
    after = 2.5 + networks.SEEN[new].rtt + settle_s + MEASURED_S
    tcp = {
        "name": "tcp",
        "from": "sender",
        "to": "mobile",
        "transport": "tcp",
        "payload": f"{tcp_bytes} B",
        "tcp": dict(TCP),
        "start": "1 s",
    }
    return Scenario(
        {
            "title": f"{scheme} beside a TCP, {pair}",
            "simulation": {"duration": f"{start + jitter + after + 1:g} s"},
            **networks.path(old),
            "flow": [schemes.flow(scheme), tcp],
            "handover": [networks.handover(start, jitter, "mobile-ipv6", new) | schemes.warned(scheme, old)],
            "record": {"interval": "1 s"},
        }
    )


def measure(result: Result, pair: str, _scheme: str, *, settle_s: float = SETTLE_S) -> Mapping[str, float]:
    """Rates over the measured time."""
    _, new = ends(pair)
    up = float(result["handovers"]["up_s"][0])
    intervals = result.intervals
    time = np.asarray(intervals["time_s"]) - up - settle_s
    inside = (time > 0) & (time <= MEASURED_S)
    names = np.asarray(intervals["flow"])
    rate = np.asarray(intervals["goodput_bps"])
    own, tcp = (float(rate[inside & (names == name)].mean()) for name in ("flow", "tcp"))
    return {"ratio": own / tcp, "share": 100 * own / (networks.CAPACITY[new] * networks.DATA_SHARE)}


def table(columns: Sequence[str]) -> Item:
    """Every handover with a competing TCP."""
    return Item(
        key="table7",
        title="Fairness to TCP after a handover",
        source="Table 7",
        rows=PAIRS,
        columns=columns,
        metrics=METRICS,
        scenario=scenario,
        measure=measure,
        precision=Precision.exactly(5),
        quick=Quick(precision=Precision.exactly(3), rows=[pair for pair in PAIRS if "g" not in pair]),
        is_drawn=False,
        row_label="Handover",
        note=f"Over {MEASURED_S} s, from {SETTLE_S} s after the reconnection. TCP has packets of {TCP_BYTES} "
        f"B, ns-2's default; those of DCCP have {networks.PAYLOAD} B, which is its default, too.",
    )


def _split(column: str) -> tuple[str, float, int]:
    scheme, size, left_out = column.split(", ")
    return scheme, float(left_out.removesuffix(" s")), int(size.removesuffix(" B"))


def _settling_scenario(pair: str, column: str) -> Scenario:
    scheme, _, tcp_bytes = _split(column)
    return scenario(pair, scheme, settle_s=max(LEFT_OUT_S), tcp_bytes=tcp_bytes)


def _settling(result: Result, pair: str, column: str) -> Mapping[str, float]:
    scheme, settle_s, _ = _split(column)
    return measure(result, pair, scheme, settle_s=settle_s)


SETTLING = Item(
    key="table7-settling",
    title="Fairness to TCP, by its packets and by the time left out after the handover",
    source="not in the paper",
    rows=[pair for pair in PAIRS if pair.startswith("umts") or len(set(ends(pair))) == 1],
    columns=[
        f"{scheme}, {size} B, {left_out} s"
        for scheme in schemes.PAPERS
        for size in (networks.PAYLOAD, TCP_BYTES)
        for left_out in LEFT_OUT_S
    ],
    metrics=METRICS,
    scenario=_settling_scenario,
    measure=_settling,
    precision=Precision.exactly(5),
    quick=Quick(
        precision=Precision.exactly(1),
        rows=[pair for pair in PAIRS if pair.startswith("umts to 802.11")],
        columns=[f"tfrc, {size} B, {SETTLE_S} s" for size in (networks.PAYLOAD, TCP_BYTES)],
    ),
    is_drawn=False,
    row_label="Handover",
    column_label="Scheme, data of a TCP packet, and time left out",
    note=f"Over {MEASURED_S} s.",
)
