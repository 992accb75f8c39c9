"""The items of interop/stacks/emulated.py: papers' paths, the flows on them, and the stacks at their ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import confront_cells
from confront_cells import CCID2, CCID3, CUBIC, RENO, SIZE, UDP, VENO, Cell, Protocol

WESTWOOD = Protocol("TCP Westwood+", "tcp", "westwood")
HOST, GUEST, OURS = "host", "guest", "whimbrel"
"""Stacks: this host's kernel, the guest's (Linux 6.1, with DCCP), and Whimbrel's sockets."""


@dataclass(frozen=True)
class Item:
    """A path, and the flows on it.

    Attributes:
        paper: its key.
        name: of the item.
        protocols: of the flows `flow0`, `flow1`, ..., from `s0` to `r0` and so on.
        seconds: duration.
        tolerance: largest deviation of the kernel's mean throughput from the simulated one, as a share of it;
            infinite where they are known to differ.
        source: the stack of the senders.
        sink: the stack of the receivers.
    """

    paper: str
    name: str
    protocols: tuple[Protocol, ...]
    seconds: float
    tolerance: float
    source: str = HOST
    sink: str = HOST

    def offset_s(self, flow: int, run: int) -> float:
        """Start of a flow."""
        return Cell(0, (CUBIC, UDP), "", run).offset_s if flow else 0.0

    def scenario(self, run: int) -> dict[str, Any]:
        """The network with its simulated flows."""
        if self.paper == "confront":
            first, second = self.protocols
            return confront_cells.scenario((first, second), run)
        return single(self.protocols[0], self.seconds, IMPAIRMENTS[self.paper])


IMPAIRMENTS: dict[str, dict[str, Any]] = {
    # The impairment of interop/stacks/tcp.py, as on the last hop of the paper: losses without congestion.
    "lda": {"queue": "200 packets", "loss": {"model": "bernoulli", "rate": "0.5 %"}},
    # The impairment of the paper's test bed as in reorder/reorder_cells.py: 5 % are delayed by 50 ± 20 ms.
    "reorder": {
        "queue": "200 packets",
        "netem": {"delay": "50 ms", "jitter": "20 ms", "distribution": "normal", "reorder": "95 %", "gap": 1},
    },
}
ITEMS = (
    Item("confront", "TCP Cubic and UDP, hand-offs", (CUBIC, UDP), confront_cells.SECONDS, 0.15),
    Item("confront", "TCP Reno and UDP, hand-offs", (RENO, UDP), confront_cells.SECONDS, 0.15),
    Item("lda", "TCP Reno, 0.5 % random losses", (RENO,), 30.0, 0.25),
    Item("lda", "TCP Cubic, 0.5 % random losses", (CUBIC,), 30.0, 0.25),
    Item("reorder", "TCP Reno, 5 % reordered by 50 ± 20 ms", (RENO,), 30.0, 0.15),
    Item("reorder", "TCP Cubic, 5 % reordered by 50 ± 20 ms", (CUBIC,), 30.0, 0.15),
    Item("confront", "TCP Veno and UDP, hand-offs", (VENO, UDP), confront_cells.SECONDS, 0.15, GUEST, GUEST),
    Item(
        "confront",
        "TCP Cubic and DCCP-2, hand-offs",
        (CUBIC, CCID2),
        confront_cells.SECONDS,
        0.5,
        GUEST,
        GUEST,
    ),
    Item(
        "confront",
        "TCP Cubic and DCCP-3, hand-offs",
        (CUBIC, CCID3),
        confront_cells.SECONDS,
        0.5,
        GUEST,
        GUEST,
    ),
    Item("lda", "TCP Veno, 0.5 % random losses", (VENO,), 30.0, 0.25, GUEST, GUEST),
    Item("lda", "TCP Westwood+, 0.5 % random losses", (WESTWOOD,), 30.0, 0.25, GUEST, GUEST),
    Item("lda", "DCCP-2, 0.5 % random losses", (CCID2,), 30.0, 0.25, GUEST, GUEST),
    Item("lda", "DCCP-3, 0.5 % random losses", (CCID3,), 30.0, 0.25, GUEST, GUEST),
    Item("lda", "DCCP-2, Linux to Whimbrel", (CCID2,), 30.0, 0.25, GUEST, OURS),
    Item("lda", "DCCP-3, Linux to Whimbrel", (CCID3,), 30.0, 0.25, GUEST, OURS),
    Item("lda", "DCCP-2, Whimbrel to Linux", (CCID2,), 30.0, 0.25, OURS, GUEST),
    Item("lda", "DCCP-3, Whimbrel to Linux", (CCID3,), 30.0, 0.25, OURS, GUEST),
    Item("reorder", "TCP Veno, 5 % reordered by 50 ± 20 ms", (VENO,), 30.0, 0.15, GUEST, GUEST),
    Item("reorder", "DCCP-2, 5 % reordered by 50 ± 20 ms", (CCID2,), 30.0, 0.5, GUEST, GUEST),
    # The kernel's receiver does not withdraw the losses of late packets.
    Item("reorder", "DCCP-3, 5 % reordered by 50 ± 20 ms", (CCID3,), 30.0, math.inf, GUEST, GUEST),
)
QUICK = (ITEMS[0],)


def single(protocol: Protocol, seconds: float, impairment: dict[str, Any]) -> dict[str, Any]:
    """A flow over 8 Mbit/s and 50 ms, with an impairment of its direction."""
    back = {"rate": "8 Mbit/s", "delay": "25 ms", "queue": "1000 packets"}
    forth = {"rate": "8 Mbit/s", "delay": "25 ms", **impairment}
    return {
        "simulation": {"duration": f"{seconds:g} s"},
        "node": [{"name": "s0"}, {"name": "r0"}],
        "link": [{"name": "bottleneck", "between": ["s0", "r0"], **forth, "reverse": back}],
        "flow": [{"name": "flow0", "from": "s0", "to": "r0", "payload": f"{SIZE} B", **protocol.flow()}],
    }
