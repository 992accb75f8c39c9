"""A scenario's `[sweep]`: every combination of its values, repeated until the intervals are narrow.

The result is a table with a row per value of the first key, and a column per flow and value of the other
keys; a curve per column, if the rows are numbers. A second table has all runs. Background flows are in
neither, and do not affect the number of repetitions.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel._base import extras
from whimbrel._base.files import replace_text
from whimbrel._campaigns import schedulers
from whimbrel._campaigns.campaign import Campaign, Case, Measure
from whimbrel._campaigns.progress import Bar, Silent
from whimbrel._reproduce import kept_scenario
from whimbrel._reproduce.plan import RECORDS, Plan, cell, results
from whimbrel._reproduce.reproduce import Options
from whimbrel._show.sheet import Sheet
from whimbrel._simulate import simulation
from whimbrel._simulate.records import Records
from whimbrel._simulate.result import Result
from whimbrel._simulate.scenario import Scenario
from whimbrel._simulate.simulation import Examined
from whimbrel._values.columns import metric as metric_of
from whimbrel._values.columns import unit as unit_of
from whimbrel._values.sheet import Value
from whimbrel._values.statistics import Precision
from whimbrel.errors import PaperError, ScenarioError, UsageError, printable

DEFAULT_METRICS = ("goodput_bps", "delay_mean_s")
"""Default columns of the `flows` table for a sweep."""

TABLE = "sweep"
"""Name of the table of a sweep."""

RUNS = "sweep-runs.csv"
RUNS_PARQUET = "sweep-runs.parquet"
"""Name of the file with all runs."""


def simulate(
    file: Path,
    options: Options,
    *,
    overrides: Sequence[str] = (),
    metrics: Sequence[str] = DEFAULT_METRICS,
    precision: Precision | None = None,
    command: str = "",
) -> str:
    """Makes the missing runs of a sweep.

    Args:
        file: the scenario.
        options: of the runs; `quick` makes one repetition of each combination.
        overrides: changes to the scenario, `key=value` each.
        metrics: columns of the `flows` table; the most uncertain of them determines the number of
            repetitions.
        precision: stopping rule of the repetitions.
        command: the command line that repeats the sweep, for the report.

    Returns:
        The name of the folder below `options.out`.

    Raises:
        ScenarioError: the scenario is invalid in one of the combinations; nothing was run.
        CampaignError: a run failed or was interrupted; repeating the call resumes.
        UsageError: the scheduler cannot be used, or flows have no such metric; nothing was run.
    """
    scenario = Scenario.from_file(file).changed(*overrides)
    combinations = scenario.sweep()
    # An error in a value of the sweep names the value; an error in a combination names the combination.
    try:
        simulation.examine(scenario)
    except ScenarioError as error:
        raise ScenarioError(f"{file}: {error}") from error
    names = [case_name(values) for values, _ in combinations]
    examined = [_examined(each, metrics, name) for name, (_, each) in zip(names, combinations, strict=True)]
    name = file.stem

    with schedulers.opened(options.scheduler, options.jobs) as who:
        campaign = Campaign(
            options.out / name / RECORDS,
            precision=Precision.exactly(1) if options.quick else precision,
            seed=options.seed,
            scheduler=who,
            progress=Silent() if options.quiet else Bar(f"sweep {name}"),
        )
        cases = [
            Case(case, each, _measuring(metrics, known.compared), varies=known.is_random)
            for case, (_, each), known in zip(names, combinations, examined, strict=True)
        ]
        outcomes = campaign.execute(cases)
    wanted = campaign.precision
    details = {
        "title": scenario.document.get("title") or name,
        "metrics": list(metrics),
        "command": command or shlex.join(["whimbrel", "sweep", str(file)]),
        "overrides": list(kept_scenario.keep(scenario, options.out / name).overrides),
        "settings": [{key: str(value) for key, value in values.items()} for values, _ in combinations],
        "random": [known.is_random for known in examined],
        "fixed_recordings": list(dict.fromkeys(key for known in examined for key in known.fixed_recordings)),
        "precision": None if options.quick else wanted.relative_error,
        "maximum": wanted.maximum,
    }
    cells = tuple(cell(case, "", outcomes[case]) for case in names)
    Plan("sweep", name, TABLE, options.quick, options.seed, campaign.engine, cells, details).write(
        options.out
    )
    return name


@dataclass(frozen=True)
class Line:
    """The results of a flow in the runs of a combination.

    Attributes:
        settings: the values of the combination by key.
        flow: its name.
        values: by metric, in the order of the sweep's metrics.
        random: true if the runs could differ.
    """

    settings: Mapping[str, str]
    flow: str
    values: Mapping[str, Value]
    random: bool


@dataclass(frozen=True)
class Swept:
    """The results of a sweep, from its records.

    Attributes:
        sheet: its table.
        lines: the same with a line per combination and flow.
        runs: text of the CSV file with a line per run and flow: every column of the `flows` table.
        notes: notes of its runs, without duplicates.
    """

    sheet: Sheet
    lines: tuple[Line, ...]
    runs: str
    notes: tuple[str, ...]


def read(plan: Plan, out: Path) -> Swept:
    """The results of a sweep.

    Raises:
        PaperError: a record is missing or damaged, or the plan is of another version.
    """
    records = Records(out / plan.group / RECORDS)
    try:
        wanted: Sequence[str] = plan.details["metrics"]
        settings = [_printable(each) for each in plan.details["settings"]]
        random: Sequence[bool] = plan.details["random"]
    except KeyError as error:
        raise PaperError(
            f"{out / plan.group} holds a sweep of another version, without {error}: repeat it"
        ) from error
    lines: list[Line] = []
    notes: dict[str, None] = {}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head: list[str] | None = None
    for each, setting, varies in zip(plan.cells, settings, random, strict=True):
        found = results(records, each.keys)
        for seed, result in zip(each.seeds, found, strict=True):
            notes |= dict.fromkeys(_notes(result))
            flows = result.flows
            # Combinations may have different columns: all get the columns of the first.
            if head is None:
                head = [column for column in flows if column not in ("flow", "background")]
                writer.writerow([*setting, "seed", "flow", *head])
            for row in compared(result):
                cells = [_plain(flows[column][row]) if column in flows else "" for column in head]
                writer.writerow([*setting.values(), seed, printable(str(flows["flow"][row])), *cells])
        # Programs of an emulation do not send in both directions in each run.
        common = set.intersection(*({str(name) for name in result.flows["flow"]} for result in found))
        for row in compared(found[0]):
            flow = str(found[0].flows["flow"][row])
            if flow not in common:
                continue
            values = {}
            for name in wanted:
                unit = unit_of(name)
                sample = np.array([result.flows.one(name, flow=flow) for result in found]) * unit.factor
                label = printable(f"{flow} ({each.row})" if len(plan.cells) > 1 else flow)
                values[name] = Value(sample, seeds=each.seeds, name=label, unit=unit.unit)
            lines.append(Line(setting, printable(flow), values, varies))
    sheet = _sheet(plan, lines, wanted)
    about = [unreached(plan, lines), _once(lines), _one_path(plan, lines)]
    sheet.note = " ".join([*filter(None, about), *notes])
    return Swept(sheet, tuple(lines), text.getvalue(), tuple(notes))


def write_runs(swept: Swept, directory: Path) -> None:
    """Writes the file with all runs."""
    replace_text(directory / RUNS, swept.runs)


def check_parquet() -> None:
    """Checks before the first run that Parquet can be written.

    Raises:
        MissingExtra: polars is not installed.
    """
    extras.load("polars", "tables", "--parquet")


def write_parquet(swept: Swept, directory: Path) -> None:
    """Writes all runs as Parquet, with the columns of the CSV file and numeric types.

    Raises:
        MissingExtra: polars is not installed.
        UsageError: the file cannot be written.
    """
    polars = extras.load("polars", "tables", "--parquet")
    # A column may contain its first number far down.
    table = polars.read_csv(io.BytesIO(swept.runs.encode()), infer_schema_length=None)
    # Concurrent readers see the previous file or the new one.
    begun = directory / f"{RUNS_PARQUET}.tmp"
    try:
        table.write_parquet(begun)
        begun.replace(directory / RUNS_PARQUET)
    except OSError as error:
        raise UsageError(f"{directory / RUNS_PARQUET} cannot be written: {error}") from error


def document(plan: Plan, swept: Swept) -> list[dict[str, Any]]:
    """The results as JSON: an entry for each combination, flow and metric.

    `mean`, `low` and `high` (the bounds of the 95 % interval) are null where they are not defined, and the
    bounds also where all runs are identical.
    """
    found = []
    for line in swept.lines:
        for name, value in line.values.items():
            metric, interval = metric_of(name), value.interval
            bounds = interval is not None and interval.n > 1 and not interval.is_identical
            found.append(
                {
                    "settings": dict(line.settings),
                    "flow": line.flow,
                    "metric": metric.key,
                    "unit": metric.unit,
                    "mean": None if interval is None else interval.mean,
                    "low": interval.low if interval is not None and bounds else None,
                    "high": interval.high if interval is not None and bounds else None,
                    "runs": len(value.seeds),
                    "defined": 0 if interval is None else interval.n,
                    "identical": interval is not None and interval.is_identical,
                    "wide": wide(plan, line, name),
                }
            )
    return found


def wide(plan: Plan, line: Line, metric: str) -> bool:
    """True if an interval is wider than required."""
    wanted = plan.details.get("precision")
    if wanted is None or not line.random:
        return False
    interval = line.values[metric].interval
    return interval is not None and not Precision(float(wanted)).is_met_by(interval)


def unreached(plan: Plan, lines: Sequence[Line]) -> str:
    """A sentence on the intervals that are wider than required; empty without any."""
    places = [(line, metric) for line in lines for metric in line.values if wide(plan, line, metric)]
    if not places:
        return ""
    total = sum(len(line.values) for line in lines)
    return (
        f"{len(places)} of {total} intervals are wider than ±{100 * plan.details['precision']:g} % of the"
        f" mean after {plan.details['maximum']} runs."
    )


def case_name(settings: Mapping[str, Any]) -> str:
    """The name of a combination: its only value, or `KEY = VALUE, ...`."""
    if len(settings) == 1:
        return str(next(iter(settings.values())))
    return ", ".join(f"{key} = {value}" for key, value in settings.items()) or "-"


def axis(key: str, values: Sequence[str]) -> tuple[str, list[str]]:
    """A label for the values of a key, and the values without the label's unit.

    The values become plain numbers if all share a unit, so that they form an axis: `1 Mbit/s`, `2 Mbit/s`
    become `1`, `2` with the unit in the label.
    """
    parts = [re.fullmatch(r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)\s*([^0-9\s]\S*)?", value) for value in values]
    units = {part.group(2) for part in parts if part}
    if all(parts) and len(units) == 1:
        (unit,) = units
        return f"{key} ({unit})" if unit else key, [part.group(1) for part in parts if part]
    return key, list(values)


def _printable(setting: Mapping[str, str]) -> dict[str, str]:
    """The names of a combination for tables and files, which a spreadsheet shows as well."""
    return {printable(key): printable(value) for key, value in setting.items()}


def _sheet(plan: Plan, lines: Sequence[Line], wanted: Sequence[str]) -> Sheet:
    """The first key determines the rows, flows and the other keys the columns."""
    first, *others = list(lines[0].settings) or [""]
    several_flows = len({line.flow for line in lines}) > 1
    values = list(dict.fromkeys(line.settings.get(first, "-") for line in lines))
    label, rows = axis(first, values)
    shown = dict(zip(values, rows, strict=True))
    made = Sheet(
        key=plan.item,
        title=printable(str(plan.details["title"])),
        rows=rows,
        columns=[],
        metrics=[metric_of(name) for name in wanted],
        source="Sweep",
        row_label=label,
        column_label=others[0] if len(others) == 1 and not several_flows else "Flow",
    )
    columns: dict[str, None] = {}
    for line in lines:
        row = shown[line.settings.get(first, "-")]
        if several_flows or len(others) != 1:
            parts = [line.flow] if several_flows or not others else []
            column = ", ".join([*parts, *(f"{key} = {line.settings[key]}" for key in others)])
        else:
            column = line.settings[others[0]]
        columns[column] = None
        made.more[row, column] = {**line.settings, "flow": line.flow}
        for name, value in line.values.items():
            made.values[row, column, metric_of(name).key] = value
    made.columns = list(columns)
    return made


def _examined(scenario: Scenario, metrics: Sequence[str], name: str) -> Examined:
    """Checks a combination: the scenario, and the metrics of its flows."""
    try:
        found = simulation.examine(scenario, case=True)
    except ScenarioError as error:
        raise ScenarioError(f"{name}: {error}") from error
    for metric in metrics:
        if metric not in found.metrics:
            raise UsageError(
                f"flows have no metric {metric!r} with {name}; they have {', '.join(found.metrics)}"
            )
    if not found.compared:
        raise UsageError(f"{name}: there is no flow to compare: all are marked as background")
    return found


def _measuring(metrics: Sequence[str], flows: Sequence[str]) -> Measure:
    def measure(result: Result) -> Mapping[str, float]:
        return {
            f"{flow} {metric}": result.flows.one(metric, flow=flow) for flow in flows for metric in metrics
        }

    return measure


def compared(result: Result) -> Iterator[int]:
    """The rows of the flows that are not background."""
    flows = result.flows
    scenery = flows["background"] if "background" in flows else np.zeros(flows.rows)
    return (row for row in range(flows.rows) if not scenery[row])


def _notes(result: Result) -> Iterator[str]:
    table = result.tables.get("notes")
    if table is None:
        return
    for row in range(table.rows):
        # Without the time, which may differ from run to run.
        yield printable(f"{table['subject'][row]}: {table['note'][row]}.")


def _once(lines: Sequence[Line]) -> str:
    fixed = sum(not line.random for line in lines)
    if not fixed:
        return ""
    which = "Nothing in these runs is random" if fixed == len(lines) else "Some combinations are not random"
    return f"{which}: they were run once, and their numbers have no interval."


def _one_path(plan: Plan, lines: Sequence[Line]) -> str:
    """A sentence on recordings that all repetitions meet alike; empty without any, or without repetitions."""
    fixed = plan.details.get("fixed_recordings")
    if not fixed or not any(line.random for line in lines):
        return ""
    return (
        f"Every run meets the recording {' and '.join(fixed)} from its beginning, so that the intervals say"
        ' nothing about other parts of it; start = "random" varies it.'
    )


def _plain(value: Any) -> str:  # noqa: ANN401 - a numpy scalar or a word
    """The shortest digits that read back as the same number; `NaN` for none."""
    if isinstance(value, np.floating):
        return "NaN" if np.isnan(value) else repr(float(value))
    return str(value)
