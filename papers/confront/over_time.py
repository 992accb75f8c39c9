"""Figures 2 and 3: throughput, transmitted and lost data over time; and the hand-offs alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from whimbrel import figures
from whimbrel.figures import Charts
from whimbrel.paper import Item, Quick
from whimbrel.papers.confront import measures
from whimbrel.papers.confront.measures import KB, flows_of, readings, row_of
from whimbrel.papers.confront.topology import (
    BED,
    CONFRONTS,
    FIRST,
    PAPER_TIMES,
    Bed,
    Confront,
    Times,
    scenario,
)
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import POSITIVE, Metric, Sheet
from whimbrel.statistics import FloatArray, Precision

SIZE = 512
"""Of both figures, by their captions. (The text names line 5 of Table 4, but its n = 9 is Table 3's.)"""
FIGURES = {"fig2": CONFRONTS["2"], "fig3": CONFRONTS["5"]}
RUNS = Precision.exactly(5)
"""Runs of the confront of Figure 2; Figure 3 has 9."""
STEP_S = 5
CLOSE_S = range(-3, 9)
"""Seconds around a hand-off that are drawn one by one."""


def instants(times: Times = PAPER_TIMES) -> list[int]:
    """The ends of the drawn intervals: every five seconds, and every second around the hand-offs."""
    close = {int(time) + second for time in times.handoffs for second in CLOSE_S}
    return sorted({*range(STEP_S, int(times.total) + 1, STEP_S), *close})


INSTANTS = instants()
_BEFORE = dict(zip(INSTANTS, [0, *INSTANTS], strict=False))
METRICS = [
    Metric("throughput", "kbit/s", "Throughput", 0, title="Throughput of a flow"),
    Metric("transmitted", "KB", "Transmitted in a second", 1, bounds=POSITIVE),
    Metric("lost", "KB", "Lost in a second", 1, bounds=POSITIVE),
]
_LOST = ("lost_host", "lost_queue", "lost_wireless", "lost_down")


def per_second(result: Result, flows: tuple[str, ...], *columns: str) -> FloatArray:
    """The sum of columns in each second, as a mean over the flows."""
    sums = [np.sum([readings(result, flow, column) for column in columns], axis=0) for flow in flows]
    return np.asarray(np.mean(sums, axis=0))


def _measure(confront: Confront, result: Result, row: str, column: str) -> Mapping[str, float]:
    flows = flows_of(confront, column)
    seconds = slice(_BEFORE[int(row)], int(row))

    def mean(*columns: str) -> float:
        return float(np.mean(per_second(result, flows, *columns)[seconds]))

    has_lost = not column.startswith("tcp")
    return {
        "throughput": mean("goodput_bps") / 1e3,
        "transmitted": mean("sent_packets") * SIZE / KB if has_lost else math.nan,
        "lost": mean(*_LOST) * SIZE / KB if has_lost else math.nan,
    }


def _charts(sheet: Sheet) -> Charts:
    marks = {f"hand-off {number}": time for number, time in enumerate(PAPER_TIMES.handoffs, start=1)}
    marks["others start"] = PAPER_TIMES.await_
    return {metric.key: figures.curves(sheet, metric, zero=True, marks=marks) for metric in sheet.metrics}


def figure(key: str, bed: Bed = BED) -> Item:
    """One of the figures, on a test bed."""
    confront = FIGURES[key]
    return Item(
        key=key,
        title=f"{confront.title} over time, packets of {SIZE} bytes",
        source=key.replace("fig", "Figure "),
        rows=[str(instant) for instant in INSTANTS],
        columns=list(confront.schemes),
        metrics=METRICS,
        scenario=lambda _row, _column: scenario(confront, SIZE, bed=bed),
        measure=lambda result, row, column: _measure(confront, result, row, column),
        precision=RUNS,
        quick=Quick(precision=Precision.exactly(3)),
        is_drawn=False,
        charts=_charts,
        row_label="Time in s",
        note="Means since the row before. Of the two flows of the second scheme, one changes access points.",
    )


ROAMING = "second"
"""The flow of the second scheme whose tablet changes access points."""
DENTS = [
    Metric(
        "dent",
        "%",
        "Drop at a hand-off",
        1,
        title="Drop of the throughput at a hand-off",
        bounds=(None, 100),
    ),
    Metric(
        "after",
        "%",
        "Later",
        1,
        title="Throughput from 5 to 15 s after a hand-off, of that before",
        bounds=(0, None),
    ),
    Metric("lost_then", "%", "Lost then", 2, title="Lost in the second of a hand-off, of what is sent"),
    Metric("lost_before", "%", "Lost before", 2, title="Lost in the 10 s before, of what is sent"),
    Metric("outage", "ms", "Outage", 0, title="Time without an access point"),
]


def dents(result: Result, confront: Confront, scheme: str) -> dict[str, float]:
    """The effect of the hand-offs on the flow whose tablet changes access points, as means over both."""
    flow = FIRST if scheme == confront.first else ROAMING
    table = result["associations"]
    client = "tablet0" if flow == FIRST else "tablet1"
    changes = [
        (float(time), float(outage))
        for time, outage, name, origin in zip(
            table["time_s"], table["outage_s"], table["client"], table["from"], strict=True
        )
        if name == client and origin
    ]
    rate = readings(result, flow, "goodput_bps")
    sent = readings(result, flow, "sent_packets")
    lost = per_second(result, (flow,), *_LOST)
    found: dict[str, list[float]] = {metric.key: [] for metric in DENTS}
    for time, outage in changes:
        # Seconds of the outage: reading k covers the second before k + 1.
        first, last = math.floor(time - outage), math.floor(time)
        during, before = slice(first, last + 1), slice(max(0, first - 10), first)
        usual = float(np.mean(rate[before]))
        found["dent"].append((1 - float(np.min(rate[during])) / usual) * 100)
        found["after"].append(float(np.mean(rate[last + 5 : last + 15])) / usual * 100)
        found["lost_then"].append(float(np.sum(lost[during]) / np.sum(sent[during])) * 100)
        found["lost_before"].append(float(np.sum(lost[before]) / np.sum(sent[before])) * 100)
        found["outage"].append(outage * 1e3)
    if scheme.startswith("tcp"):
        found["lost_then"] = found["lost_before"] = []
    return {key: float(np.mean(values)) if values else math.nan for key, values in found.items()}


DENT_ROWS = {row_of(CONFRONTS[number]): CONFRONTS[number] for number in ("2", "5", "8")}


def handoffs(bed: Bed = BED) -> Item:
    """The hand-offs of the flows whose tablets change access points, on a test bed."""
    columns = list(dict.fromkeys(scheme for confront in DENT_ROWS.values() for scheme in confront.schemes))
    return Item(
        key="handoffs",
        title="Hand-offs of the flows of TCP Cubic, UDP and DCCP, packets of 512 bytes",
        source="Section 4.1",
        rows=list(DENT_ROWS),
        columns=columns,
        metrics=DENTS,
        has=lambda row, column: column in DENT_ROWS[row].schemes,
        scenario=lambda row, _column: scenario(DENT_ROWS[row], SIZE, bed=bed),
        measure=lambda result, row, column: dents(result, DENT_ROWS[row], column),
        precision=RUNS,
        quick=Quick(precision=Precision.exactly(3), rows=list(DENT_ROWS)[:2]),
        row_label="Confront",
        note="Of the flow whose tablet changes: the second without an access point, and the ten before.",
    )


STILL = Times(handoffs=())


def still(bed: Bed = BED) -> Item:
    """The same confronts without hand-offs, on a test bed."""
    return Item(
        key="no-handoff",
        title="The same without hand-offs",
        source="ours",
        rows=list(DENT_ROWS),
        columns=handoffs().columns,
        metrics=[Metric("throughput", "kbit/s", "Throughput", 0)],
        has=lambda row, column: column in DENT_ROWS[row].schemes,
        scenario=lambda row, _column: scenario(DENT_ROWS[row], SIZE, STILL, bed),
        measure=lambda result, row, column: {
            "throughput": measures.measure(result, DENT_ROWS[row], SIZE, column)["throughput"]
        },
        precision=RUNS,
        quick=Quick(precision=Precision.exactly(3), by_name=True),
        row_label="Confront",
    )


LISTED = replace(BED, channels=None)
"""Clients that know the channels of their network."""
SCANS: Mapping[str, tuple[Bed, dict[str, object]]] = {
    "active, channels 1 to 11": (BED, {"kind": "active"}),
    "active, the network's two channels": (LISTED, {"kind": "active"}),
    "passive, the network's two channels": (LISTED, {"kind": "passive"}),
    "passive, 1 s on each of the two": (LISTED, {"kind": "passive", "channel_time": "1 s"}),
}
"""Channels, and the procedure of a scan."""
_SHORT = Times(total=90.0, await_=6.0, handoffs=(30.0, 60.0))
_SCANNED = {
    "tcp-cubic": CONFRONTS["5"],
    "udp": CONFRONTS["2"],
    "ccid2": CONFRONTS["5"],
    "ccid3": CONFRONTS["8"],
}


def _scanning(row: str, column: str) -> Scenario:
    """A confront in which the moving tablets look for access points in another way."""
    bed, scan = SCANS[row]
    document = dict(scenario(_SCANNED[column], SIZE, _SHORT, bed).document)
    document["node"] = [
        {**node, "client": {**node["client"], "scan": scan}} if "mobility" in node else node
        for node in document["node"]
    ]
    return Scenario(document)


def _outages() -> Item:
    return Item(
        key="outages",
        title="Hand-offs by the time without an access point, packets of 512 bytes",
        source="ours",
        rows=list(SCANS),
        columns=list(_SCANNED),
        metrics=DENTS,
        scenario=_scanning,
        measure=lambda result, _row, column: dents(result, _SCANNED[column], column),
        precision=Precision.exactly(3),
        quick=Quick(precision=Precision.exactly(2), by_name=True),
        is_drawn=False,
        row_label="Search",
        note="The longer a tablet searches, the longer its flow stands still; UDP's as well.",
    )


ITEMS = [*(figure(key) for key in FIGURES), handoffs(), still(), _outages()]
