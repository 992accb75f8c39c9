"""The networks of paper `lda` (Sections 5.1 to 5.3) as scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from whimbrel.scenario import Scenario

TOPOLOGIES = ("WLH", "WB", "WLAN")
"""Wireless last hop (Figure 5), wireless backbone (Figure 6), wireless LAN (Figure 7)."""

PACKET = 762
"""Bytes of a packet on the link (Section 5.3)."""

WARM_UP_S = 20
"""Seconds of on/off traffic before the flows start (Section 5.3)."""

SETTLE_S = 2
"""Seconds from the first possible start of a flow to the beginning of the measurement."""

MEASURED_S = 200
"""Seconds of measurement (Section 5.3)."""

LOSS_RATE = {"high": 0.078, "medium": 0.031, "low": 0.010, "none": 0.0}
"""Packet loss rates of Table 1."""

LOSS_RUNS = (0.70, 0.25, 0.05)
"""Shares of loss runs of one, two and three packets: read off Figure 8, whose traces are not published."""

LAN = 10_000
"""Rate of the LAN links in kbit/s (Section 5.3)."""

LAST_HOP = 150
"""Rate of a wireless last hop in kbit/s (Section 5.3)."""

BASE = ("biaz", "mbiaz", "spike", "zigzag")
"""The base algorithms (Section 3)."""

HYBRIDS = ("zbs", "zbs2", "zbs3")
"""The hybrids (Section 7)."""

CLASSIFIERS = (*BASE, *HYBRIDS)
"""All schemes with a classifier."""

UNAWARE = ("tcp", "tfrc")
"""Schemes that treat every loss as congestion."""

RIVAL = "inherent"
"""The loss inherent to the path, after the loss-based controller of Google Congestion Control."""

SCHEMES = (*UNAWARE, "omniscient", *CLASSIFIERS)
"""The schemes of the paper, by their columns."""


_MEAN_RUN = sum(length * share for length, share in enumerate(LOSS_RUNS, 1))


def _percent(share: float) -> str:
    return f"{100 * share:.8g} %"


def runs(level: str, shares: Sequence[float] = LOSS_RUNS) -> dict[str, Any]:
    """Losses in runs of one packet and more, with the given shares."""
    return {"model": "run-length", "rate": _percent(LOSS_RATE[level]), "runs": list(shares)}


def gilbert_elliott(level: str) -> dict[str, Any]:
    """A good and a bad state with the mean loss and the mean length of the runs of `runs`."""
    lost = LOSS_RATE[level]
    return {
        "model": "gilbert-elliott",
        "good_to_bad": _percent(lost / (1 - lost) / _MEAN_RUN),
        "bad_to_good": _percent(1 / _MEAN_RUN),
    }


def errors_in_time(level: str) -> dict[str, Any]:
    """Good and bad periods, independent of traffic: a bad one lasts as long as a mean run on the last hop."""
    packet_s = 8 * PACKET / (LAST_HOP * 1e3)
    bad = packet_s * _MEAN_RUN
    lost = LOSS_RATE[level]
    return {
        "model": "timed-gilbert-elliott",
        "bad": f"{bad:.6g} s",
        "good": f"{bad * (1 - lost) / lost:.6g} s",
    }


@dataclass(frozen=True)
class Assumed:
    """The open choices of the paper with the defaults of this reproduction; see README.md.

    Attributes:
        radio: loss model of the radio, for a level above `none`.
        tcp: the TCP.
        damping: true if TFRC slows down as the round-trip time grows (RFC 5348, Section 4.5). It is optional
            in the RFC, and a part of the TFRC that the paper builds on and of ns's.
        timeout_tick: t_RTO of TFRC's equation is measured as TCP does, on a clock of this grain; without one
            it is four round-trip times, as in RFC 5348.
        classification: parameters of the classifiers that differ from the paper's, or from our reading of it.
        netem: jitter on the radio link, as in `netem` of a scenario; none in the paper.
        clock_drift_ppm: rate error of the sender's clock; clocks agree in the paper.
        corrects_clock: true if the receiver corrects such a drift.
        queue_factor: capacity of a queue, in terms of the paper's rule.
        queue_more: additional packets that it holds.
    """

    radio: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: {level: runs(level) for level in ("high", "medium", "low")}
    )
    tcp: Mapping[str, Any] = field(default_factory=lambda: {"preset": "ns2", "variant": "reno"})
    damping: bool = True
    timeout_tick: str | None = None
    classification: Mapping[str, Any] = field(default_factory=dict)
    netem: Mapping[str, Any] | None = None
    clock_drift_ppm: float = 0.0
    corrects_clock: bool = False
    queue_factor: float = 1.0
    queue_more: int = 0

    def queue(self, kilobits: float) -> str:
        """The paper's queue: max(rate / 60 kbit/s, 6) packets (Section 5.3)."""
        return f"{int(max(int(kilobits / 60), 6) * self.queue_factor) + self.queue_more} packets"


