"""The walk to the cafe: networks, times, and the scenario of `whimbrel emulate`.

The networks come from the paper `freeze`, Section 5.3, with the choices of its simulated walk
(`papers/freeze/walk.py`): delays of Table 5 in one direction, queues of 50 packets, gaps of 2.5 s and the
round-trip time of the new network with a full queue. Each network is an interface of the phone, with an
address of its own, which has a carrier during a visit only.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

QUEUE = 50
PACKET = 1250
"""Bytes of the stream's largest packets on the link, which bound a full queue together with `QUEUE`."""
BINDING_S = 2.5
"""Of Mobile IPv6, besides a round-trip time (Section 3.5)."""
SERVER = "server"
MARK_S = 6.0
"""All interfaces are up until this time, at which the other networks' interfaces go down: the phone derives
the time of the network's start from it. Its program must have started by then."""
STREAM_AT_S = 7.0
"""The phone asks for the stream."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network on the way: the phone's interface, its rate in kbit/s and its delay in ms."""

    name: str
    kbps: float
    delay_ms: float

    @property
    def full_rtt_s(self) -> float:
        """The round-trip time while its queue is full, in seconds."""
        return 2 * self.delay_ms / 1e3 + QUEUE * 8 * PACKET / (1e3 * self.kbps)


HOME, CELL, CAFE = Network("home", 1000, 20), Network("cell", 500, 250), Network("cafe", 700, 20)
NETWORKS = (HOME, CAFE, CELL)
"""In the order of the phone's preference: Wi-Fi before 3G."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A stay in a network, from the interface's carrier on; times in seconds of the network's clock."""

    key: str
    network: Network
    start_s: float
    end_s: float


def visits(length_s: float, names: int = 5) -> tuple[Visit, ...]:
    """The visits of a walk.

    Args:
        length_s: of each visit; the first is longer by the time before the stream begins.
        names: number of visits, from the first.
    """
    found: list[Visit] = []
    stays = (("home", HOME), ("3G", CELL), ("cafe", CAFE), ("3G again", CELL), ("home again", HOME))
    for key, network in stays[:names]:
        start = found[-1].end_s + BINDING_S + network.full_rtt_s if found else 0.0
        found.append(Visit(key, network, start, start + length_s + (0.0 if found else STREAM_AT_S)))
    return tuple(found)


def scenario(walk: tuple[Visit, ...]) -> dict[str, Any]:
    """The network as a document for `whimbrel emulate`; its flow only names the two ends."""
    events: list[dict[str, Any]] = [
        {"time": f"{MARK_S:g} s", "link": network.name, "up": False}
        for network in NETWORKS
        if network != walk[0].network
    ]
    for old, new in itertools.pairwise(walk):
        events.append({"time": f"{old.end_s:.6f} s", "link": old.network.name, "up": False})
        events.append({"time": f"{new.start_s:.6f} s", "link": new.network.name, "up": True})
    return {
        "title": "The walk to the cafe, with real programs",
        "simulation": {"duration": f"{walk[-1].end_s:.6f} s"},
        "node": [{"name": name} for name in (SERVER, "router", *(each.name for each in NETWORKS))],
        "link": [
            {"name": "wire", "between": [SERVER, "router"], "rate": "1 Gbit/s", "queue": "unlimited"},
            *(
                {
                    "name": network.name,
                    "between": ["router", network.name],
                    "rate": f"{network.kbps:g} kbit/s",
                    "delay": f"{network.delay_ms:g} ms",
                    "queue": f"{QUEUE} packets",
                }
                for network in NETWORKS
            ),
        ],
        "flow": [
            {"name": network.name, "from": SERVER, "to": network.name, "transport": "tcp"}
            for network in NETWORKS
        ],
        "event": events,
        "record": {"interval": "1 s"},
    }
