"""The algorithms on recorded 802.11 losses, with their rival, and their effect on a competing TCP.

The wireless backbone of the paper, one flow of each scheme and one TCP, but with the losses of links of a
testbed: as models fitted to them (`wifi_fits`, `recorded.csv`), which come with Whimbrel, and, with the
files, replayed packet by packet. Queues are simulated in both cases: the cause of every loss is known.

    WHIMBREL_WIFI_LOSSES=DIRECTORY whimbrel reproduce lda recorded-replay
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.errors import PaperError
from whimbrel.paper import Item, Quick
from whimbrel.papers.lda import measures, topology, wifi_fits
from whimbrel.papers.lda.topology import CLASSIFIERS, RIVAL, Assumed
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

ALONE = "alone"
"""The TCP without a competitor."""

COMPARED = (*CLASSIFIERS, RIVAL)

COLUMNS = (ALONE, "tfrc", "omniscient", *COMPARED)

LEVELS = (*wifi_fits.LEVELS, wifi_fits.BURSTY)

GUARDED = ", guard"

ROWS = (*LEVELS, *(level + GUARDED for level in LEVELS))

DIRECTORY = "WHIMBREL_WIFI_LOSSES"
"""The environment variable with the directory of the recorded losses."""

METRICS = [
    Metric("own", "%", "Its throughput"),
    Metric("tcp", "%", "The TCP's throughput"),
    Metric("right", "%", "Lost packets classified correctly"),
    Metric("m_c", "%", "M_c"),
    Metric("m_c_of", "packets", "Congestion losses classified"),
    Metric("m_w", "%", "M_w"),
    Metric("congestion", "%", "Its congestion loss", 2),
]

PACKETS = 40_000
"""More packets than the backbone transmits in a run."""


@functools.cache
def links() -> Mapping[str, wifi_fits.Link]:
    """The links that stand for a level, by level."""
    return {link.level: link for link in wifi_fits.read() if link.level}


def fitted(level: str) -> Mapping[str, Any]:
    """The loss model of the link that stands for `level`."""
    return links()[level].fit.chain.scenario()


def replayed(level: str, directory: Path) -> Mapping[str, Any]:
    """The recorded losses of that link, repeated.

    Raises:
        PaperError: the link is missing, or its file is not a list of receptions.
    """
    try:
        lost = np.flatnonzero(wifi_fits.read_link(directory / links()[level].name))
    except (OSError, ValueError) as error:
        raise PaperError(f"{DIRECTORY}={directory}: {error}") from error
    starts = np.arange(0, PACKETS, wifi_fits.PACKETS)
    return {"model": "mask", "packets": (starts[:, None] + lost).ravel().tolist()}


def _fitted_scenario(row: str, column: str) -> Scenario:
    return _scenario(row, column, fitted(_level(row)))


def _replayed_scenario(row: str, column: str) -> Scenario:
    return _scenario(row, column, replayed(_level(row), Path(os.environ[DIRECTORY])))


def _scenario(row: str, column: str, radio: Mapping[str, Any]) -> Scenario:
    level = _level(row)
    assumed = Assumed(radio={level: radio})
    if column == ALONE:
        return topology.scenario("WB", "tcp", 1, level, assumed=assumed)
    guard = row.endswith(GUARDED)
    return topology.scenario("WB", column, 1, level, rivals=1, guard=guard, assumed=assumed)


def _level(row: str) -> str:
    return row.removesuffix(GUARDED)


def _has(row: str, column: str) -> bool:
    return column in COMPARED if row.endswith(GUARDED) else True


def _measure(result: Result, _row: str, column: str) -> Mapping[str, float]:
    """Throughputs in percent of the bottleneck, and the verdicts compared with the truth.

    As elsewhere, throughput counts departures from the bottleneck, including packets that its radio then
    lost.
    """
    everyone = result.flows.where(background=0)
    _, rate = topology.bottleneck("WB", 1)
    is_rival = np.char.startswith(everyone["flow"], "rival")
    if column == ALONE:
        is_rival = ~is_rival
    throughput = 100 * everyone["throughput_bps"] / rate
    tcp = float(throughput[is_rival].sum())
    if column == ALONE:
        return {"tcp": tcp, **dict.fromkeys(("own", "right", "m_c", "m_c_of", "m_w", "congestion"), math.nan)}
    own = {name: float(everyone[name][~is_rival].sum()) for name in everyone if name in measures.COUNTS}
    classified = own["congestion_judged"] + own["wireless_judged"]
    right = classified - own["congestion_misclassified"] - own["wireless_misclassified"]
    return {
        "own": float(throughput[~is_rival].sum()),
        "tcp": tcp,
        "right": measures.share(right, classified, math.nan),
        "m_c": measures.share(own["congestion_misclassified"], own["congestion_judged"], math.nan),
        "m_c_of": own["congestion_judged"],
        "m_w": measures.share(own["wireless_misclassified"], own["wireless_judged"], math.nan),
        "congestion": measures.share(own["lost_queue"], own["bottleneck_packets"], 0.0),
    }


def _item(
    key: str, title: str, scenario: Callable[[str, str], Scenario], rows: Sequence[str], note: str
) -> Item:
    return Item(
        key=key,
        title=title,
        source="not in the paper",
        rows=rows,
        columns=COLUMNS,
        metrics=METRICS,
        scenario=scenario,
        measure=_measure,
        precision=Precision.exactly(5),
        quick=Quick(precision=Precision.exactly(1), by_name=True),
        has=_has,
        row_label="Loss",
        is_drawn=False,
        note=note,
    )


_SOURCE = (
    "One flow beside one TCP on the wireless backbone. Losses: links of the ORBIT testbed (CRAWDAD "
    "rutgers/noise, 2007-04-20), the one of median loss of each level and the one whose losses depend most "
    "on each other."
)

ITEMS = [
    _item(
        "recorded",
        "Losses of recorded 802.11 links, as fitted models",
        _fitted_scenario,
        ROWS,
        f"{_SOURCE} The fits are papers/lda/recorded.csv.",
    ),
    *(
        [
            _item(
                "recorded-replay",
                "Losses of recorded 802.11 links, replayed packet by packet",
                _replayed_scenario,
                LEVELS,
                f"{_SOURCE} Replayed from {DIRECTORY}, repeated.",
            )
        ]
        if DIRECTORY in os.environ
        else []
    ),
]
"""The second one only with the recordings."""
