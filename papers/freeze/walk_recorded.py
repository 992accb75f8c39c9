"""The clip over recorded networks, with recorded gaps: the pictures shown, and the data sent in vain.

Two drives, in which a phone changes its cell as often as in the recording and is disconnected for as long as
recorded handovers took (`crates/scenario/src/handover.rs`); and a walk out of a building and back, on
which the Wi-Fi link fails for as long as recorded outages lasted before the phone switches to the cellular
network. Whimbrel has a few numbers of each network, from which series of rates are generated
(`recorded_networks`); with the recordings, they are replayed second by second:

    WHIMBREL_TRACES=DIRECTORY whimbrel reproduce freeze walk-replay
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whimbrel.errors import PaperError
from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import recorded_networks, viewing
from whimbrel.papers.freeze.recorded_networks import DEAD_BPS, PAIRS
from whimbrel.papers.freeze.viewing import NAME
from whimbrel.papers.freeze.walk import FULL, STREAM_BPS, UNFREEZE_AFTER_S
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

FloatArray = npt.NDArray[np.float64]

DIRECTORY = "WHIMBREL_TRACES"
"""The environment variable with the directory of the recordings."""

COLUMNS = ("tfrc", "freeze", "silence", "ccid2", "tcp", "udp")
SECONDS = 60
LEFT_OUT_S = 8
DELAY_MS = 25
"""Of one direction (`crates/scenario/src/networks.rs`)."""
LEAD_S = 0.1
"""Time by which a notified sender is frozen before a gap: two round-trip times."""
FULL_FOR_S = 1.0
"""Time for which the full rate must arrive after a gap."""
LEAST_BPS = 8_000.0
"""A second with a lower recorded rate has this rate: a packet a second."""
GIVE_UP_S = 2
"""Seconds without a path after which a phone leaves its Wi-Fi."""
TRUST_S, TRUST_BPS = 5, 2e6
"""Duration and rate that its Wi-Fi must have before it switches back, without a gap."""


@dataclass(frozen=True)
class Gap:
    """No path from a second on, for a time or as long as recorded handovers of a kind."""

    start_s: float
    duration: str


@dataclass(frozen=True)
class Trip:
    """Rates in bit/s by the second, and gaps."""

    rate_bps: FloatArray
    gaps: tuple[Gap, ...]


def drive(rate: FloatArray, changes: Sequence[float], kind: str) -> Trip:
    """A drive whose cell changes at those seconds."""
    return Trip(rate, tuple(Gap(at, kind) for at in changes))


def over(wifi: FloatArray, cellular: FloatArray) -> Trip:
    """A walk with both: on Wi-Fi while it is available, and after `GIVE_UP_S` without it on the other."""
    rate, gaps, on_wifi = np.empty(wifi.size), [], True
    at = 0
    while at < wifi.size:
        on_wifi = on_wifi or (at >= TRUST_S and bool(np.all(wifi[at - TRUST_S : at] >= TRUST_BPS)))
        rate[at] = wifi[at] if on_wifi else cellular[at]
        if on_wifi and at + GIVE_UP_S <= wifi.size and np.all(wifi[at : at + GIVE_UP_S] < DEAD_BPS):
            gaps.append(Gap(float(at), f"{GIVE_UP_S} s"))
            rate[at : at + GIVE_UP_S] = wifi[at : at + GIVE_UP_S]
            on_wifi, at = False, at + GIVE_UP_S
        else:
            at += 1
    return Trip(rate, tuple(gaps))


def made(row: str) -> Trip:
    """A trip generated from the networks' statistics."""
    networks = recorded_networks.read()
    if row in ("lte", "5g"):
        network = networks[row]
        changes = np.arange(LEFT_OUT_S + network.cell_s / 2, SECONDS, network.cell_s)
        kind = {"lte": "lte", "5g": "5g-nsa"}[row]
        return drive(network.series(SECONDS, 1), [float(at) for at in changes], kind)
    wifi, cellular = networks["wifi"], networks["cellular"]
    rate = np.maximum(wifi.series(SECONDS, 3), 1e6)
    gaps = []
    # Out and back twice: an outage of the usual length, and one that only a tenth exceed.
    for leaves, outage in zip((14, 36), wifi.outage_s, strict=True):
        gaps.append(Gap(float(leaves), f"{outage:g} s"))
        back = leaves + 18
        rate[leaves:back] = cellular.series(SECONDS, 4)[leaves:back]
    return Trip(rate, tuple(gaps))


MADE = ("lte", "5g", "wifi-cellular")
PAIR_ROWS = ("7_2", "13_1", "21_2")
"""Walks from Wi-Fi to a fast, a slower and a slow cellular network, at the SBU and at the FSC."""
DRIVE_ROWS = ("drive, LTE", "drive, 5G")


def replayed(row: str, directory: Path) -> Trip:
    """A trip as recorded.

    Raises:
        PaperError: the recording is missing or invalid.
    """
    try:
        if row in PAIR_ROWS:
            return over(*recorded_networks.read_pair(directory / PAIRS, row))
        mode = row.removeprefix("drive, ")
        return _busiest(recorded_networks.drives(directory), mode)
    except (OSError, ValueError) as error:
        raise PaperError(f"{DIRECTORY}={directory}: {error}") from error


