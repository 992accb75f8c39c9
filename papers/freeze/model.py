"""What the model predicts for every handover (Table 4)."""

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
    """Only names: the model needs no simulation."""
    return Scenario({"title": f"the model, {row} to {column}", "variables": {"old": row, "new": column}})


def run(given: Scenario, _seed: int) -> Result:
    """Asks the model."""
    names = given.document["variables"]
    told = whimbrel.handover_model(names["old"], names["new"], networks.PAYLOAD)
    row = {
        "lost": float(told.lost_packets),
        "wasted": told.wasted_packets,
        "restart": told.wasted_restart,
        "plateau": told.wasted_plateau,
        "growth": told.wasted_growth,
    }
    return Result({"model": {key: [value] for key, value in row.items()}})


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """Reads it off."""
    return result["model"].only()


ITEM = Item(
    key="table4",
    title="Losses and wasted capacity as the model predicts them",
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
    note="Table 3's printed rates and round-trip times; README.md follows every cell that differs.",
)
