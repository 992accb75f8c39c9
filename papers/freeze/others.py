"""The effect of a restored rate on other flows on a narrower network.

A flow moves from a wide network to one shared by a TCP and a voice call. Measured are the losses of the call,
of the TCP and of the flow in the first five seconds after it may send again. Each scheme has the same
handover; for comparison, the two flows without a newcomer.

The newcomer has a radio of its own that goes down and comes back, and behind it the network's shared link. As
long as the newcomer is elsewhere, the shared link is wide enough, and the TCP and the call have the narrow
network's rate on a link of their own; with the gap the shared link becomes narrow, so that for the length of
the gap, more than 2.5 s, the two settle on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import networks
from whimbrel.result import Result, Table
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

NO_NEWCOMER = "none"
COLUMNS = (NO_NEWCOMER, "tfrc", "freeze", "half", "at-most-500", "careful", "faster")
"""No newcomer; TFRC; Freeze; Freeze that restores at most half of its rate, or at most `CAP_KBPS`; Freeze
that restarts as Careful Resume does; TFRC with Faster Restart."""

CAP_KBPS = 500
"""The rate of a video call, less than the capacity of most networks."""

FREEZE: Mapping[str, Mapping[str, Any]] = {
    "freeze": {},
    "half": {"restore_share": "50 %"},
    "at-most-500": {"restore_rate": f"{CAP_KBPS} kbit/s"},
    "careful": {"restart": "careful-resume"},
}

TO = " to "
ROWS = ("802.16 to 2 Mbit/s", "802.16 to umts", "2 Mbit/s to 1 Mbit/s")
NETWORKS: Mapping[str, tuple[float, float]] = {
    "umts": (384, 250),
    "802.16": (9_500, 80),
    "2 Mbit/s": (2_000, 40),
    "1 Mbit/s": (1_000, 40),
}
"""Rate in kbit/s and delay of one direction in ms: the networks of Table 5, and two of today's narrow
ones."""

QUEUE = 50
"""Packets (Section 5.1)."""
AFTER_S = 5.0
BEFORE_S = 60.0
"""Start of the handover."""
JITTER_S = 2.0
"""The flows begin at random moments of the first seconds, which makes runs differ."""
LATE_S = 0.4
"""A voice datagram whose delay exceeds the least delay by more is useless."""
CALL_BYTES, CALL_KBPS = 200, 80
"""G.711 every 20 ms: 160 bytes and 40 of headers (RTP, UDP, IP)."""

METRICS = [
    Metric("call_lost", "%", "The call's datagrams lost"),
    Metric("call_late", "%", "Lost or late"),
    Metric("tcp_rate", "kbit/s", "The TCP's rate", 0),
    Metric("tcp_lost", "packets", "The TCP's packets lost", 0),
    Metric("own_rate", "kbit/s", "The newcomer's rate", 0),
    Metric("own_lost", "packets", "Its packets lost", 0),
    Metric("own_share", "%", "Of its packets lost"),
]


def gap_s(row: str) -> float:
    """Length of the gap: 2.5 s and a round-trip time of the new network."""
    return 2.5 + _rtt_s(row.split(TO)[1])


def _rtt_s(name: str) -> float:
    """The round-trip time while the queue is full of the flow's packets, in seconds."""
    rate, delay = NETWORKS[name]
    return 2 * delay / 1e3 + QUEUE * 8 * (networks.PAYLOAD + 40) / (1e3 * rate)


def scenario(row: str, column: str) -> Scenario:
    """A newcomer, or none, to a network that a TCP and a call share."""
    old, new = row.split(TO)
    (old_kbps, old_ms), (new_kbps, new_ms) = NETWORKS[old], NETWORKS[new]
    handover: dict[str, Any] = {
        "time": f"{BEFORE_S:g} s",
        "link": "radio",
        "rate": "1 Gbit/s",
        "delay": f"{new_ms:g} ms",
        "duration": f"{gap_s(row):.6f} s",
    }
    if column in FREEZE:
        handover["freeze"] = {"flows": ["new"], "lead": f"{_rtt_s(old):.6f} s", "lag": "0.1 ms"}
    narrowed = [
        {"time": f"{BEFORE_S:g} s", "link": "shared", "rate": f"{new_kbps:g} kbit/s"},
        {"time": f"{BEFORE_S:g} s", "link": "own", "rate": "1 Gbit/s"},
    ]
    return Scenario(
        {
            "title": f"{column} comes from {row}",
            "simulation": {"duration": f"{BEFORE_S + gap_s(row) + AFTER_S + 1:g} s"},
            "node": [{"name": name} for name in ("sender", "others", "router", "hub", "mobile")],
            "link": [
                _link("wire", "sender", "router", "1 Gbit/s", "0 ms", "unlimited"),
                _link("radio", "router", "hub", f"{old_kbps:g} kbit/s", f"{old_ms:g} ms"),
                _link("own", "others", "hub", f"{new_kbps:g} kbit/s", f"{new_ms:g} ms"),
                _link("shared", "hub", "mobile", f"{old_kbps + new_kbps:g} kbit/s", "0 ms"),
            ],
            "flow": [*_others(), *([] if column == NO_NEWCOMER else [_newcomer(column)])],
            "handover": [handover],
            "event": narrowed,
            "record": {"packets": True, "interval": "100 ms"},
        }
    )