def _busiest(paths: Sequence[Path], mode: str) -> Trip:
    """Of all drives, the stretch on that kind of network in which the cell changed most often."""
    best: tuple[int, FloatArray, list[float]] | None = None
    for path in paths:
        log = recorded_networks.read_drive(path)
        for start in range(0, log.rate_bps.size - SECONDS, 10):
            here = slice(start, start + SECONDS)
            if not np.all(log.mode[here] == mode):
                continue
            changes = np.flatnonzero(log.moves[here][LEFT_OUT_S:-5]) + LEFT_OUT_S
            apart = [float(at) for at, last in zip(changes, [-9, *changes], strict=False) if at - last > 1]
            if best is None or len(apart) > best[0]:
                best = (len(apart), log.rate_bps[here], apart)
    if best is None:
        raise ValueError(f"no {SECONDS} s on {mode}")
    return drive(best[1], best[2], {"LTE": "lte", "5G": "5g-nsa"}[mode])


def scenario(row: str, column: str, *, trip: Callable[[str], Trip]) -> Scenario:
    """A trip with one scheme; the video is added with the run."""
    taken = trip(row)
    rates = np.maximum(taken.rate_bps, LEAST_BPS)
    document = viewing.path(f"{rates[0] / 1e3:.0f} kbit/s", f"{DELAY_MS} ms")
    document["link"][1]["reverse"] = {"rate": "10 Mbit/s"}
    handovers: list[dict[str, Any]] = [
        {"time": f"{gap.start_s:.3f} s", "link": "radio", "duration": gap.duration} for gap in taken.gaps
    ]
    if column == "freeze":
        lag = f"{1e3 * UNFREEZE_AFTER_S:g} ms"
        for handover in handovers:
            handover["freeze"] = {"flows": [NAME], "lead": f"{LEAD_S:g} s", "lag": lag}
    return Scenario(
        {
            "title": f"{row}, {column}",
            "simulation": {"duration": f"{rates.size} s"},
            **document,
            "flow": [viewing.flow(column)],
            "event": [
                {
                    "time": f"{at} s",
                    "link": "radio",
                    "direction": "forward",
                    "rate": f"{rate / 1e3:.0f} kbit/s",
                }
                for at, rate in enumerate(rates)
                if at > 0
            ],
            "handover": handovers,
            "record": {"packets": True},
        }
    )


def _replay_trip(row: str) -> Trip:
    return replayed(row, Path(os.environ[DIRECTORY]))


METRICS = [
    Metric("psnr", "dB", "PSNR"),
    Metric("vmaf", "", "VMAF"),
    Metric("frozen", "%", "Frames frozen"),
    Metric("missing", "%", "Datagrams not in time"),
    Metric("full", "s", f"After a gap, until {FULL:.0%} of the stream", 2),
    Metric("wasted", "kB", "Sent into gaps"),
    Metric("lost", "packets", "Lost in queues", 0),
]


def run(given: Scenario, seed: int) -> Result:
    """The pictures shown to the viewer, and their cost."""
    seconds = float(str(given.document["simulation"]["duration"]).removesuffix(" s"))
    viewed = viewing.watch(given, seed, seconds, with_vmaf=True)
    inside = (viewed.time_s >= LEFT_OUT_S) & (viewed.time_s < seconds - viewing.PLAYOUT_S)
    result = viewed.result
    ends = [float(end) for end in result["handovers"]["up_s"]]
    starts = [float(start) for start in result["handovers"]["down_s"]]
    full = [
        viewing.until_full(result, end, until, FULL * STREAM_BPS, FULL_FOR_S)
        for end, until in zip(ends, [*starts[1:], seconds], strict=True)
    ]
    row = {
        "psnr": float(np.mean(viewed.psnr_db[inside])),
        "vmaf": float(np.mean(viewed.vmaf[inside])),
        "frozen": 100 * float(np.mean(viewed.frozen[inside])),
        "missing": 100 * float(np.mean(~viewed.in_time(LEFT_OUT_S, seconds - viewing.PLAYOUT_S))),
        "full": float(np.mean(full)) if full else math.nan,
        "wasted": viewing.into_gap(result)["bytes"] / 1e3,
        "lost": float(result.flows["lost_queue"][0]),
    }
    return Result({"trip": {key: [value] for key, value in row.items()}})


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """Reads the values of the run."""
    return result["trip"].only()


def _item(
    key: str, title: str, trip: Callable[[str], Trip], rows: Sequence[str], seeds: int, note: str
) -> Item:
    return Item(
        key=key,
        title=title,
        source="not in the paper",
        rows=rows,
        columns=COLUMNS,
        metrics=METRICS,
        scenario=functools.partial(scenario, trip=trip),
        measure=measure,
        precision=Precision.exactly(seeds),
        quick=Quick(precision=Precision.exactly(1), rows=rows[-1:], by_name=True),
        run=run,
        is_drawn=False,
        row_label="Trip",
        note=note,
    )


_SOURCES = (
    "Rates and changes of the cell: Raca and others, MMSys 2020 (drives); Aydini, MP-Traces (Wi-Fi and "
    "cellular). Durations of handovers: Hassan and others, SIGCOMM 2022. The clip of Figure 10."
)

ITEMS = [
    _item(
        "walk-recorded",
        "The clip over networks generated from recordings' statistics",
        made,
        MADE,
        2,
        f"{_SOURCES} The statistics are papers/freeze/recorded.csv.",
    ),
    *(
        [
            _item(
                "walk-replay",
                "The clip over recorded networks, replayed second by second",
                _replay_trip,
                (*DRIVE_ROWS, *PAIR_ROWS),
                2,
                f"{_SOURCES} Replayed from {DIRECTORY}. It leaves Wi-Fi after {GIVE_UP_S} dead seconds.",
            )
        ]
        if DIRECTORY in os.environ
        else []
    ),
]
"""The second one only with the recordings."""
