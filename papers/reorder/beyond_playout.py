"""The cost of the transport's buffer for a call with a jitter buffer of its own.

A call of G.711 over the paper's path of 100 ms (Table II): 5 % of the packets arrive 50 ± 20 ms later. The
application plays packets in order at once, or a fixed time after they were sent, or adapts (Ramjee and
others, see `whimbrel.quality.playout`); with and without the transport's buffer of 5 packets and 100 ms below
it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import beyond_paths, beyond_schemes
from whimbrel.papers.reorder.beyond_paths import ACCESS_MS, WARM_UP_S, Path, Way, delayed
from whimbrel.papers.reorder.beyond_schemes import buffer
from whimbrel.papers.reorder.topology import NETEM_MS
from whimbrel.quality import playout, voip
from whimbrel.quality.codecs import codec
from whimbrel.quality.playout import Playout, Times
from whimbrel.quality.voice import P59
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

RTT = "100"
VOICE_MS = 100.0
"""D_max of voice (Section III)."""
PACKETS = 5
CODEC = codec("g711-plc")
PACKET, RATE_BPS = 200, 80e3
"""Bytes on the link and rate of G.711 (Section III)."""
END_S = 140.0

COLUMNS: Mapping[str, Mapping[str, object]] = {
    "application alone": {"forgive_late": True},
    "transport, 100 ms": buffer(f"{PACKETS} packets", VOICE_MS),
    "transport, 40 ms": buffer(f"{PACKETS} packets", 40),
}

AT_ONCE, ADAPTIVE, SPIKES = "at once", "adaptive", "spikes"
FIXED_MS = (60, 80, 100, 120, 140, 160)
ROWS = (AT_ONCE, *(f"{delay} ms" for delay in FIXED_MS), ADAPTIVE, SPIKES)

METRICS = [
    Metric("delay", "ms", "Sending to playing"),
    Metric("missing", "%", "Not played", 2),
    Metric("mos", "", "MOS", 2),
]


def scenario(_row: str, column: str) -> Scenario:
    """A call over the paper's path."""
    delay, jitter = NETEM_MS[RTT]
    one_way = float(RTT) / 2 - 2 * ACCESS_MS
    way = Way(one_way, netem=delayed("5", f"{delay} ms", f"{jitter} ms"))
    traffic = {
        "kind": "on-off",
        "rate": f"{RATE_BPS:g} bit/s",
        "burst": f"{P59.talk_s:g} s",
        "idle": f"{P59.pause_s:g} s",
    }
    return Scenario(
        {
            "title": f"A call, {column}",
            "simulation": {"duration": f"{END_S:g} s", "warm_up": f"{WARM_UP_S:g} s"},
            **beyond_paths.network(Path("", 1e6, [way], back_ms=one_way)),
            "flow": [beyond_schemes.flow(COLUMNS[column], packet_size=f"{PACKET} B", traffic=traffic)],
            "record": {"packets": True},
        }
    )


def at_once(sent_s: Times, received_s: Times) -> Playout:
    """Plays a packet on arrival; an overtaken one is lost to the application (Section IV).

    Args:
        sent_s: departure times, ascending.
        received_s: delivery times to the application; NaN for lost packets.
    """
    lost = np.isnan(received_s)
    earliest_after = np.minimum.accumulate(np.where(lost, np.inf, received_s)[::-1])[::-1]
    played = ~lost & (received_s <= earliest_after)
    delay = np.full(sent_s.shape, float(np.mean((received_s - sent_s)[played])))
    return Playout(np.asarray(played), np.asarray(lost), delay)


def _heard(row: str, sent_s: Times, received_s: Times) -> Playout:
    if row == AT_ONCE:
        return at_once(sent_s, received_s)
    if row == ADAPTIVE:
        return playout.adaptive(sent_s, received_s)
    if row == SPIKES:
        return playout.adaptive(sent_s, received_s, estimator=playout.SpikeAverage())
    return playout.fixed(sent_s, received_s, float(row.removesuffix(" ms")) / 1e3)


def measure(result: Result, row: str, _column: str) -> Mapping[str, float]:
    """The loss and delay of the played call, and its opinion score (G.107)."""
    rows = result.packets.where(flow="flow")
    sent = np.asarray(rows["sent_s"], dtype=np.float64)
    inside = (sent >= WARM_UP_S) & (sent < END_S - 1)
    order = np.argsort(sent[inside], kind="stable")
    # Packets too late for the transport have no time of delivery to the application.
    received = np.asarray(rows["received_s"], dtype=np.float64)
    heard = _heard(row, sent[inside][order], received[inside][order])
    rated = voip.rate(
        CODEC, voip.mouth_to_ear_s(CODEC, heard), heard.loss_rate, burst_ratio=heard.burst_ratio
    )
    return {"delay": 1e3 * heard.mean_delay_s, "missing": 100 * heard.loss_rate, "mos": rated.mos}


ITEM = Item(
    key="beyond-playout",
    title="A call with a jitter buffer of its own, over the transport's buffer",
    source="not in the paper",
    rows=ROWS,
    columns=list(COLUMNS),
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(3)),
    is_drawn=False,
    row_label="Playout",
    column_label="Buffer under it",
    note=f"{CODEC.title} in talk spurts; 5 % of the packets arrive 50 ± 20 ms later on a path of 50 "
    "ms. MOS by "
    "G.107, with the packet's 20 ms and the look-ahead.",
)
