"""The networks of paper `freeze` and the path over them (Tables 3 and 5, Section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NETWORKS = ("umts", "802.16", "802.11b", "802.11g")
"""The networks of Table 5, by their names in scenarios."""

PAYLOAD = 500
"""Bytes of data in a packet: "500 B packets"."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A network as observed by the paper's sender (Table 3).

    Attributes:
        rate: X_recv in bytes per second.
        rtt: R in seconds.
        stationary: T_stat in seconds.
    """

    rate: float
    rtt: float
    stationary: float


SEEN: Mapping[str, Seen] = {
    "umts": Seen(0.044e6, 0.96, 660.54),
    "802.16": Seen(1.10e6, 0.17, 264.14),
    "802.11b": Seen(1.27e6, 0.05, 50.69),
    "802.11g": Seen(4.82e6, 0.04, 21.67),
}

SETTLED_S: Mapping[str, float] = {network: seen.stationary for network, seen in SEEN.items()}
"""Earliest time of the handover, in seconds after the sender began: T_stat of Table 3."""

PHASE_S: Mapping[str, float] = {"umts": 42, "802.16": 42, "802.11b": 5, "802.11g": 14}
"""Seconds over which the moment of a handover is drawn: about the time from one loss event to the next in the
stationary state. The phase determines whether p falls or is constant at that moment (README.md)."""

NS2: Mapping[str, Any] = {
    "least_loss_event_rate": 1e-5,
    "history_discounting": False,
    "feedback_timer": False,
}
"""Properties of ns-2's `Agent/DCCP/TFRC` that differ from RFC 5348: a floor of p in the throughput equation,
no history discounting, and reports on data packets only."""

RFC: Mapping[str, Any] = {
    "least_loss_event_rate": 0.0,
    "history_discounting": True,
    "feedback_timer": True,
}
"""The same as specified in RFC 5348."""

TFRC: Mapping[str, Any] = {
    "ecn": False,
    "initial_window": "rfc3390",
    "rtt_estimate": False,
    "oscillation_damping": False,
    "sequence_window": 100_000,
    **NS2,
}
"""TFRC as in ns-2's DCCP, with the initial window of RFC 5348 and without options: no ECN, no damping
(`table3` shows both), nothing that makes data packets longer; and a Sequence Window that never stops a sender
whose packets are not acknowledged (README.md)."""

DATA_SHARE = PAYLOAD / (PAYLOAD + 36)
"""The share of a link's rate left for data: IPv4 and DCCP have 36 bytes of headers."""

CAPACITY: Mapping[str, float] = {"umts": 384e3, "802.16": 9.5e6, "802.11b": 11e6, "802.11g": 54e6}
"""Table 5, in bit/s."""


def packets_per_second(network: str) -> float:
    """A network's capacity: the rate of the stationary state, within half a percent (`table3`)."""
    return CAPACITY[network] * DATA_SHARE / (8 * PAYLOAD)


def steady_rate(network: str) -> float:
    """The rate of the stationary state in packets per second: Table 3's, or the link's if that is less."""
    return min(packets_per_second(network), SEEN[network].rate / PAYLOAD)


def path(network: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - values of a scenario
    """Nodes and links of Section 5.1: a sender, a router, and a link of the mobile node behind it.

    Args:
        network: of the last link at the beginning.
        changes: to that link.
    """
    return {
        "node": [{"name": "sender"}, {"name": "router"}, {"name": "mobile"}],
        "link": [
            {
                "name": "wire",
                "between": ["sender", "router"],
                "rate": "1 Gbit/s",
                "queue": "unlimited",
            },
            {"name": "radio", "between": ["router", "mobile"], "network": network, **changes},
        ],
    }


def handover(time_s: float, jitter_s: float, duration: str, to: str | None = None) -> dict[str, Any]:
    """The radio is down for a time, from a random moment on, and returns as `to`, or unchanged."""
    entry = {"time": f"{time_s:g} s", "jitter": f"{jitter_s:g} s", "link": "radio", "duration": duration}
    return entry if to is None else {**entry, "to": to}


def flow(name: str = "flow", **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - values of a scenario
    """A TFRC flow that always has data."""
    return {
        "name": name,
        "from": "sender",
        "to": "mobile",
        "transport": "dccp",
        "ccid": 3,
        "payload": f"{PAYLOAD} B",
        "dccp": dict(TFRC),
        **changes,
    }
