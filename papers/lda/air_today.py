"""Loss differentiation behind block acknowledgements: the last hop is 802.11ax.

An MPDU that was lost is repeated in the next A-MPDU, up to seven times, and the receiver restores the order.
One flow crosses a wired link and then the last hop, whose frames are lost as often as in the paper's high
loss rate. Single attempts show what the radio loses without repetitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whimbrel.paper import Item, Quick
from whimbrel.papers.lda import air, topology
from whimbrel.papers.lda.topology import SCHEMES
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

BOTTLENECKS = {"wired": 5_000.0, "radio": 1_000_000.0}
"""Rate of the wired link in kbit/s: below and above the radio's rate."""
RADIO = {
    "power": "20 dBm",
    "frequency": "5.5 GHz",
    "receive_threshold": "-92 dBm",
    "carrier_sense_threshold": "-92 dBm",
}
FIXED = {"mcs": 7}
ADAPTIVE = {"rate_control": "minstrel"}
CHANNELS = {"noise": 37.55, "fading": 19.0}
"""Distances in metres at which 7.8 % of the frames with MCS 7 are lost."""


@dataclass(frozen=True)
class Hop:
    """A row of the table.

    Attributes:
        bottleneck: where the queue is.
        channel: of the radio.
        rate: keys of the medium.
        attempts: of a frame.
    """

    bottleneck: str
    channel: str
    rate: Mapping[str, Any]
    attempts: int = 7

    def name(self) -> str:
        """The row's key."""
        rate = "MCS 7" if "mcs" in self.rate else "Minstrel-HT"
        attempts = ", single attempts" if self.attempts == 1 else ""
        return f"{self.bottleneck} bottleneck, {self.channel}, {rate}{attempts}"


ROWS = {
    hop.name(): hop
    for hop in (
        Hop("wired", "noise", FIXED, attempts=1),
        Hop("wired", "noise", FIXED),
        Hop("wired", "fading", FIXED, attempts=1),
        Hop("wired", "fading", FIXED),
        Hop("wired", "fading", ADAPTIVE),
        Hop("radio", "noise", FIXED),
        Hop("radio", "fading", ADAPTIVE),
    )
}


def scenario(row: str, column: str) -> Scenario:
    """One flow from a wired host to a client of an access point."""
    hop = ROWS[row]
    wired = BOTTLENECKS[hop.bottleneck]
    fading = {"kind": "rayleigh", "coherence": "40 ms"} if hop.channel == "fading" else {"kind": "none"}
    medium = {
        "name": "air",
        "standard": "802.11ax",
        "width": "20 MHz",
        "streams": 1,
        "short_retries": hop.attempts,
        "radio": RADIO,
        "noise": "-94 dBm",
        "propagation": {"kind": "log-distance", "exponent": 3},
        "fading": fading,
        **hop.rate,
    }
    client = {"wifi": "air", "position": [CHANNELS[hop.channel], 0], "client": {"ssid": "lan"}}
    access_point = {"wifi": "air", "position": [0, 0], "access_point": {"ssid": "lan"}}
    queue = topology.USUAL.queue(wired) if hop.bottleneck == "wired" else "1000 packets"
    return Scenario(
        {
            "title": f"{column}, {row}",
            "simulation": {"duration": f"{topology.WARM_UP_S + 40} s", "warm_up": f"{topology.WARM_UP_S} s"},
            "wifi": [medium],
            "node": [{"name": "s0"}, {"name": "ap", **access_point}, {"name": "d0", **client}],
            "link": [
                {
                    "name": "shared",
                    "between": ["s0", "ap"],
                    "rate": f"{wired:g} kbit/s",
                    "delay": "20 ms",
                    "queue": queue,
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


ITEM = Item(
    key="air-today",
    title="One flow over the last hop of an 802.11ax access point",
    source="not in the paper",
    rows=list(ROWS),
    columns=SCHEMES,
    metrics=air.METRICS,
    scenario=scenario,
    measure=air.measure,
    precision=Precision.exactly(5),
    quick=Quick(
        precision=Precision.exactly(2),
        rows=[hop.name() for hop in ROWS.values() if hop.bottleneck == "wired"],
        columns=("tcp", "tfrc", "omniscient", "biaz", "spike", "zigzag"),
        by_name=True,
    ),
    is_drawn=False,
    row_label="Bottleneck, channel and rate",
    note="7.8 % of the frames with MCS 7 are lost. M_c and M_w are empty where there were no such losses.",
)
