"""Results with and without the buffer (Figures 2, 3 and 4): efficiency ratios over its size and the RTT.

One run has dumbbells side by side: flows without the buffer, with three kinds of loss detection, and one for
each size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import whimbrel
from whimbrel.figures import Charts, curves
from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import measures, topology
from whimbrel.papers.reorder.topology import USUAL, WITHOUT, Assumed, Lane
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet
from whimbrel.statistics import Precision

Measure: TypeAlias = Callable[[Result, str, str], Mapping[str, float]]

SIZES = tuple(str(size) for size in range(2, 13))
"""Packets: from the least in the text to the greatest that Section III derives."""
RTTS = ("100", "200", "300", "400", "500")
"""Round-trip times in ms; the text names 100 to 150."""

NEVER_MS = 60_000
"""A D_max that never expires: only the size makes the buffer give up."""
VIDEO_MS = 50
"""D_max for video (Section III)."""

ASSUMED = replace(USUAL, payload=500, reading="delayed")
"""Packets of a video, "randomly selected" ones of which are delayed (Section III)."""

READINGS: Mapping[str, tuple[Assumed, int]] = {
    "": (ASSUMED, NEVER_MS),
    "netem": (replace(ASSUMED, reading="netem"), NEVER_MS),
    "fixed": (replace(ASSUMED, delay_ms=topology.NETEM_MS["100"]), NEVER_MS),
    "dmax": (ASSUMED, VIDEO_MS),
    "1000": (replace(ASSUMED, payload=1000), NEVER_MS),
}
"""Suffix of the items' keys to the path and D_max: the default reading, and others for comparison."""

NOTES: Mapping[str, str] = {
    "": "Packets of 500 bytes of data, 5 % of which wait on top of the path's delay, by Table I; the buffer "
    "gives up by its size alone. Without it, three later packets prove a loss, or one, as in ns-2's "
    "Agent/TFRC; late packets stay lost.",
    "netem": "As in Figures 2 to 4, but NetEm delays all packets except 5 %.",
    "fixed": "As in Figures 2 to 4, but delayed packets arrive 50 ± 20 ms later at every round-trip time.",
    "dmax": f"As in Figures 2 to 4, but the buffer gives up after {VIDEO_MS} ms, too.",
    "1000": "As in Figures 2 to 4, but for packets of 1000 bytes of data.",
}

QUANTITIES = {"rate": "Throughput", "ler": "Loss event rate", "jitter": "Jitter"}
"""Names of the quantities of Figures 2 to 4."""

DURATION_S = 280
WARM_UP_S = 40
QUICK = ("simulation.duration=110 s",)
QUICK_SIZES = ("2", "5", "7", "12")
QUICK_RTTS = ("100", "300", "500")


FIRST, FORGIVEN = "first", "forgiven"
"""Other flows without the buffer: one later packet, not three, proves a loss, as in ns-2's Agent/TFRC; late
packets withdraw their loss (RFC 5348, Section 5.1)."""


def lane(size: str) -> str:
    """Name of the flow with a buffer of that size."""
    return f"q{size}"


@functools.cache
def scenario(rtt: str, reading: str = "") -> Scenario:
    """Flows without the buffer, and one for each size."""
    assumed, delay_ms = READINGS[reading]
    lanes = [
        Lane(WITHOUT, rtt, assumed),
        Lane(FIRST, rtt, replace(assumed, dccp={"loss_detection": "first-packet"})),
    ]
    if not reading:
        lanes.append(Lane(FORGIVEN, rtt, replace(assumed, forgive_late=True)))
    for size in SIZES:
        buffer = {"reorder_delay": f"{delay_ms} ms", "reorder_size": f"{size} packets"}
        lanes.append(Lane(lane(size), rtt, assumed, buffer))
    return topology.scenario(f"buffers at {rtt} ms {reading}".strip(), lanes, DURATION_S, WARM_UP_S)


KEPT = ("rate", "ler", "rtt", "jitter", "gaps", "late")
"""Values of a flow kept by `run`: X in kbit/s, p in percent, R in ms, jitter and spread of gaps in ms, and
the share of packets in percent that the buffer discarded."""


def run(given: Scenario, seed: int) -> Result:
    """Simulates a scenario and keeps the values of each flow for the figures, not its packets."""
    result = whimbrel.run(given, seed, packets=True)
    names = [str(name) for name in result.flows["flow"]]
    rows: dict[str, list[float]] = {key: [] for key in KEPT}
    for name in names:
        sent, received = measures.delivered(result.packets, name, WARM_UP_S)
        late = result.packets.where(flow=name, fate="late").rows
        kept = {
            **measures.seen(result, name),
            "jitter": 1e3 * measures.interarrival_jitter(sent, received),
            "gaps": 1e3 * measures.spread_of_gaps(received),
            "late": 100 * late / max(1, late + received.size),
        }
        for key in KEPT:
            rows[key].append(kept[key])
    return Result({"seen": {"flow": names, **rows}})


def of(result: Result, flow: str, key: str) -> float:
    """A value of a flow kept by `run`."""
    return result["seen"].one(key, flow=flow)


def _ratio(result: Result, size: str, key: str, without: str = WITHOUT) -> float:
    return measures.efficiency(of(result, lane(size), key), of(result, without, key))


