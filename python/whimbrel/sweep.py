"""A scenario's `[sweep]`: every combination of its values, repeated until the intervals are tight.

The result is a table with a row per combination and a column per flow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel import scheduler
from whimbrel.campaign import Campaign, Case
from whimbrel.errors import UsageError
from whimbrel.plan import RECORDS, Plan, cell, results
from whimbrel.progress import Bar, Silent
from whimbrel.records import Records
from whimbrel.reproduce import Options
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet, Value
from whimbrel.statistics import Precision

DEFAULT_METRICS = ("goodput_bps", "delay_mean_s")
"""Columns of the `flows` table that a sweep measures when it is not told which."""

TABLE = "sweep"
"""Name of the table of a sweep."""


@dataclass(frozen=True, slots=True)
class _Unit:
    suffix: str
    unit: str
    factor: float
    digits: int


_UNITS = (
    _Unit("_bps", "kbit/s", 1e-3, 1),
    _Unit("_s", "ms", 1e3, 2),
    _Unit("_packets", "packets", 1.0, 1),
    _Unit("_bytes", "kB", 1e-3, 1),
    _Unit("", "", 1.0, 4),
)


def simulate(
    file: Path,
    options: Options,
    *,
    overrides: Sequence[str] = (),
    metrics: Sequence[str] = DEFAULT_METRICS,
    precision: Precision | None = None,
) -> str:
    """Makes the runs of a sweep that are missing.

    Args:
        file: the scenario.
        options: how; `quick` makes one repetition of each combination.
        overrides: changes to the scenario, `key=value` each.
        metrics: columns of the `flows` table; the most uncertain of them decides the repetitions.
        precision: when the repetitions are enough.

    Returns:
        The name of the folder below `options.out`.

    Raises:
        ScenarioError: something is wrong with the scenario.
        CampaignError: a run failed or was interrupted; doing the same again carries on.
        UsageError: the scheduler cannot be reached or used.
    """
    scenario = Scenario.from_file(file).changed(*overrides)
    combinations = scenario.sweep()
    row_label, rows = row_names([values for values, _ in combinations])
    name = file.stem

    def measure(result: Result) -> Mapping[str, float]:
        return {
            f"{flow} {metric}": result.flows.one(metric, flow=flow)
            for flow in result.flows["flow"].tolist()
            for metric in _known(result, metrics)
        }

    with scheduler.opened(options.scheduler, options.jobs) as who:
        campaign = Campaign(
            options.out / name / RECORDS,
            precision=Precision.exactly(1) if options.quick else precision,
            seed=options.seed,
            scheduler=who,
            progress=Silent() if options.quiet else Bar(f"sweep {name}"),
        )
        cases = [Case(row, each, measure) for row, (_, each) in zip(rows, combinations, strict=True)]
        outcomes = campaign.execute(cases)
    details = {
        "title": scenario.document.get("title") or name,
        "row_label": row_label,
        "metrics": list(metrics),
        "command": f"whimbrel sweep {file.name}",
    }
    cells = tuple(cell(row, "", outcomes[row]) for row in rows)
    Plan("sweep", name, TABLE, options.quick, options.seed, campaign.engine, cells, details).write(
        options.out
    )
    return name


def sheet(plan: Plan, out: Path) -> Sheet:
    """The table of a sweep, out of its records."""
    records = Records(out / plan.group / RECORDS)
    wanted: Sequence[str] = plan.details["metrics"]
    made = Sheet(
        key=plan.item,
        title=plan.details["title"],
        rows=[each.row for each in plan.cells],
        columns=[],
        metrics=[_metric(name) for name in wanted],
        source="Sweep",
        row_label=plan.details["row_label"],
        column_label="Flow",
    )
    flows: dict[str, None] = {}
    for each in plan.cells:
        found = results(records, each.keys)
        for flow in found[0].flows["flow"].tolist():
            flows[flow] = None
            for name in wanted:
                unit = _unit(name)
                sample = np.array([result.flows.one(name, flow=flow) for result in found]) * unit.factor
                told = f"{flow} ({each.row})" if len(plan.cells) > 1 else flow
                made.values[each.row, flow, _metric(name).key] = Value(
                    sample, seeds=each.seeds, name=told, unit=unit.unit
                )
    made.columns = list(flows)
    return made


def row_names(combinations: Sequence[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """A label for the rows of a sweep, and the rows.

    With one key the rows are its values, and plain numbers where all share a unit, so that they make an axis:
    `1 Mbit/s`, `2 Mbit/s` become `1`, `2` with the unit in the label. With several, a row names them all.
    """
    keys = list(combinations[0])
    if not keys:
        return "", ["-"]
    if len(keys) > 1:
        rows = [", ".join(f"{key} = {value}" for key, value in each.items()) for each in combinations]
        return ", ".join(keys), rows
    (key,) = keys
    values = [str(each[key]) for each in combinations]
    parts = [re.fullmatch(r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)\s*([^0-9\s]\S*)?", value) for value in values]
    units = {part.group(2) for part in parts if part}
    if all(parts) and len(units) == 1:
        (unit,) = units
        return f"{key} ({unit})" if unit else key, [part.group(1) for part in parts if part]
    return key, values


def _known(result: Result, metrics: Sequence[str]) -> Sequence[str]:
    numbers = [name for name, column in result.flows.items() if column.dtype.kind in "fiub"]
    for metric in metrics:
        if metric not in numbers:
            raise UsageError(f"flows have no metric {metric!r}; they have {', '.join(numbers)}")
    return metrics


def _unit(name: str) -> _Unit:
    return next(unit for unit in _UNITS if name.endswith(unit.suffix))


def _metric(name: str) -> Metric:
    unit = _unit(name)
    key = name.removesuffix(unit.suffix) if unit.suffix else name
    return Metric(key, unit.unit, key.replace("_", " ").capitalize(), unit.digits)
