"""Calls in the confronts: the mobile VoIP application over DCCP that Section 5 announces (ours).

In each confront with packets of 1424 bytes a fifth tablet, which changes access points as well, has a call
with G.711 and one with Opus, over UDP or DCCP.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import whimbrel
from whimbrel.paper import Item, Quick
from whimbrel.papers.confront.measures import ROWS
from whimbrel.papers.confront.topology import (
    CCID2,
    CCID3,
    HEADERS,
    NAMES,
    TFRC,
    UDP,
    Times,
    roaming_tablet,
    scenario,
)
from whimbrel.quality import playout, voip
from whimbrel.quality.codecs import Codec, codec
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

CODECS: Mapping[str, Codec] = {"g711": codec("g711-plc"), "opus": codec("opus-nb-11")}
SIZE = 1424
TIMES = Times(total=90.0, await_=6.0, handoffs=(30.0, 60.0))
"""The calls last 84 s and meet two hand-offs."""
START_S = 8.0
BUFFER_S = 0.1
"""Playout: that long after the fastest packet."""
CALLER = "caller"
_MEASURES = {
    "mos": Metric("mos", "", "MOS", 2, title="Mean opinion score"),
    "delay": Metric("delay", "ms", "mouth to ear", 0),
    "not_played": Metric("not_played", "%", "not played", 2),
}
METRICS = [
    replace(metric, key=f"{name}_{metric.key}", label=f"{title}: {metric.label}")
    for name, title in (("g711", "G.711"), ("opus", "Opus"))
    for metric in _MEASURES.values()
]
TRANSPORTS: Mapping[str, dict[str, Any]] = {
    UDP: {"transport": "udp"},
    CCID2: {"transport": "dccp", "ccid": 2},
    CCID3: dict(TFRC),
}


def _call(name: str, scheme: str) -> dict[str, Any]:
    """A call: a packet every 20 ms, without detection of silence."""
    size = CODECS[name].datagram_bytes
    rate = (size + HEADERS[scheme]) * 8 / CODECS[name].packet_s
    return {
        "name": name,
        "from": CALLER,
        "to": "receiver",
        "payload": f"{size} B",
        "start": f"{START_S:g} s",
        "traffic": {"kind": "cbr", "rate": f"{rate:g} bit/s"},
        **TRANSPORTS[scheme],
    }


def calls(row: str, column: str) -> Scenario:
    """A confront with calls over a transport."""
    document = dict(scenario(ROWS[row], SIZE, TIMES).document)
    others = [{**flow, "background": True} for flow in document["flow"]]
    document["flow"] = [*others, *(_call(name, column) for name in CODECS)]
    document["node"] = [*document["node"], roaming_tablet(CALLER, 2, TIMES)]
    document["title"] = f"Calls over {NAMES[column]} in {ROWS[row].title}"
    del document["record"]
    return Scenario(document)


def times_of(result: Result, name: str, end_s: float) -> tuple[np.ndarray, np.ndarray]:
    """When each packet of a call was handed over and received, in seconds; NaN if it was not received.

    A packet that the transport holds back before it is sent, or gives up, was handed over nevertheless.
    """
    mine = result.packets.where(flow=name)
    interval = CODECS[name].packet_s
    # The last second is left out: its packets may still be under way.
    count = int((end_s - 1 - START_S) / interval)
    handed = START_S + interval * np.arange(count)
    received = np.full(count, math.nan)
    has = (mine["fate"] == "received") & (mine["tag"] < count)
    received[mine["tag"][has].astype(int)] = mine["received_s"][has]
    return handed, received


def run(given: Scenario, seed: int) -> Result:
    """Simulates the calls and keeps the rating of each."""
    result = whimbrel.run(given, seed, packets=True)
    end_s = TIMES.total
    found: dict[str, list[float]] = {key: [] for key in _MEASURES}
    for name, speech in CODECS.items():
        handed, received = times_of(result, name, end_s)
        heard = playout.fixed(handed, received, float(np.nanmin(received - handed)) + BUFFER_S)
        delay_s = voip.mouth_to_ear_s(speech, heard)
        rating = voip.rate(speech, delay_s, heard.loss_rate, burst_ratio=heard.burst_ratio)
        found["mos"].append(rating.mos)
        found["delay"].append(1e3 * delay_s)
        found["not_played"].append(100 * heard.loss_rate)
    return Result({"calls": {"call": list(CODECS), **found}})


ITEM = Item(
    key="voip",
    title="Calls with G.711 and Opus in the eleven confronts, packets of 1424 bytes",
    source="ours",
    rows=list(ROWS),
    columns=list(TRANSPORTS),
    metrics=METRICS,
    scenario=calls,
    measure=lambda result, _row, _column: {
        f"{name}_{key}": float(result["calls"].one(key, call=name)) for name in CODECS for key in _MEASURES
    },
    precision=Precision.exactly(3),
    quick=Quick(precision=Precision.exactly(2), rows=list(ROWS)[1:2]),
    run=run,
    is_drawn=False,
    row_label="Confront",
    column_label="Transport of the calls",
    note="A fifth tablet, which changes access points twice, has a call with G.711 (with loss concealment) "
    "and one with Opus (11 kbit/s). E-model of G.107, playout 100 ms after the fastest packet.",
)