def _scenario(_row: str, column: str, *, reading: str = "") -> Scenario:
    return scenario(column, reading)


def _measure(result: Result, row: str, _column: str, *, key: str) -> Mapping[str, float]:
    measured = {
        "ratio": _ratio(result, row, key),
        "ratio_first": _ratio(result, row, key, FIRST),
        "with": of(result, lane(row), key),
        "without": of(result, WITHOUT, key),
        "first": of(result, FIRST, key),
        "forgiven": of(result, FORGIVEN, key),
    }
    if key == "jitter":
        measured["ratio_gaps"] = _ratio(result, row, "gaps")
        measured["ratio_gaps_first"] = _ratio(result, row, "gaps", FIRST)
    return measured


RATIOS = ("rate", "ler", "jitter", "gaps")


def _measure_all(result: Result, row: str, _column: str) -> Mapping[str, float]:
    return {
        **{key: _ratio(result, row, key) for key in RATIOS},
        **{f"{key}_first": _ratio(result, row, key, FIRST) for key in RATIOS},
        "with": of(result, lane(row), "rate"),
        "without": of(result, WITHOUT, "rate"),
        "without_first": of(result, FIRST, "rate"),
    }


def _charts(sheet: Sheet, *, drawn: Sequence[str]) -> Charts:
    return {metric.key: curves(sheet, metric) for metric in sheet.metrics if metric.key in drawn}


def _item(
    key: str, title: str, source: str, metrics: Sequence[Metric], measure: Measure, reading: str = ""
) -> Item:
    drawn = ("ratio", "ratio_first") if not reading else ("rate", "rate_first") if reading == "fixed" else ()
    return Item(
        key=key,
        title=title,
        source=source,
        rows=SIZES,
        columns=RTTS,
        metrics=metrics,
        scenario=functools.partial(_scenario, reading=reading),
        measure=measure,
        precision=Precision.exactly(10 if reading in ("", "fixed") else 5),
        quick=Quick(
            precision=Precision.exactly(1 if reading in ("dmax", "1000") else 3),
            overrides=QUICK,
            rows=QUICK_SIZES,
            columns=QUICK_RTTS,
        ),
        run=run,
        is_drawn=False,
        charts=functools.partial(_charts, drawn=drawn),
        row_label="Buffer size in packets",
        column_label="RTT in ms",
        note=NOTES[reading],
    )


def _figure(key: str, number: int, name: str, kept: str, unit: str) -> Item:
    digits = {"kbit/s": 0, "%": 2, "ms": 1}[unit]
    quantity = QUANTITIES[kept]
    metrics = [
        Metric("ratio", "", "Efficiency ratio", 3, f"{quantity} ratio with buffer"),
        Metric(
            "ratio_first",
            "",
            "Efficiency ratio over detection by one packet",
            3,
            f"{quantity} ratio with buffer, over detection by one packet",
        ),
        Metric("with", unit, "With the buffer", digits),
        Metric("without", unit, "Without", digits),
        Metric("first", unit, "Without, detection by one packet", digits),
        Metric("forgiven", unit, "Without, RFC 5348 with forgiveness", digits),
    ]
    if kept == "jitter":
        spread = "Efficiency ratio of the spread of gaps"
        metrics.append(Metric("ratio_gaps", "", spread, 3))
        metrics.append(Metric("ratio_gaps_first", "", f"{spread} over detection by one packet", 3))
    return _item(key, name, f"Figure {number}", metrics, functools.partial(_measure, key=kept))


ALL_THREE = [
    Metric("rate", "", "Of the throughput", 3, "Throughput ratio with buffer"),
    Metric("ler", "", "Of the loss event rate", 3),
    Metric("jitter", "", "Of the jitter", 3),
    Metric("gaps", "", "Of the spread of gaps", 3),
    Metric(
        "rate_first",
        "",
        "Of the throughput, over detection by one packet",
        3,
        "Throughput ratio with buffer, over detection by one packet",
    ),
    *(
        Metric(f"{key}_first", "", f"Of the {name}, over detection by one packet", 3)
        for key, name in (("ler", "loss event rate"), ("jitter", "jitter"), ("gaps", "spread of gaps"))
    ),
    Metric("with", "kbit/s", "With the buffer", 0),
    Metric("without", "kbit/s", "Without", 0),
    Metric("without_first", "kbit/s", "Without, detection by one packet", 0),
]

ITEMS = [
    _figure("fig2", 2, "Throughput with the buffer: the efficiency ratio", "rate", "kbit/s"),
    _figure("fig3", 3, "Loss event rate with the buffer: the efficiency ratio", "ler", "%"),
    _figure("fig4", 4, "Jitter with the buffer: the efficiency ratio", "jitter", "ms"),
    *(
        _item(
            f"fig2-{reading}",
            f"Efficiency ratios, {title}",
            "not in the paper",
            ALL_THREE,
            _measure_all,
            reading,
        )
        for reading, title in (
            ("netem", "all packets delayed but 5 %"),
            ("fixed", "delays of 50 ± 20 ms"),
            ("dmax", "with waits of at most 50 ms"),
            ("1000", "packets of 1000 bytes"),
        )
    ),
]
