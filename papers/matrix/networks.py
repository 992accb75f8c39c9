"""The networks of the matrix: each has a bottleneck from `left` to `right`, which two flows share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from whimbrel.papers.matrix import recorded
from whimbrel.papers.matrix.schemes import ALL, PAYLOAD
from whimbrel.scenario import Scenario

TIME_S = 60.0
WARM_UP_S = 20.0
"""Not measured: slow start, and the first packets of calls."""
FIRST, SECOND = "first", "second"
WIRED_MBPS = 6.0
ONE_WAY_MS = 20
DEEP_QUEUE = "150 packets"
"""300 ms at 6 Mbit/s: the queue of RFC 8867, Section 4.2."""

Document = dict[str, Any]


@dataclass(frozen=True)
class Network:
    """A network.

    Attributes:
        title: displayed.
        document: makes the parts of a scenario besides its flows.
        about: for the page.
        file: the recorded trace that it needs; None if it needs none.
    """

    title: str
    document: Callable[[], Document]
    about: str
    file: str | None = None


def _wired(discipline: Document | None, queue: str = DEEP_QUEUE) -> Callable[[], Document]:
    link: Document = {
        "name": "bottleneck",
        "from": "left",
        "to": "right",
        "rate": f"{WIRED_MBPS:g} Mbit/s",
        "delay": f"{ONE_WAY_MS} ms",
        "queue": queue,
    }
    if discipline is not None:
        link["discipline"] = discipline
    back = {"from": "right", "to": "left", "rate": "100 Mbit/s", "delay": f"{ONE_WAY_MS} ms"}
    return lambda: {"node": [{"name": "left"}, {"name": "right"}], "link": [link, back]}


def _cell() -> Document:
    """Downlink of an 802.11g access point whose cell has a station that uploads."""
    return {
        "wifi": [
            {"name": "air", "standard": "802.11g", "rate": "12 Mbit/s", "radio": {"range": "100 m"}},
        ],
        "node": [
            {"name": "server"},
            {
                "name": "left",
                "wifi": "air",
                "position": [0, 0],
                "access_point": {"ssid": "cell", "channel": 1},
            },
            {"name": "right", "wifi": "air", "position": [10, 0], "client": {"ssid": "cell"}},
            {"name": "neighbour", "wifi": "air", "position": [0, 10], "client": {"ssid": "cell"}},
        ],
        "link": [{"between": ["server", "left"], "rate": "100 Mbit/s", "delay": f"{ONE_WAY_MS} ms"}],
        "flow": [
            {
                "name": "upload",
                "from": "neighbour",
                "to": "server",
                "transport": "udp",
                "payload": "1000 B",
                "traffic": {"kind": "cbr", "rate": "2 Mbit/s"},
                "start": "1 s",
                "background": True,
            }
        ],
    }


def _lossy(loss: Document) -> Callable[[], Document]:
    """A radio behind the drop-tail queue, which loses packets and retransmits none."""

    def document() -> Document:
        network = _wired(None)()
        network["link"][0]["loss"] = loss
        return network

    return document


def _random(share: str) -> Document:
    return {"model": "bernoulli", "rate": share}


RANDOM_LOSS = _random("1 %")
BURSTS = {"model": "gilbert-elliott", "good_to_bad": "0.34 %", "bad_to_good": "33.3 %"}
"""The same loss, 1 %, in bursts of three packets on average."""


def _recorded(file: str) -> Callable[[], Document]:
    def document() -> Document:
        network = _wired(None, "300 packets")()
        link = network["link"][0]
        del link["rate"]
        form = recorded.FILES[file].form
        link["trace"] = {"file": str(recorded.path(file)), "format": form, "start": "random"}
        return network

    return document


NETWORKS: Mapping[str, Network] = {
    "droptail": Network("drop-tail queue", _wired(None), "6 Mbit/s, RTT 40 ms, a drop-tail queue of 300 ms."),
    "codel": Network(
        "CoDel with ECN",
        _wired({"kind": "codel", "ecn": True}, "1000 packets"),
        "The same link with CoDel (RFC 8289) that marks.",
    ),
    "fq-codel": Network(
        "FQ-CoDel with ECN",
        _wired({"kind": "fq-codel"}, "1000 packets"),
        "The same link with FQ-CoDel (RFC 8290) that marks: a queue for each flow.",
    ),
    "pie": Network(
        "PIE with ECN",
        _wired({"kind": "pie", "ecn": True}, "1000 packets"),
        "The same link with PIE (RFC 8033) that marks.",
    ),
    "dualpi2": Network(
        "DualPI2",
        _wired({"kind": "dualpi2"}, "1000 packets"),
        "The same link with DualPI2 (RFC 9332): a queue for L4S and one for all others.",
    ),
    "radio-half": Network(
        "radio with 0.5 % loss",
        _lossy(_random("0.5 %")),
        "The drop-tail link, behind which 0.5 % of the packets are lost.",
    ),
    "radio-two": Network(
        "radio with 2 % loss",
        _lossy(_random("2 %")),
        "The drop-tail link, behind which 2 % of the packets are lost.",
    ),
    "cell": Network(
        "802.11g cell",
        _cell,
        "From an access point of 802.11g at 12 Mbit/s to one station, while another uploads 2 Mbit/s.",
    ),
    "lte": Network(
        "LTE while driving",
        _recorded("lte"),
        "The rate of a recorded LTE downlink, a drop-tail queue of 300 packets, RTT 40 ms.",
        "lte",
    ),
    "5g": Network(
        "5G while driving",
        _recorded("5g"),
        "The rate of a recorded 5G downlink, a drop-tail queue of 300 packets, RTT 40 ms.",
        "5g",
    ),
}
"""The networks on which each scheme is measured against each, by name."""
DIFFERENTIATING: Mapping[str, Network] = {
    "differentiate-none": Network(
        "loss differentiation, no radio",
        _wired(None),
        "6 Mbit/s, RTT 40 ms, a drop-tail queue of 300 ms.",
    ),
    "differentiate-random": Network(
        "loss differentiation, 1 % random loss",
        _lossy(RANDOM_LOSS),
        "The drop-tail link, behind which 1 % of the packets are lost independently.",
    ),
    "differentiate-bursts": Network(
        "loss differentiation, 1 % loss in bursts",
        _lossy(BURSTS),
        "The drop-tail link, behind which 1 % of the packets are lost, three in a row on average.",
    ),
}
"""The networks of the items on loss differentiation, by name."""


def _flow(name: str, scheme: str, network: str) -> Document:
    return {
        "name": name,
        "from": "server" if network == "cell" else "left",
        "to": "right",
        "payload": PAYLOAD,
        "start": "1 s",
        "start_jitter": "1 s",
        **ALL[scheme].keys,
    }


def scenario(network: str, first: str, second: str | None, report_interval: str | None = None) -> Scenario:
    """Two flows, or one, at the bottleneck of a network; media with that interval between reports."""
    place = {**NETWORKS, **DIFFERENTIATING}[network]
    document: Document = {"flow": [], **place.document()}
    flows = [_flow(FIRST, first, network)]
    if second is not None:
        flows.append(_flow(SECOND, second, network))
    if report_interval is not None:
        for flow in flows:
            flow["media"] = {**flow["media"], "report_interval": report_interval}
    document["flow"] = [*flows, *document["flow"]]
    document["simulation"] = {"duration": f"{TIME_S:g} s", "warm_up": f"{WARM_UP_S:g} s"}
    document["record"] = {"interval": "1 s"}
    document["title"] = f"{first} beside {second or 'nothing'}: {place.title}"
    return Scenario(document)
