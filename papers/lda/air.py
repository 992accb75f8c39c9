"""Loss differentiation behind the retries of a MAC.

The paper's radios lose a packet once and for all. An 802.11 station repeats a frame that was not
acknowledged, so that most of the losses become delays, and those that remain come after all attempts have
failed. Here one flow crosses a wired link and then the last hop of an access point, with 0, 3 and 7 retries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whimbrel.paper import Item, Quick
from whimbrel.papers.lda import measures, topology
from whimbrel.papers.lda.topology import SCHEMES
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

RETRIES = (0, 3, 7)
NOISE_DBM = -93.6
"""Thermal noise in 22 MHz, a noise figure of 7 dB."""


@dataclass(frozen=True)
class Channel:
    """A radio channel between the access point and the client.

    Attributes:
        distance_m: between the two. It is chosen so that 7.8 % of the attempts with a full packet fail, the
            paper's high loss rate.
        fading: as in a scenario.
    """

    distance_m: float
    fading: Mapping[str, Any]


CHANNELS = {
    "noise": Channel(389.9, {"kind": "none"}),
    "fading": Channel(211.0, {"kind": "rayleigh", "coherence": "40 ms"}),
}
"""Independent losses, and losses in bursts: the gain of the fading channel is drawn anew every 40 ms, about
the coherence time of a pedestrian at 2.4 GHz (0.423 / f_D, f_D = 11 Hz)."""

BOTTLENECKS = {"wired": 1_000.0, "radio": 10_000.0}
"""Rate of the wired link in kbit/s: below and above the radio's rate."""


@dataclass(frozen=True)
class Cell:
    """A row of the table."""

    bottleneck: str
    channel: str
    retries: int

    def name(self) -> str:
        """The row's key."""
        return f"{self.bottleneck} bottleneck, {self.channel}, {self.retries} retries"


ROWS = {
    cell.name(): cell
    for bottleneck in BOTTLENECKS
    for channel in CHANNELS
    for cell in (Cell(bottleneck, channel, retries) for retries in RETRIES)
}

METRICS = [
    Metric("goodput", "kbit/s", "Goodput", 0),
    Metric("m_c", "%", "M_c", title="Congestion losses taken for wireless ones, M_c"),
    Metric("m_w", "%", "M_w", title="Wireless losses taken for congestion, M_w"),
    Metric("wireless", "%", "Wireless loss", 2, title="Packets lost on the radio after all attempts"),
    Metric("congestion", "%", "Congestion loss", 2, title="Packets lost by queues"),
    Metric("spread", "ms", "Delay, p95 - least", 1, title="95th percentile of the delay above the least"),
]


def scenario(row: str, column: str) -> Scenario:
    """One flow from a wired host to a client of an access point."""
    cell = ROWS[row]
    channel = CHANNELS[cell.channel]
    wired = BOTTLENECKS[cell.bottleneck]
    attempts = cell.retries + 1
    return Scenario(
        {
            "title": f"{column}, {row}",
            "simulation": {
                "duration": f"{topology.WARM_UP_S + topology.MEASURED_S / 2:g} s",
                "warm_up": f"{topology.WARM_UP_S} s",
            },
            "wifi": [
                {
                    "name": "air",
                    "standard": "802.11b",
                    "rate": "11 Mbit/s",
                    "short_retries": attempts,
                    "long_retries": attempts,
                    "radio": {"power": "10 dBm", "range": "400 m", "carrier_sense_range": "700 m"},
                    "noise": f"{NOISE_DBM} dBm",
                    "fading": dict(channel.fading),
                }
            ],
            "node": [
                {"name": "s0"},
                {
                    "name": "ap",
                    "wifi": "air",
                    "position": [0, 0],
                    "access_point": {"ssid": "lan"},
                },
                {
                    "name": "d0",
                    "wifi": "air",
                    "position": [channel.distance_m, 0],
                    "client": {"ssid": "lan", "missed_beacons": 0, "failed_attempts": 0},
                },
            ],
            "link": [
                {
                    "name": "shared",
                    "between": ["s0", "ap"],
                    "rate": f"{wired:g} kbit/s",
                    "delay": "20 ms",
                    "queue": topology.USUAL.queue(wired),
                }
            ],
            "flow": [
                {
                    "name": "flow0",
                    "from": "s0",
                    "to": "d0",
                    "packet_size": f"{topology.PACKET} B",
                    "start": "5 s",
                    "start_jitter": "1 s",
                    **topology.sender(column),
                }
            ],
        }
    )


def measure(result: Result, _row: str, column: str) -> Mapping[str, float]:
    """The paper's measures, and what the MAC has left of the radio's losses."""
    flow = result.flows
    value = {key: float(flow[key][0]) for key in (*measures.COUNTS, "lost_wireless", "sent_packets")}
    m_c, m_w = measures.misclassified(value, column)
    return {
        "goodput": float(flow["goodput_bps"][0]) / 1e3,
        "m_c": m_c,
        "m_w": m_w,
        "wireless": measures.share(value["lost_wireless"], value["sent_packets"], math.nan),
        "congestion": measures.share(value["lost_queue"], value["sent_packets"], math.nan),
        "spread": 1e3 * float(flow["delay_p95_s"][0] - flow["delay_min_s"][0]),
    }


ITEM = Item(
    key="mac-retries",
    title="One flow over the last hop of an 802.11b access point, by the retries of its MAC",
    source="not in the paper",
    rows=list(ROWS),
    columns=SCHEMES,
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(5),
    quick=Quick(
        precision=Precision.exactly(1),
        rows=[Cell("wired", "noise", retries).name() for retries in (0, 7)],
        overrides=("simulation.duration=60 s",),
    ),
    is_drawn=False,
    row_label="Bottleneck, channel and retries",
    note="7.8 % of the attempts with a full packet fail. M_c and M_w are empty where there were no such "
    "losses.",
)
