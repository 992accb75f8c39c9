"""A bond of two recorded networks: a phone that sends over its Wi-Fi and its cellular network at once.

Rates follow Aydini's MP-Traces (one phone, walking in and out of buildings), second by second, divided by
`SCALE` so that a flow of small packets fills them: as series generated from the statistics of the paper
`freeze` (`papers/freeze/recorded.csv`), which come with Whimbrel, or, with the files, as recorded:

    WHIMBREL_TRACES=DIRECTORY whimbrel reproduce reorder beyond-replay

The bond divides packets by the rates of the second before. Delays were not recorded: 10 ms and 35 ms are
assumed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path as Directory
from typing import Any

import numpy as np

from whimbrel.errors import PaperError
from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import recorded_networks
from whimbrel.papers.freeze.recorded_networks import PAIRS, FloatArray
from whimbrel.papers.freeze.walk_recorded import DIRECTORY, LEAST_BPS, PAIR_ROWS
from whimbrel.papers.reorder import beyond_mechanisms, beyond_paths, beyond_schemes
from whimbrel.papers.reorder.beyond_paths import Path, Way
from whimbrel.papers.reorder.beyond_schemes import SCHEMES
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

SCALE = 20.0
DELAYS_MS = (10.0, 35.0)
"""Of Wi-Fi and of the cellular network, one way."""
SECONDS, LEFT_OUT_S = 60, 5

Rates = tuple[FloatArray, FloatArray]
"""Of both networks in bit/s by the second."""

MADE: Mapping[str, tuple[str, str]] = {
    "Wi-Fi, cellular": ("wifi", "cellular"),
    "Wi-Fi, LTE": ("wifi", "lte"),
}


def made(row: str) -> Rates:
    """Series with the recorded distributions and persistence."""
    networks = recorded_networks.read()
    first, second = MADE[row]
    return _scaled(networks[first].series(SECONDS, 11), networks[second].series(SECONDS, 12))


def replayed(row: str, directory: Directory) -> Rates:
    """The first minute of a walk as recorded.

    Raises:
        PaperError: the recording is missing or invalid.
    """
    try:
        wifi, cellular = recorded_networks.read_pair(directory / PAIRS, row)
    except (OSError, ValueError) as error:
        raise PaperError(f"{DIRECTORY}={directory}: {error}") from error
    return _scaled(wifi[:SECONDS], cellular[:SECONDS])


def _scaled(first: FloatArray, second: FloatArray) -> Rates:
    return np.maximum(first / SCALE, LEAST_BPS), np.maximum(second / SCALE, LEAST_BPS)


def bond(rates: Rates, column: str, title: str) -> Scenario:
    """A flow over both networks at once.

    Args:
        rates: of both.
        column: one of `SCHEMES`.
        title: of the scenario.
    """
    ways = [Way(delay, float(rate[0])) for delay, rate in zip(DELAYS_MS, rates, strict=True)]
    made = beyond_paths.network(Path("", 0.0, ways, weights=[1.0, 1.0]))
    events: list[dict[str, Any]] = []
    routes: list[dict[str, Any]] = []
    for second in range(rates[0].size):
        before = max(second - 1, 0)
        time = {"time": f"{second} s"}
        routes.append({**made["route"][0], **time, "weights": [float(rate[before]) for rate in rates]})
        if second:
            events += [
                {**time, "link": f"way{number}", "rate": f"{rate[second]:g} bit/s"}
                for number, rate in enumerate(rates)
            ]
    return Scenario(
        {
            "title": title,
            "simulation": {"duration": f"{rates[0].size} s", "warm_up": f"{LEFT_OUT_S} s"},
            **made,
            "route": routes,
            "event": events,
            "flow": [beyond_schemes.flow(SCHEMES[column])],
        }
    )


def _item(key: str, title: str, rows: Sequence[str], rates: Callable[[str], Rates], note: str) -> Item:
    def capacity(row: str) -> float:
        return float(sum(rate[LEFT_OUT_S:].mean() for rate in rates(row)))

    return Item(
        key=key,
        title=title,
        source="not in the paper",
        rows=rows,
        columns=list(SCHEMES),
        metrics=beyond_mechanisms.METRICS,
        scenario=lambda row, column: bond(rates(row), column, f"a bond, {row}, {column}"),
        measure=lambda result, row, _column: beyond_mechanisms.seen(result, capacity(row)),
        precision=Precision.exactly(3),
        quick=Quick(precision=Precision.exactly(1), by_name=True),
        is_drawn=False,
        row_label="Networks",
        note=f"{note} A twentieth of the recorded rates; links of 10 and 35 ms; the bond divides packets by "
        f"the rates of the second before. {beyond_schemes.ABOUT}",
    )


ITEMS = [
    _item(
        "beyond-recorded",
        "A bond of networks with recorded statistics",
        list(MADE),
        made,
        "Series generated from the statistics of MP-Traces and 5G-production-dataset "
        "(papers/freeze/recorded.csv).",
    ),
    *(
        [
            _item(
                "beyond-replay",
                "A bond of recorded networks, second by second",
                PAIR_ROWS,
                lambda row: replayed(row, Directory(os.environ[DIRECTORY])),
                f"MP-Traces, from {DIRECTORY}.",
            )
        ]
        if DIRECTORY in os.environ
        else []
    ),
]
"""The second one only with the recordings."""
