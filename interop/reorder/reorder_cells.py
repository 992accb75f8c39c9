"""The transfers of interop/reorder/reorder.py, and the guest's jobs for them.

The path is the paper `reorder`'s, Table I, second line: a bottleneck of 1 Mbit/s, 100 ms round trip, and then
NetEm, which delays a share of the packets while the others continue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

STREAM = Path(__file__).resolve().parents[1] / "guest" / "stream.sh"
BOTTLENECK = "delay 50ms rate 1mbit limit 60"
BACK = "delay 50ms"
STALE_MS = 300
"""Time after which a packet waiting at the sender is stale."""


@dataclass(frozen=True, slots=True)
class Impairment:
    """NetEm behind the bottleneck.

    Attributes:
        name: displayed.
        netem: its parameters; empty for none.
    """

    name: str
    netem: str


# `reorder` is the share that is sent at once; the others are delayed.
NONE = Impairment("none", "")
PAPER = Impairment("5 % by 50 ± 20 ms", "delay 50ms 20ms reorder 95%")
STRONG = Impairment("10 % by 100 ± 40 ms", "delay 100ms 40ms reorder 90%")


@dataclass(frozen=True, slots=True)
class Transport:
    """Treatment of late packets by the receiver's DCCP.

    Attributes:
        name: displayed.
        options: the receiver's arguments.
        hold_ms: D_max of its reordering buffer; 0 without one.
    """

    name: str
    options: str = ""
    hold_ms: int = 0


STRICT = Transport("late is lost", "forgive_late=0")
PLAIN = Transport("late is forgiven")
RACK = Transport("RACK", "rack=1")
BUFFER_50 = Transport("buffer of 50 ms", "reorder_ms=50", 50)
BUFFER_100 = Transport("buffer of 100 ms", "reorder_ms=100", 100)
TRANSPORTS = (STRICT, PLAIN, RACK, BUFFER_50, BUFFER_100)


@dataclass(frozen=True, slots=True)
class Cell:
    """One transfer.

    Attributes:
        number: names its files.
        medium: `video` or `speech`.
        ccid: the congestion control of the data.
        impairment: on the path.
        transport: treatment of late packets by the receiver.
        run: number of the repetition.
    """

    number: int
    medium: str
    ccid: int
    impairment: Impairment
    transport: Transport
    run: int


def cells(runs: int) -> list[Cell]:
    """All transfers of the table."""
    found: list[Cell] = []
    for run in range(runs):
        for medium, ccid in (("video", 3), ("speech", 3), ("speech", 4)):
            pairs = [(NONE, PLAIN)]
            pairs += [(impairment, each) for impairment in (PAPER, STRONG) for each in TRANSPORTS]
            found += [Cell(len(found) + n, medium, ccid, *pair, run) for n, pair in enumerate(pairs)]
    return found


def quick_cells() -> list[Cell]:
    """A few transfers of video on the paper's path."""
    pairs = [(NONE, PLAIN), (PAPER, STRICT), (PAPER, PLAIN), (PAPER, BUFFER_100)]
    return [Cell(number, "video", 3, *pair, 0) for number, pair in enumerate(pairs)]


def script(chosen: Sequence[Cell], lanes: int) -> str:
    """The job that makes these transfers, the given number at a time."""
    queues = [
        "\n".join(
            f'route_path {cell.number} "{BOTTLENECK}" "{cell.impairment.netem}" "{BACK}"\n'
            f'stream {cell.number} "from=/job/{cell.medium} ccid={cell.ccid} stale_ms={STALE_MS}" '
            f'"ccid={cell.ccid} {cell.transport.options}"'
            for cell in chosen[lane::lanes]
        )
        for lane in range(min(lanes, len(chosen)))
    ]
    return "\n".join([STREAM.read_text(), *(f"(\n{queue}\n) &" for queue in queues), "wait\n"])
