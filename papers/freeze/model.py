"""The model's predictions for every handover (Table 4)."""

from __future__ import annotations

from collections.abc import Mapping

import whimbrel
from whimbrel.paper import Item
from whimbrel.papers.freeze import networks
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

METRICS = [
    Metric("lost", "packets", "Packets lost", 0),
    Metric("wasted", "packets", "Wasted capacity", 0),
    Metric("restart", "packets", "Wasted until the old rate is back (14)", 0),
    Metric("plateau", "packets", "Wasted until the rate grows (23)", 0),
    Metric("growth", "packets", "Wasted while it grows (23)", 0),
]


def scenario(row: str, column: str) -> Scenario:
    """A scenario of names only: the model needs no simulation."""
    return Scenario({"title": f"the model, {row} to {column}", "variables": {"old": row, "new": column}})


def run(given: Scenario, _seed: int) -> Result:
    """Evaluates the model."""
    names = given.document["variables"]
    prediction = whimbrel.handover_model(names["old"], names["new"], networks.PAYLOAD)
    row = {
        "lost": float(prediction.lost_packets),
        "wasted": prediction.wasted_packets,
        "restart": prediction.wasted_restart,
        "plateau": prediction.wasted_plateau,
        "growth": prediction.wasted_growth,
    }
    return Result({"model": {key: [value] for key, value in row.items()}})


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """Reads the values of the run."""
    return result["model"].only()


ITEM = Item(
    key="table4",
    title="Losses and wasted capacity predicted by the model",
    source="Table 4",
    rows=networks.NETWORKS,
    columns=networks.NETWORKS,
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(1),
    run=run,
    is_drawn=False,
    is_random=False,
    row_label="From",
    column_label="To",
    note="Table 3's printed rates and round-trip times; README.md explains every cell that differs.",
)
