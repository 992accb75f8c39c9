"""The effect of a sender's clock with a rate error on the algorithms based on trip times.

The paper's clocks differ by an offset only. Crystals differ in rate, by up to 50 parts per million and
sometimes by more. Each experiment is run without and with the receiver's correction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whimbrel.paper import Item, Quick
from whimbrel.papers.lda import measures, topology
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

DRIFTS = (0, -50, 50, -200, 200)
"""Parts per million by which the sender's clock is fast."""

PLACES = {"WLH, 1 flow": ("WLH", 1), "WB, 1 flow": ("WB", 1), "WB, 8 flows": ("WB", 8)}

CORRECTED = ", corrected"

COLUMNS = tuple(
    column for scheme in ("spike", "zigzag", "zbs2", "zbs3") for column in (scheme, scheme + CORRECTED)
)

ROWS = {f"{place}, {ppm:+d} ppm": (*there, ppm) for place, there in PLACES.items() for ppm in DRIFTS}


def scenario(row: str, column: str) -> Scenario:
    """One experiment."""
    name, flows, ppm = ROWS[row]
    assumed = replace(topology.USUAL, clock_drift_ppm=float(ppm), corrects_clock=column.endswith(CORRECTED))
    return topology.scenario(name, column.removesuffix(CORRECTED), flows, assumed=assumed)


def measure(result: Result, row: str, column: str) -> Mapping[str, float]:
    """The four measures."""
    name, flows, _ = ROWS[row]
    return measures.measure(result, flows, column.removesuffix(CORRECTED), name=name)


ITEMS = [
    Item(
        key="clock-drift",
        title="Effect of a fast or slow sender's clock on the algorithms",
        source="not in the paper",
        rows=list(ROWS),
        columns=COLUMNS,
        metrics=measures.METRICS,
        scenario=scenario,
        measure=measure,
        precision=Precision.exactly(5),
        quick=Quick(precision=Precision.exactly(1), by_name=True),
        is_drawn=False,
        row_label="Place and clock",
        note="Corrected: the receiver estimates the difference in rate (`ClockSkew`).",
    )
]
