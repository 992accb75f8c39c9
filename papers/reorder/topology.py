"""The paper's dumbbell (Sections II and III): a bottleneck of 1 Mbit/s behind which some packets are delayed.

Each open choice of the paper is a field of `Assumed`, so that a row of a table may vary it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whimbrel.scenario import Scenario

NETEM_MS: Mapping[str, tuple[int, int]] = {
    "50": (25, 8),
    "100": (50, 20),
    "200": (100, 40),
    "300": (150, 80),
    "400": (200, 160),
    "500": (250, 200),
}
"""Mean and half width in ms of the delays that reorder packets, by round-trip time in ms (Table I). The entry
for 500 ms is not in the table: it continues the row before, with 80 % of the mean."""

BOTTLENECK_BPS = 1_000_000
REORDERED = 0.05
"""Share of packets that are delayed."""
ACCESS_MS = 1
"""Delay of each of the two other links, one way."""

WITHOUT = "none"
"""Key of a flow without the buffer."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """The open choices of the paper.

    Attributes:
        payload: bytes of data in a packet; both readings' defaults follow from equation (1) with Table I's
            own X, LER and RTT, so they are fitted to the table (README.md).
        reading: cause of the delays. `netem`: all packets except 5 % wait a random time, as with `netem delay
            25ms 8ms reorder 5%`. `ahead`: the same without the randomness. `delayed`:
            5 % wait a random time on top of the path's delay, the others do not.
        delay_ms: mean and half width of the delays that reorder, at any round-trip time; None: Table I's.
        distribution: of the delays.
        queue: packets at the bottleneck.
        reordered: share of packets.
        forgive_late: true if a late packet withdraws its loss (RFC 5348, Section 5.1).
        dccp: other details of the flows.
    """

    payload: int = 700
    reading: str = "netem"
    delay_ms: tuple[int, int] | None = None
    distribution: str = "uniform"
    queue: int = 50
    reordered: float = REORDERED
    forgive_late: bool = False
    dccp: Mapping[str, Any] = field(default_factory=dict)


USUAL = Assumed()
"""NetEm's own reading of Table I's column."""
DELAYED = Assumed(payload=900, reading="delayed")
"""The default reading, here and in Figures 2 to 4: "randomly selected" packets are delayed (Section III)."""


def netem(rtt: str, assumed: Assumed) -> dict[str, Any] | None:
    """The delays on the path; None without any."""
    delay, jitter = assumed.delay_ms or NETEM_MS[rtt]
    share = assumed.reordered
    if share == 0:
        return None
    entry: dict[str, Any] = {
        "delay": f"{delay} ms",
        "jitter": f"{jitter} ms",
        "distribution": assumed.distribution,
        "reorder": f"{100 * (1 - share):g} %",
    }
    if assumed.reading == "delayed":
        return entry
    entry["reorder"] = f"{100 * share:g} %"
    if assumed.reading == "ahead":
        entry["jitter"] = "0 ms"
    return entry


def path(name: str, rtt: str, assumed: Assumed) -> dict[str, list[dict[str, Any]]]:
    """Nodes and links of one dumbbell.

    Args:
        name: prefix of all names.
        rtt: round-trip time in ms, without the delays of single packets and without queues.
        assumed: the open choices.
    """
    ends = [f"{name}-{node}" for node in ("sender", "near", "far", "receiver")]
    one_way = int(rtt) / 2 - 2 * ACCESS_MS
    middle: dict[str, Any] = {
        "name": f"{name}-bottleneck",
        "from": ends[1],
        "to": ends[2],
        "rate": f"{BOTTLENECK_BPS} bit/s",
        "queue": f"{assumed.queue} packets",
    }
    delaying = netem(rtt, assumed)
    if delaying is not None and assumed.reading != "delayed":
        # NetEm is the path's delay, and its mean is half of the round-trip time.
        one_way -= NETEM_MS[rtt][0]
    middle["delay"] = f"{max(0.0, one_way):g} ms"
    if delaying is not None:
        middle["netem"] = delaying
    back = {
        "name": f"{name}-back",
        "from": ends[2],
        "to": ends[1],
        "rate": f"{BOTTLENECK_BPS} bit/s",
        "delay": f"{int(rtt) / 2 - 2 * ACCESS_MS:g} ms",
    }
    access = [
        {"name": f"{name}-{key}", "between": pair, "rate": "100 Mbit/s", "delay": f"{ACCESS_MS} ms"}
        for key, pair in (("in", ends[:2]), ("out", ends[2:]))
    ]
    return {"node": [{"name": end} for end in ends], "link": [access[0], middle, back, access[1]]}


def flow(
    name: str,
    assumed: Assumed,
    buffer: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A flow, by default of CCID 3 with unlimited data.

    Args:
        name: of the flow and its dumbbell.
        assumed: the open choices.
        buffer: `reorder_delay` and `reorder_size`; None: no buffer.
        changes: to the flow; one of `packet_size` replaces the payload.
    """
    made: dict[str, Any] = {
        "name": name,
        "from": f"{name}-sender",
        "to": f"{name}-receiver",
        "transport": "dccp",
        "ccid": 3,
        "payload": f"{assumed.payload} B",
        "dccp": {
            "ecn": False,
            "initial_window": "rfc3390",
            "rtt_estimate": False,
            "sequence_window": 10_000,
            "forgive_late": assumed.forgive_late,
            **assumed.dccp,
            **(buffer or {}),
        },
        **(changes or {}),
    }
    if "packet_size" in made:
        del made["payload"]
    return made


@dataclass(frozen=True)
class Lane:
    """One of several dumbbells side by side, which share nothing.

    Attributes:
        name: of its flow.
        rtt: in ms, a key of `NETEM_MS`.
        assumed: the open choices.
        buffer: see `flow`.
        changes: see `flow`.
    """

    name: str
    rtt: str
    assumed: Assumed = USUAL
    buffer: Mapping[str, Any] | None = None
    changes: Mapping[str, Any] | None = None


def scenario(title: str, lanes: Sequence[Lane], duration_s: float, warm_up_s: float) -> Scenario:
    """Dumbbells side by side: one run for a whole row of a table."""
    nodes: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for lane in lanes:
        made = path(lane.name, lane.rtt, lane.assumed)
        nodes += made["node"]
        links += made["link"]
    return Scenario(
        {
            "title": title,
            "simulation": {"duration": f"{duration_s:g} s", "warm_up": f"{warm_up_s:g} s"},
            "node": nodes,
            "link": links,
            "flow": [flow(lane.name, lane.assumed, lane.buffer, lane.changes) for lane in lanes],
        }
    )
