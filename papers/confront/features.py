"""Table 1: features of UDP, TCP and DCCP, as measured in our implementations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from whimbrel.claims import Claim, Verdict, between, every
from whimbrel.paper import Item
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet

PROTOCOLS: Mapping[str, dict[str, Any]] = {
    "udp": {"transport": "udp"},
    "tcp": {"transport": "tcp", "tcp": {"variant": "sack", "timestamps": False, "ecn": True}},
    "dccp": {"transport": "dccp", "ccid": 2},
}
DATA = 500
IP = 20
"""Bytes of the header of IPv4."""
SECONDS, SPARE_S = 20.0, 10.0
"""The flow sends for the first part; the rest is for repetitions."""
NARROW, WIDE = "1 Mbit/s", "10 Mbit/s"
OVERLOAD = "2 Mbit/s"
LOSS = {"model": "bernoulli", "rate": "5 %"}


def _scenario(protocol: str, rate: str, **link: Any) -> Scenario:  # noqa: ANN401 - scenario keys
    """A flow that offers 2 Mbit/s to a link."""
    return Scenario(
        {
            "simulation": {"duration": f"{SECONDS + SPARE_S:g} s"},
            "node": [{"name": "a"}, {"name": "b"}],
            "link": [
                {"name": "link", "between": ["a", "b"], "rate": rate, "delay": "10 ms", "queue": "50 packets"}
                | link
            ],
            "flow": [
                {
                    "name": "f",
                    "from": "a",
                    "to": "b",
                    "payload": f"{DATA} B",
                    "traffic": {"kind": "cbr", "rate": OVERLOAD},
                    "stop": f"{SECONDS:g} s",
                    **PROTOCOLS[protocol],
                }
            ],
            "record": {"packets": True},
        }
    )


def _header(result: Result) -> float:
    """Bytes of the shortest header of a packet with data, without the IP header."""
    return float(min(result.packets["size_bytes"])) - DATA - IP


def _recovers(result: Result) -> float:
    """Packets that a link loses are sent again."""
    return float(result.flows["retransmitted_packets"][0] > 0)


def _controls(result: Result) -> float:
    """A narrow link loses less than a tenth of what is sent, half of which it cannot carry."""
    return float(result.flows["lost_queue"][0] < 0.1 * result.flows["sent_packets"][0])


def _marked(result: Result) -> float:
    """Packets that a queue has marked arrive."""
    return float(result.flows["marked_packets"][0] > 0)


def _detects(result: Result) -> float:
    """Packets arrive with damaged data, and none of them is taken for an intact one."""
    flows, damaged = result.flows, result["links"]["damaged_packets"][0]
    accepted = flows["received_packets"][0] + flows["under_way_packets"][0]
    return float(damaged > 0 and accepted <= flows["sent_packets"][0] - damaged)


class Feature:
    """A row of Table 1.

    Attributes:
        link: keys of the link.
        rate: of the link.
        value: from a run: bytes, or 1 for yes and 0 for no.
    """

    def __init__(self, value: Callable[[Result], float], rate: str, **link: Any) -> None:  # noqa: ANN401
        self.value, self.rate, self.link = value, rate, link


FEATURES = {
    "bytes of the header": Feature(_header, WIDE),
    "error detection": Feature(_detects, WIDE, loss=LOSS, damaged="100 %"),
    "error recovery by ARQ": Feature(_recovers, WIDE, loss=LOSS),
    "congestion control": Feature(_controls, NARROW),
    "ECN": Feature(_marked, NARROW, mark_at=5),
}


def _measure(result: Result, row: str, _column: str) -> Mapping[str, float]:
    return {"value": FEATURES[row].value(result)}


ITEM = Item(
    key="table1",
    title="Features of UDP, TCP and DCCP, measured in our implementations",
    source="Table 1",
    rows=list(FEATURES),
    columns=list(PROTOCOLS),
    metrics=[Metric("value", "", "Bytes, or 1: yes, 0: no", 0, bounds=(0, None))],
    scenario=lambda row, column: _scenario(column, FEATURES[row].rate, **FEATURES[row].link),
    measure=_measure,
    is_random=False,
    is_drawn=False,
    row_label="Feature",
    column_label="Protocol",
    note="16 bytes are the header of a DCCP-Data packet with long sequence numbers (X = 1); with short ones "
    "it has 12 (RFC 4340, Section 5.1).",
)

PRINTED: Mapping[str, tuple[float, float, float]] = {
    "bytes of the header": (8, 20, 16),
    "error detection": (1, 1, 1),
    "error recovery by ARQ": (0, 1, 0),
    "congestion control": (0, 1, 1),
    "ECN": (0, 1, 1),
}
"""The measured entries of Table 1, for UDP, TCP and DCCP.

UDP's error detection is optional there; ours has it.
"""


def _agrees(sheets: Mapping[str, Sheet]) -> Verdict:
    parts = [
        between(sheets["table1"].value(column, "value", row=row), printed, printed)
        for row, line in PRINTED.items()
        for column, printed in zip(PROTOCOLS, line, strict=True)
    ]
    return every(*parts)


CLAIM = Claim(
    "features",
    "Header sizes, error detection, error recovery, congestion control and ECN of UDP, TCP and DCCP are "
    "those of Table 1.",
    ("table1",),
    _agrees,
    "Section 2.2, Table 1",
)