def _link(
    name: str, a: str, b: str, rate: str, delay: str, queue: str = f"{QUEUE} packets"
) -> dict[str, Any]:
    return {"name": name, "between": [a, b], "rate": rate, "delay": delay, "queue": queue}


def _newcomer(column: str) -> dict[str, Any]:
    made = networks.flow("new", bottleneck="shared", start_jitter=f"{JITTER_S:g} s")
    if column in FREEZE:
        made["dccp"]["freeze"] = dict(FREEZE[column])
    if column == "faster":
        made["dccp"]["faster_restart"] = True
    return made


def _others() -> list[dict[str, Any]]:
    common = {"from": "others", "to": "mobile", "bottleneck": "shared", "start_jitter": f"{JITTER_S:g} s"}
    return [
        {"name": "tcp", "transport": "tcp", "tcp": {"variant": "sack"}, "packet_size": "1000 B", **common},
        {
            "name": "call",
            "transport": "udp",
            "packet_size": f"{CALL_BYTES} B",
            "traffic": {"kind": "cbr", "rate": f"{CALL_KBPS} kbit/s"},
            **common,
        },
    ]


def measure(result: Result, row: str, column: str) -> Mapping[str, float]:
    """Measures the first seconds after the newcomer may send again."""
    del row
    start = float(result["handovers"]["up_s"][0])
    call, tcp = _sent(result, "call", start), _sent(result, "tcp", start)
    delay = np.asarray(call["received_s"], dtype=np.float64) - np.asarray(call["sent_s"], dtype=np.float64)
    everything = result.packets.where(flow="call", fate="received")
    least = float(np.min(np.asarray(everything["received_s"]) - np.asarray(everything["sent_s"])))
    own = None if column == NO_NEWCOMER else _sent(result, "new", start)
    lost = np.nan if own is None else _lost(own)
    return {
        "call_lost": 100 * _lost(call) / call.rows,
        "call_late": 100 * float(np.mean(~(delay <= least + LATE_S))),
        "tcp_rate": _received_kbps(result, "tcp", start),
        "tcp_lost": _lost(tcp),
        "own_rate": np.nan if own is None else _received_kbps(result, "new", start),
        "own_lost": lost,
        "own_share": np.nan if own is None or not own.rows else 100 * lost / own.rows,
    }


def _sent(result: Result, flow: str, start: float) -> Table:
    """The packets that a flow sent in the measured time."""
    rows = result.packets.where(flow=flow)
    sent = np.asarray(rows["sent_s"], dtype=np.float64)
    inside = (sent >= start) & (sent < start + AFTER_S) & (rows["fate"] != "expired")
    return Table({name: column[inside] for name, column in rows.items()})


def _lost(rows: Table) -> float:
    return float(np.sum(rows["fate"] != "received"))


def _received_kbps(result: Result, flow: str, start: float) -> float:
    rows = result.packets.where(flow=flow, fate="received")
    time = np.asarray(rows["received_s"], dtype=np.float64)
    inside = (time >= start) & (time < start + AFTER_S)
    return float(8 * np.asarray(rows["size_bytes"], dtype=np.float64)[inside].sum() / AFTER_S / 1e3)


ITEM = Item(
    key="others",
    title=f"Effect of a newcomer on other flows in its first {AFTER_S:g} s",
    source="not in the paper",
    rows=ROWS,
    columns=COLUMNS,
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(3), rows=ROWS[-1:]),
    is_drawn=False,
    row_label="Handover",
    note="A TCP (SACK, 1000 B) and a call (G.711, 50 datagrams of 200 B a second) share the new network. A "
    f"voice datagram is late {LATE_S:g} s after the least delay. 2 and 1 Mbit/s: 40 ms.",
)
