"""The confronts of `confront.py`: the path, the pairs, the guest's job and the same as a scenario.

    s0 --+                                    +-- r0
         m --- bottleneck --- n --- delay --- k
    s1 --+                                    +-- r1

Two flows share a bottleneck, behind which the path is interrupted twice, as by the hand-offs of the paper
`confront`. The router of its calibrated test bed has this rate and queue; the delay is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).resolve().parents[1] / "guest" / "confront.sh"
RATE_BPS = 11_000_000
QUEUE_PACKETS = 50
DELAY_MS = 10
"""One way."""
SIZE = 1400
"""Data in a packet, in bytes: the default limit of our sockets (1424 in the paper)."""
UDP_BPS = 4_364_000
"""Data, without headers: the mean throughput of UDP printed in Table 4 for packets of 1424 bytes."""
SECONDS = 20
SEND_COST_US = {"tcp": 10, "udp": 10, "dccp": 31}
"""The simulated senders' time for a packet.

These are the medians of the distances, in the guest, of packets that a TCP and Whimbrel's DCCP sent in one
burst, where they enter the router with the bottleneck. Linux's DCCP has 9.
"""
GAPS_S = (7.0, 14.0)
GAP_S = 0.09
OFFSET_S = 0.25
"""The second flow starts that much later in each run than in the one before."""
LINUX, OURS, SIMULATED, VARIED = "linux", "whimbrel", "simulated", "varied"
"""The stacks of DCCP. TCP and UDP are simulated if DCCP is, else the kernel's.

