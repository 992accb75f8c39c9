"""The size of the buffer on paths of other or changing rates and delays: Q = X D_max or fixed.

The paper derives Q = X D_max and simulates fixed sizes, 12 packets for video and 5 for voice, at one rate.
Here 5 % of the packets arrive 25 ± 8 ms later (Table I, 50 ms), less than D_max, on paths whose rate differs,
or changes. A buffer "kept full at all times" (Section II.B) is limited by its size only; `12, no timer` is
the closest buffer that lets packets in order pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import beyond_paths, beyond_schemes
from whimbrel.papers.reorder.beyond_paths import END_S, WARM_UP_S, Path, Way, delayed
from whimbrel.papers.reorder.beyond_schemes import SCHEMES, buffer
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

PEAK = "peak 1 Mbit/s"
IN_ORDER = "in order"
FIVE_FULL, TWELVE_FULL = "5, no timer", "12, no timer"
NEVER_MS = 60_000.0

SIZES: Mapping[str, Mapping[str, Any]] = {
    IN_ORDER: SCHEMES[beyond_schemes.PLAIN],
    **{key: SCHEMES[key] for key in ("none", "5", "12", "dynamic")},
    PEAK: buffer("1 Mbit/s"),
    FIVE_FULL: buffer("5 packets", NEVER_MS),
    TWELVE_FULL: buffer("12 packets", NEVER_MS),
    beyond_schemes.RACK: SCHEMES[beyond_schemes.RACK],
}
"""The receiver's buffer; `in order` is the path without reordering, which shows the cost of the changes
alone."""

STEP_S = 8.0
"""From one change of a link or of the route to the next."""

_NETEM = delayed("5", "25 ms", "8 ms")


@dataclass(frozen=True)
class Change:
    """Changes on a path.

    Attributes:
        path: the path at the beginning.
        rates: the bottleneck's rates in bit/s, in turns.
        cross: cross traffic through the bottleneck.
        voice: the flow is a call of 80 kbit/s (G.711) rather than a greedy one.
    """

    path: Path
    rates: Sequence[float] = ()
    cross: Mapping[str, Any] = field(default_factory=dict)
    voice: bool = False

    @property
    def capacity_bps(self) -> float:
        """The mean rate available to the flow over its changes."""
        if self.voice:
            return VOICE_BPS
        rate = sum(self.rates) / len(self.rates) if self.rates else self.path.rate_bps
        return rate - self.cross_bps

    @property
    def cross_bps(self) -> float:
        """The mean rate of the cross traffic."""
        return CROSS_BPS / 2 if self.cross else 0.0


VOICE_BPS = 80e3
VOICE_PACKET = 200
"""Bytes, with all headers (Section III)."""
VOICE_MS = 100.0
"""D_max of voice (Section III)."""
CROSS_BPS = 3e6


def _alone(rate_bps: float) -> Path:
    return Path("", rate_bps, [Way(20, netem=_NETEM)])


CHANGES: Mapping[str, Change] = {
    "200 kbit/s": Change(_alone(0.2e6)),
    "1 Mbit/s": Change(_alone(1e6)),
    "10 Mbit/s": Change(_alone(10e6)),
    "1 and 8 Mbit/s": Change(_alone(1e6), rates=(1e6, 8e6)),
    "cross traffic": Change(
        _alone(4e6),
        cross={"kind": "on-off", "rate": f"{CROSS_BPS:g} bit/s", "burst": "2 s", "idle": "2 s"},
    ),
    "40 and 240 ms": Change(
        Path("", 4e6, [Way(20, netem=_NETEM), Way(220, netem=_NETEM)], flap_s=STEP_S),
    ),
    "a call": Change(_alone(1e6), voice=True),
}

METRICS = [
    Metric("throughput", "%", "To the application, of the available rate"),
    Metric("p", "%", "Loss event rate", 2),
    Metric("lost", "%", "Lost by the queue", 2),
    Metric("late", "%", "Too late for the application", 2),
    Metric("delay", "ms", "99 % of delays", 0),
]


def scenario(row: str, column: str) -> Scenario:
    """One flow over a path on which something changes."""
    change, dccp = CHANGES[row], dict(SIZES[column])
    path = change.path
    if column == IN_ORDER:
        path = replace(path, ways=[replace(way, netem=None) for way in path.ways])
    flow = beyond_schemes.flow(dccp)
    if change.voice:
        if column in ("5", "12", "dynamic", PEAK):
            dccp["reorder_delay"] = f"{VOICE_MS:g} ms"
        if column == PEAK:
            dccp["reorder_size"] = f"{VOICE_BPS:g} bit/s"
        traffic = {"kind": "cbr", "rate": f"{VOICE_BPS:g} bit/s"}
        flow = beyond_schemes.flow(dccp, packet_size=f"{VOICE_PACKET} B", traffic=traffic)
    document: dict[str, Any] = {
        "title": f"{row}, {column}",
        "simulation": {"duration": f"{END_S:g} s", "warm_up": f"{WARM_UP_S:g} s"},
        **beyond_paths.network(path),
        "flow": [flow],
    }
    if change.cross:
        document["flow"].append(
            {
                "name": "others",
                "from": "sender",
                "to": "far",
                "transport": "udp",
                "background": True,
                "packet_size": "1000 B",
                "traffic": dict(change.cross),
            }
        )
    if change.rates:
        steps = range(1, math.ceil(END_S / STEP_S))
        document["event"] = [
            {
                "time": f"{step * STEP_S:g} s",
                "link": "bottleneck",
                "rate": f"{change.rates[step % len(change.rates)]:g} bit/s",
            }
            for step in steps
        ]
    return Scenario(document)


def measure(result: Result, row: str, _column: str) -> Mapping[str, float]:
    """The rate delivered to the application, and the sender's estimates."""
    flow = result.flows.where(background=0)
    size = VOICE_PACKET if CHANGES[row].voice else beyond_schemes.PACKET
    data = CHANGES[row].capacity_bps * (size - beyond_schemes.HEADERS) / size
    return {
        "throughput": 100 * float(flow["goodput_bps"][0]) / data,
        "p": 100 * float(flow["loss_event_rate_mean"][0]),
        "lost": 100 * float(flow["lost_queue"][0]) / float(flow["sent_packets"][0]),
        "late": beyond_schemes.late_share(flow),
        "delay": 1e3 * float(flow["delay_p99_s"][0]),
    }


ITEM = Item(
    key="beyond-size",
    title="The size of the buffer at other and changing rates",
    source="not in the paper",
    rows=list(CHANGES),
    columns=list(SIZES),
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(3)),
    is_drawn=False,
    row_label="Path",
    column_label="Q",
    note="5 % of the packets arrive 25 ± 8 ms later; D_max is 50 ms, for the call (G.711, 80 kbit/s "
    "in packets "
    f"of 200 B) 100 ms, and its peak 80 kbit/s. Rates and routes change every {STEP_S:g} s; cross traffic: "
    "UDP of 3 Mbit/s, on and off for 2 s each in the mean, beside it on 4 Mbit/s.",
)