USUAL = Assumed()
"""The default assumptions of every item."""

NS2_TICK = "100 ms"
"""The clock on which ns measures round-trip times for TFRC's t_RTO (`tcp_tick_`)."""

AS_NS2 = Assumed(
    timeout_tick=NS2_TICK,
    tcp={"preset": "ns2", "variant": "reno", "clock_tick": NS2_TICK, "delayed_acks": True},
)
"""TFRC's timeout and TCP's receiver and clock as in ns."""

AS_NS2_BEFORE = replace(AS_NS2, classification={"zigzag_trip": "before-gap"})
"""The same, with ZigZag's rott_i as the trip time of P_i, the last packet before the gap."""

SETS: Mapping[str, Assumed] = {"ns2": AS_NS2, "ns2-before": AS_NS2_BEFORE}
"""Consistent sets of the open choices, besides the usual one, which follows the RFCs."""


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


@dataclass(frozen=True)
class Party:
    """Flows of one scheme, each between nodes of its own.

    Attributes:
        scheme: one of `SCHEMES`.
        count: number of flows.
        name: of the flows.
        prefix: of the names of their nodes and links.
    """

    scheme: str
    count: int
    name: str = "flow"
    prefix: str = ""


def scenario(
    topology: str,
    scheme: str,
    flows: int = 1,
    loss: str = "high",
    *,
    rivals: int = 0,
    guard: bool = False,
    assumed: Assumed = USUAL,
    more: Mapping[str, Any] | None = None,
) -> Scenario:
    """One experiment.

    Args:
        topology: one of `TOPOLOGIES`.
        scheme: one of `SCHEMES`, or `RIVAL`.
        flows: N, the number of flows of that scheme.
        loss: a key of `LOSS_RATE`.
        rivals: additional TCP flows, with paths like the others.
        guard: true for the guard on classifiers, which the paper does not have.
        assumed: the open choices.
        more: further tables of the scenario.
    """
    parties = [Party(scheme, flows)]
    if rivals:
        parties.append(Party("tcp", rivals, "rival", "rival-"))
    total = flows + rivals
    radio = dict(assumed.radio[loss]) if loss != "none" else {"model": "none"}
    shared = shared_rate(topology, total)
    title = f"{topology}, {flows} x {scheme}{' with a guard' if guard else ''}, {loss} loss"
    return Scenario(
        {
            "title": title + (f", {rivals} x tcp" if rivals else ""),
            "simulation": {
                "duration": f"{WARM_UP_S + SETTLE_S + MEASURED_S} s",
                "warm_up": f"{WARM_UP_S + SETTLE_S} s",
            },
            "node": [
                {"name": "r1"},
                {"name": "r2"},
                *(
                    {"name": f"{party.prefix}{end}{{i}}", "count": party.count}
                    for party in parties
                    for end in ("s", "d")
                    if end == "s" or topology != "WLAN"
                ),
                {"name": "warm{i}", "count": 2},
                {"name": "sink"},
            ],
            "link": [
                {
                    "name": "shared",
                    "between": ["r1", "r2"],
                    "rate": f"{shared} kbit/s",
                    # A wireless LAN has the same fixed delay without the last link (Section 5.1).
                    "delay": "21 ms" if topology == "WLAN" else "20 ms",
                    "queue": assumed.queue(shared),
                    "loss": {"model": "none"} if topology == "WLH" else radio,
                    **({} if topology == "WLH" else _jitter(assumed)),
                },
                *(_lan(f"{party.prefix}s{{i}}", "r1", assumed, party.count) for party in parties),
                *(_last_hop(topology, radio, party, assumed) for party in parties if topology != "WLAN"),
                _lan("warm{i}", "r1", assumed, 2),
                _lan("r2", "sink", assumed),
            ],
            "flow": [
                *(_flows(topology, party, guard, assumed) for party in parties),
                *(_warm_up(topology, total, flows, number) for number in range(2)),
            ],
            **(more or {}),
        }
    )