`varied` is simulated with round-trip times that differ by parts of a packet's time at the bottleneck.
"""
PHASES = 16
"""Number of these round-trip times."""
PACKET_MS = 1.056
"""Time of a TCP segment with its headers at the bottleneck."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """Kind of a flow.

    Attributes:
        name: displayed.
        transport: `tcp`, `udp` or `dccp`.
        law: TCP's congestion control, or the number of the CCID; empty for UDP.
    """

    name: str
    transport: str
    law: str = ""

    def flow(self) -> dict[str, Any]:
        """Its keys in a scenario."""
        match self.transport:
            case "tcp":
                return {"transport": "tcp", "tcp": {"preset": "linux", "congestion": self.law}}
            case "dccp":
                return {"transport": "dccp", "ccid": int(self.law)}
            case _:
                # There the rate includes the headers.
                rate = UDP_BPS * (SIZE + 28) / SIZE
                return {"transport": "udp", "traffic": {"kind": "cbr", "rate": f"{rate:.0f} bit/s"}}


RENO = Protocol("TCP Reno", "tcp", "reno")
CUBIC = Protocol("TCP Cubic", "tcp", "cubic")
VENO = Protocol("TCP Veno", "tcp", "veno")
UDP = Protocol("UDP", "udp")
CCID2 = Protocol("DCCP-2", "dccp", "2")
CCID3 = Protocol("DCCP-3", "dccp", "3")
Pair = tuple[Protocol, Protocol]
PAIRS: tuple[Pair, ...] = (
    (RENO, UDP),
    (CUBIC, UDP),
    (VENO, UDP),
    (RENO, CCID2),
    (CUBIC, CCID2),
    (VENO, CCID2),
    (RENO, CCID3),
    (CUBIC, CCID3),
    (VENO, CCID3),
    (CCID2, UDP),
    (CCID3, UDP),
)
"""The lines of Tables 3 and 4, with one flow of the second kind instead of two."""
RECORDED_PAIRS: tuple[Pair, ...] = ((CUBIC, UDP), (RENO, CCID2), (CUBIC, CCID2), (CUBIC, CCID3), (CCID2, UDP))
QUICK_PAIRS: tuple[Pair, ...] = ((CUBIC, UDP), (CUBIC, CCID2))


@dataclass(frozen=True, slots=True)
class Cell:
    """Two flows on one path.

    Attributes:
        number: names its files.
        pair: the kinds of the flows.
        stack: the implementation of DCCP: `linux` or `whimbrel`.
        run: number of the repetition.
    """

    number: int
    pair: Pair
    stack: str
    run: int

    @property
    def offset_s(self) -> float:
        """Time from the start of the first flow to the start of the second."""
        return OFFSET_S * (self.run + 1)


def stacks(pair: Pair) -> tuple[str, ...]:
    """The real stacks for a pair: one without DCCP, else two."""
    return (LINUX, OURS) if any(each.transport == "dccp" for each in pair) else (LINUX,)


def cells(pairs: Sequence[Pair], runs: int) -> list[Cell]:
    """All real confronts."""
    chosen = [(pair, stack, run) for run in range(runs) for pair in pairs for stack in stacks(pair)]
    return [Cell(number, *each) for number, each in enumerate(chosen)]


def commands(cell: Cell, flow: int) -> tuple[str, str]:
    """The receiver's and the sender's command of a flow."""
    protocol, port = cell.pair[flow], 5001
    seconds = SECONDS - (cell.offset_s if flow else 0)
    address = f"10.62.{flow}.2"
    if protocol.transport != "dccp":
        sender = f"flow {protocol.transport}-send {address} {port} {SIZE} {seconds}"
        return f"flow {protocol.transport}-sink {port}", f"{sender} {protocol.law or UDP_BPS}"
    common = f"ccid={protocol.law} size={SIZE} wait={SECONDS + 10}"
    sending = f"{common} sends=1 seconds={seconds} closes=1"
    if cell.stack == LINUX:
        return f"linux_peer server {address} {port} {common}", f"linux_peer client {address} {port} {sending}"
    ours = f"10.72.{flow}.2"
    return (
        f"whimbrel_peer server {ours} {port} tun=tun0 {common}",
        f"whimbrel_peer client {ours} {port} tun=tun0 local=10.71.{flow}.2 {sending}",
    )


def script(chosen: Sequence[Cell], lanes: int) -> str:
    """The job that makes these confronts, the given number at a time."""
    # A bucket of one packet. Its queue is the FIFO inside.
    tbf = f"rate {RATE_BPS}bit burst 1600 limit 1000000"
    gaps = f"{GAP_S} {GAPS_S[0]} {GAPS_S[1] - GAPS_S[0] - GAP_S:g}"
    queues = ["" for _ in range(min(lanes, len(chosen)))]
    for index, cell in enumerate(chosen):
        arguments = [word for flow in (0, 1) for word in commands(cell, flow)]
        quoted = " ".join(f'"{word}"' for word in arguments)
        queues[index % lanes] += (
            f'confront_path {cell.number} "{tbf}" {QUEUE_PACKETS} "delay {DELAY_MS}ms limit 10000"\n'
            f"confront {cell.number} {cell.offset_s} {gaps} {quoted}\n"
        )
    laws = " ".join(each.law for each in (RENO, CUBIC, VENO))
    # Other namespaces than the first may use these only.
    allowed = f"echo '{laws}' > /proc/sys/net/ipv4/tcp_allowed_congestion_control"
    lanes_of = [f"(\n{queue}) &" for queue in queues]
    busy = "head -1 /proc/stat > /out/processor"
    return "\n".join([SCRIPT.read_text(), allowed, *lanes_of, f"wait\n{busy}\n"])


def scenario(pair: Pair, run: int, delay_ms: float = DELAY_MS) -> dict[str, Any]:
    """The same confront as a scenario, with that delay one way."""
    fast = {"rate": "10 Gbit/s", "delay": "0 ms", "queue": "10000 packets"}
    cell = Cell(0, pair, SIMULATED, run)
    costs = [SEND_COST_US[protocol.transport] for protocol in pair]
    hosts = [{"send_cost": f"{cost} us", "queue": "1000 packets"} for cost in costs]
    return {
        "simulation": {"duration": f"{SECONDS} s"},
        "node": [
            *({"name": f"s{index}", "host": host} for index, host in enumerate(hosts)),
            *({"name": name} for name in ("m", "n", "k", "r0", "r1")),
        ],
        "link": [
            {"between": ["s{i}", "m"], "count": 2, **fast},
            {
                "name": "bottleneck",
                "between": ["m", "n"],
                "rate": f"{RATE_BPS} bit/s",
                "delay": "0 ms",
                "queue": f"{QUEUE_PACKETS} packets",
                "reverse": fast,
            },
            {"name": "path", "between": ["n", "k"], **fast | {"delay": f"{delay_ms:g} ms"}},
            {"between": ["k", "r{i}"], "count": 2, **fast},
        ],
        "flow": [
            {
                "name": f"flow{index}",
                "from": f"s{index}",
                "to": f"r{index}",
                "payload": f"{SIZE} B",
                "start": f"{cell.offset_s if index else 0} s",
                **protocol.flow(),
            }
            for index, protocol in enumerate(pair)
        ],
        "event": [
            {"time": f"{time_s:g} s", "link": "path", "up": up}
            for gap_s in GAPS_S
            for time_s, up in ((gap_s, False), (gap_s + GAP_S, True))
        ],
    }
