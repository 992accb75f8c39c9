"""Networks and traffic on which an emulation is compared with the simulation of the same scenario."""

from __future__ import annotations

from dataclasses import dataclass

HEADERS_V4 = 28
HEADERS_V6 = 48

_WIRED = """
[[node]]
name = "client"
[[node]]
name = "router"
[[node]]
name = "server"
[[link]]
name = "access"
between = ["client", "router"]
rate = "1 Gbit/s"
delay = "1 ms"
queue = "1000 packets"
[[link]]
name = "radio"
between = ["router", "server"]
delay = "20 ms"
%s
"""

_CELL = """
[[wifi]]
name = "air"
standard = "802.11g"
rate = "54 Mbit/s"
queue = "50 packets"
[[node]]
name = "server"
wifi = "air"
position = [0, 0]
[[node]]
name = "client%s"
count = %d
wifi = "air"
layout = { kind = "circle", radius = "10 m" }
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A network and a load of constant rate.

    Attributes:
        name: as in the table.
        network: nodes and links of the scenario.
        senders: the number of clients, which send the same.
        rate_bps: of each, on the link.
        size: bytes of a packet, with IP and UDP headers.
        ecn: the packets are ECN-capable; the marks that arrive are compared with the marks in the record.
        v6: over IPv6.
        loss: the loss probability of each packet, where losses are independent and not of queues.
        throughput_bound: allowed relative difference of the throughput.
        delay_bound_s: allowed difference of the median delay; None where the queue's own are larger.
        train: packets that are sent at once; the rate is the mean.
    """

    name: str
    network: str
    senders: int = 1
    rate_bps: float = 8e6
    size: int = 1000
    ecn: bool = False
    v6: bool = False
    loss: float | None = None
    throughput_bound: float = 0.02
    delay_bound_s: float | None = 0.2e-3
    train: int = 1

    @property
    def interval_s(self) -> float:
        """Time between two packets of a sender, or between two trains."""
        return self.train * self.size * 8 / self.rate_bps

    def count(self, seconds: float) -> int:
        """The packets of a sender."""
        return round(seconds / self.interval_s) * self.train

    @property
    def clients(self) -> list[str]:
        """The names of the senders' nodes."""
        return ["client"] if self.senders == 1 else [f"client{number}" for number in range(self.senders)]

    def scenario(self, seconds: float) -> str:
        """The scenario with the load as simulated flows."""
        # A train consists of the packets of as many flows.
        flows = self.senders * self.train
        flow = f"""
[[flow]]
name = "{"load" if flows == 1 else "load{i}"}"
{"" if flows == 1 else f"count = {flows}"}
from = "{"client" if self.senders == 1 else "client{i}"}"
to = "server"
transport = "udp"
packet_size = "{self.size} B"
traffic = {{ kind = "cbr", rate = "{self.rate_bps / self.train:.0f} bit/s" }}
{'start_jitter = "5 ms"' if self.train == 1 else ""}
"""
        head = f'title = "{self.name}"\n[simulation]\nduration = "{seconds:g} s"\n'
        return head + self.network + flow + "[record]\npackets = true\n"


_LOSSY = 'rate = "10 Mbit/s"\nqueue = "1000 packets"\nloss = { model = "bernoulli", rate = "2 %" }'
_BURSTS = (
    'rate = "10 Mbit/s"\nqueue = "1000 packets"\n'
    'loss = { model = "gilbert-elliott", good_to_bad = "1 %", bad_to_good = "30 %" }'
)

CASES = (
    Case("random losses", _WIRED % _LOSSY, loss=0.02),
    Case("random losses, IPv6", _WIRED % _LOSSY, v6=True, loss=0.02),
    Case("bursts of losses", _WIRED % _BURSTS),
    Case("a full queue", _WIRED % 'rate = "10 Mbit/s"\nqueue = "50 packets"', rate_bps=12e6),
    Case(
        "CoDel that drops",
        _WIRED % 'rate = "10 Mbit/s"\nqueue = "1000 packets"\ndiscipline = { kind = "codel" }',
        rate_bps=10.5e6,
        delay_bound_s=None,
    ),
    Case(
        "CoDel that marks",
        _WIRED % 'rate = "10 Mbit/s"\nqueue = "1000 packets"\ndiscipline = { kind = "codel", ecn = true }',
        rate_bps=10.2e6,
        ecn=True,
        delay_bound_s=None,
    ),
    Case(
        "a recorded link",
        _WIRED
        % 'trace = { file = "drive.mahimahi.gz", format = "mahimahi" }\nreverse = { rate = "10 Mbit/s" }',
        rate_bps=12e6,
        size=1500,
        delay_bound_s=None,
    ),
    Case(
        "an 802.11g cell, one sender",
        _CELL.replace('"client%s"', '"client"').replace("count = %d\n", ""),
        rate_bps=40e6,
        size=1500,
        throughput_bound=0.03,
        delay_bound_s=None,
    ),
    Case(
        "an 802.11g cell, five senders",
        _CELL % ("{i}", 5),
        senders=5,
        rate_bps=8e6,
        size=1500,
        throughput_bound=0.03,
        delay_bound_s=None,
    ),
)
QUICK = ("random losses", "a full queue", "CoDel that marks", "an 802.11g cell, five senders")
