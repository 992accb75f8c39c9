"""The networks of paper `lda` (Sections 5.1 to 5.3) as scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whimbrel.scenario import Scenario

PACKET = 762
"""Bytes of a packet on the link (Section 5.3)."""

WARM_UP_S = 20
"""Seconds of on/off traffic before the flows start (Section 5.3)."""

SETTLE_S = 2
"""Seconds from the first possible start of a flow to the beginning of the measurement."""

MEASURED_S = 200
"""Seconds of measurement (Section 5.3)."""

LOSS_RATE = {"high": "7.8 %", "medium": "3.1 %", "low": "1.0 %", "none": "0 %"}
"""Packet loss rates of Table 1."""

LOSS_RUNS = (0.70, 0.25, 0.05)
"""Shares of loss runs of one, two and three packets: read off Figure 8, whose traces are not published."""

LAN = 10_000
"""Rate of the LAN links in kbit/s (Section 5.3)."""

LAST_HOP = 150
"""Rate of a wireless last hop in kbit/s (Section 5.3)."""

SCHEMES: Mapping[str, Mapping[str, Any]] = {
    "tcp": {"transport": "tcp", "tcp": {"preset": "ns2", "variant": "reno"}},
    "tfrc": {"transport": "dccp", "ccid": 3, "classifier": "none"},
    "omniscient": {"transport": "dccp", "ccid": 3, "classifier": "omniscient"},
}
"""How each column sends. The paper does not name its TCP; see README.md."""


def queue(kilobits: float) -> str:
    """The paper's queue: max(rate / 60 kbit/s, 6) packets (Section 5.3)."""
    return f"{max(int(kilobits / 60), 6)} packets"


def shared_rate(topology: str, flows: int) -> int:
    """Rate of the link that all flows share, in kbit/s (Section 5.3)."""
    if topology == "WLH":
        return max(flows, 2) * 130
    return 800 if flows <= 8 else 1600


def bottleneck(topology: str, flows: int) -> tuple[str, float]:
    """Name and rate in bit/s of the link by which throughput is normalised (Sections 6.1 and 6.3)."""
    if topology == "WLH" and flows == 1:
        return "radio0", LAST_HOP * 1e3
    return "shared", shared_rate(topology, flows) * 1e3


def scenario(topology: str, scheme: str, flows: int = 1, loss: str = "high") -> Scenario:
    """One experiment.

    Args:
        topology: `WLH` (wireless last hop, Figure 5) or `WB` (wireless backbone, Figure 6).
        scheme: a key of `SCHEMES`.
        flows: N, the number of flows.
        loss: a key of `LOSS_RATE`.
    """
    radio = (
        {"model": "run-length", "rate": LOSS_RATE[loss], "runs": list(LOSS_RUNS)} if loss != "none" else {}
    )
    shared = shared_rate(topology, flows)
    return Scenario(
        {
            "title": f"{topology}, {flows} x {scheme}, {loss} loss",
            "simulation": {
                "duration": f"{WARM_UP_S + SETTLE_S + MEASURED_S} s",
                "warm_up": f"{WARM_UP_S + SETTLE_S} s",
            },
            "node": [
                {"name": "r1"},
                {"name": "r2"},
                {"name": "s{i}", "count": flows},
                {"name": "d{i}", "count": flows},
                {"name": "warm{i}", "count": 2},
                {"name": "sink"},
            ],
            "link": [
                {
                    "name": "shared",
                    "between": ["r1", "r2"],
                    "rate": f"{shared} kbit/s",
                    "delay": "20 ms",
                    "queue": queue(shared),
                    **({"loss": radio} if radio and topology == "WB" else {}),
                },
                _lan("s{i}", "r1", flows),
                _last_hop(topology, radio, flows),
                _lan("warm{i}", "r1", 2),
                _lan("r2", "sink"),
            ],
            "flow": [
                {
                    "name": "flow{i}",
                    "count": flows,
                    "from": "s{i}",
                    "to": "d{i}",
                    "packet_size": f"{PACKET} B",
                    "start": f"{WARM_UP_S} s",
                    "start_jitter": "1 s",
                    **_sender(scheme),
                },
                *(_warm_up(topology, flows, number) for number in range(2)),
            ],
        }
    )


def _sender(scheme: str) -> dict[str, Any]:
    sender = dict(SCHEMES[scheme])
    if sender["transport"] == "dccp":
        # Without options that come and go every data packet has the paper's size; and nothing limits the
        # classifiers but themselves.
        sender["dccp"] = {"rtt_estimate": False, "guard": False}
    return sender


def _lan(a: str, b: str, count: int | None = None) -> dict[str, Any]:
    link: dict[str, Any] = {"between": [a, b], "rate": f"{LAN} kbit/s", "delay": "1 ms", "queue": queue(LAN)}
    return link if count is None else {**link, "count": count}


def _last_hop(topology: str, radio: Mapping[str, Any], flows: int) -> dict[str, Any]:
    if topology == "WB":
        return _lan("r2", "d{i}", flows)
    return {
        "name": "radio{i}",
        "between": ["r2", "d{i}"],
        "count": flows,
        "rate": f"{LAST_HOP} kbit/s",
        "delay": "10 ms",
        "queue": queue(LAST_HOP),
        **({"loss": dict(radio)} if radio else {}),
    }


def _warm_up(topology: str, flows: int, number: int) -> dict[str, Any]:
    """An exponential on/off source; the paper gives no rate: half of the bottleneck's stands for it."""
    rate = bottleneck(topology, flows)[1] / 2
    return {
        "name": f"warm-up{number}",
        "from": f"warm{number}",
        "to": f"d{number % flows}" if topology == "WLH" else "sink",
        "transport": "udp",
        "background": True,
        "packet_size": f"{PACKET} B",
        "traffic": {"kind": "on-off", "rate": f"{rate:g} bit/s", "burst": "500 ms", "idle": "500 ms"},
        "stop": f"{WARM_UP_S + SETTLE_S - 0.5 * number:g} s",
    }
