"""Opinion scores of calls over a path that reorders (Table II)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

import whimbrel
from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import measures, topology
from whimbrel.papers.reorder.efficiency import ASSUMED
from whimbrel.papers.reorder.measures import FloatArray
from whimbrel.papers.reorder.topology import WITHOUT, Lane
from whimbrel.quality import opinion, playout, voip
from whimbrel.quality.codecs import Codec, codec
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

DCCP, VOICE, NOTHING = "DCCP buffer", "voice buffer", "no buffer"
"""Rows of the table, abbreviated from the paper's."""


@dataclass(frozen=True, slots=True)
class Call:
    """A codec on the network (Section III).

    Attributes:
        codec: of the speech.
        packet_bytes: of a packet with IP and transport headers.
        rate: of the call with headers.
    """

    codec: Codec
    packet_bytes: int
    rate: str


CALLS: Mapping[str, Call] = {
    "g711": Call(codec("g711-plc"), 200, "80 kbit/s"),
    "g729": Call(codec("g729a"), 60, "24 kbit/s"),
}

RTT = "100"
SIZE = 5
D_MAX_MS = 100
"""The paper's D_max for voice (Section III)."""

STATED: Mapping[str, tuple[float, float]] = {DCCP: (0.18, 0.0), VOICE: (0.18, 0.0), NOTHING: (0.10, 0.05)}
"""Mouth-to-ear delay in seconds, and loss, derived from the printed scores (docs/quality.md)."""

DURATION_S = 140
WARM_UP_S = 20

METRICS = [
    Metric("stated", "", "MOS of 180 or 100 ms, 0 or 5 %", 2),
    Metric("mos", "", "MOS as simulated", 2),
    Metric("emodel", "", "MOS as simulated, by all of G.107", 2),
    Metric("delay", "ms", "Mouth to ear", 0),
    Metric("loss", "%", "Not played", 2),
    Metric("ler", "%", "LER", 2),
    Metric("unsent", "%", "Given up by the sender", 2),
]


def lane(call: str, row: str) -> str:
    """Name of a flow: a voice buffer stands behind a flow without one of DCCP's."""
    return f"{call}-{'buffer' if row == DCCP else WITHOUT}"


def scenario(_row: str, _column: str) -> Scenario:
    """Calls with both codecs, with DCCP's buffer and without."""
    lanes = []
    for name, call in CALLS.items():
        traffic = {"kind": "cbr", "rate": call.rate}
        changes = {"ccid": 4, "packet_size": f"{call.packet_bytes} B", "traffic": traffic}
        buffer = {"reorder_delay": f"{D_MAX_MS} ms", "reorder_size": f"{SIZE} packets"}
        lanes.append(Lane(lane(name, DCCP), RTT, ASSUMED, buffer, changes))
        lanes.append(Lane(lane(name, NOTHING), RTT, ASSUMED, None, changes))
    return topology.scenario("calls over a path that reorders", lanes, DURATION_S, WARM_UP_S)


def as_it_comes(sent: FloatArray, received: FloatArray) -> tuple[float, float]:
    """An application that plays each packet on arrival, but no overtaken one.

    Args:
        sent: times in seconds, ascending.
        received: times in seconds; NaN for lost packets.

    Returns:
        Mean delay of the played packets, in seconds, and the share that is not played.
    """
    order = np.argsort(received, kind="stable")
    order = order[~np.isnan(received[order])]
    played = order[order >= np.maximum.accumulate(order)]
    return float(np.mean((received - sent)[played])), 1 - played.size / sent.size


def heard(sent: FloatArray, received: FloatArray, row: str) -> tuple[float, float]:
    """Network and buffer's delay of a call in seconds, and the share of packets that are not played.

    With a buffer, each packet is played D_max after the time of the fastest one.
    """
    if row == NOTHING:
        return as_it_comes(sent, received)
    made = playout.fixed(sent, received, float(np.nanmin(received - sent)) + D_MAX_MS / 1e3)
    return made.mean_delay_s, made.loss_rate


def run(given: Scenario, seed: int) -> Result:
    """Simulates the calls and keeps the listener's delays and losses of each."""
    result = whimbrel.run(given, seed, packets=True)
    found: dict[str, list[float]] = {key: [] for key in ("delay", "loss", "ler", "unsent")}
    names: list[str] = []
    for row in STATED:
        for name in CALLS:
            mine = result.packets.where(flow=lane(name, row))
            order = np.argsort(mine["tag"], kind="stable")
            fate = mine["fate"][order]
            sent, received = (
                np.asarray(mine[key], dtype=np.float64)[order] for key in ("sent_s", "received_s")
            )
            counted = sent >= WARM_UP_S
            received = np.where(fate == "received", received, np.nan)
            delay, loss = heard(sent[counted], received[counted], row)
            names.append(f"{name} {row}")
            found["delay"].append(delay)
            found["loss"].append(loss)
            found["ler"].append(measures.loss_event_rate(result, lane(name, row)))
            found["unsent"].append(100 * float(np.mean(np.isin(fate, ("expired", "send-queue")))))
    return Result({"calls": {"call": names, **found}})


def measure(result: Result, row: str, column: str) -> Mapping[str, float]:
    """Scores of one call, from the delays and losses that fit the paper and from the simulated ones."""
    speaking = CALLS[column].codec
    kept = {
        key: result["calls"].one(key, call=f"{column} {row}") for key in ("delay", "loss", "ler", "unsent")
    }
    delay = speaking.delay_s + kept["delay"]
    return {
        "stated": opinion.mos(voip.rate_simplified(speaking, *STATED[row])),
        "mos": opinion.mos(voip.rate_simplified(speaking, delay, kept["loss"])),
        "emodel": voip.rate(speaking, delay, kept["loss"]).mos,
        "delay": 1e3 * delay,
        "loss": 100 * kept["loss"],
        "ler": kept["ler"],
        "unsent": kept["unsent"],
    }


ITEM = Item(
    key="table2",
    title="Calls over a path that reorders 5 % of the packets",
    source="Table II",
    rows=tuple(STATED),
    columns=tuple(CALLS),
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(10),
    quick=Quick(precision=Precision.exactly(3), overrides=("simulation.duration=60 s",)),
    run=run,
    is_drawn=False,
    row_label="Ordering of packets",
    column_label="Codec",
    note=f"Round-trip time {RTT} ms, CCID 4, a packet every 20 ms. The buffer holds {SIZE} packets, "
    f"and each for {D_MAX_MS} ms at most. "
    "G.711 with loss concealment, G.729A; R = 94.2 - Id - Ie.",
)