def _flows(topology: str, party: Party, guard: bool, assumed: Assumed) -> dict[str, Any]:
    return {
        "name": f"{party.name}{{i}}",
        "count": party.count,
        "from": f"{party.prefix}s{{i}}",
        # The receivers of a wireless LAN share one radio, represented by one node.
        "to": "r2" if topology == "WLAN" else f"{party.prefix}d{{i}}",
        "packet_size": f"{PACKET} B",
        "start": f"{WARM_UP_S} s",
        "start_jitter": "1 s",
        **sender(party.scheme, guard, assumed),
    }


def sender(scheme: str, guard: bool = False, assumed: Assumed = USUAL) -> dict[str, Any]:
    """The keys of a flow that name its transport.

    Args:
        scheme: of `SCHEMES`, or `RIVAL`.
        guard: true for the guard on the classifier.
        assumed: the open choices.
    """
    if scheme == "tcp":
        return {"transport": "tcp", "tcp": dict(assumed.tcp)}
    classifier = "none" if scheme == "tfrc" else scheme
    return {
        "transport": "dccp",
        "ccid": 3,
        "classifier": classifier,
        "dccp": {
            # No option that occurs only sometimes: every data packet has the paper's size.
            "rtt_estimate": False,
            # As in ns (`rate_init_option_`) and in RFC 5348.
            "initial_window": "rfc3390",
            "oscillation_damping": assumed.damping,
            "guard": guard,
            "clock_correction": assumed.corrects_clock,
            "clock_drift_ppm": assumed.clock_drift_ppm,
            "classification": {"robust": False, **assumed.classification},
            **({} if assumed.timeout_tick is None else {"timeout_tick": assumed.timeout_tick}),
        },
    }


def _lan(a: str, b: str, assumed: Assumed, count: int | None = None) -> dict[str, Any]:
    rate, queue = f"{LAN} kbit/s", assumed.queue(LAN)
    link: dict[str, Any] = {"between": [a, b], "rate": rate, "delay": "1 ms", "queue": queue}
    return link if count is None else {**link, "count": count}


def _last_hop(topology: str, radio: Mapping[str, Any], party: Party, assumed: Assumed) -> dict[str, Any]:
    receiver = f"{party.prefix}d{{i}}"
    if topology == "WB":
        return _lan("r2", receiver, assumed, party.count)
    return {
        "name": f"{party.prefix}radio{{i}}",
        "between": ["r2", receiver],
        "count": party.count,
        "rate": f"{LAST_HOP} kbit/s",
        "delay": "10 ms",
        "queue": assumed.queue(LAST_HOP),
        "loss": dict(radio),
        **_jitter(assumed),
    }


def _jitter(assumed: Assumed) -> dict[str, Any]:
    return {} if assumed.netem is None else {"netem": dict(assumed.netem)}


def _warm_up(topology: str, total: int, receivers: int, number: int) -> dict[str, Any]:
    """An exponential on/off source at half of the bottleneck's rate, as the paper gives none."""
    rate = bottleneck(topology, total)[1] / 2
    return {
        "name": f"warm-up{number}",
        "from": f"warm{number}",
        "to": f"d{number % receivers}" if topology == "WLH" else "sink",
        "transport": "udp",
        "background": True,
        "packet_size": f"{PACKET} B",
        "traffic": {"kind": "on-off", "rate": f"{rate:g} bit/s", "burst": "500 ms", "idle": "500 ms"},
        "stop": f"{WARM_UP_S + SETTLE_S - 0.5 * number:g} s",
    }
