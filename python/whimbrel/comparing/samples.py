"""Results on disk as samples: one number per repetition, by place and metric.

A place is a flow, a link, a cell of a campaign or an entry of a JSON file. Repetitions of simulations have
seeds; repetitions of measurements have none.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel._base import documents, texts
from whimbrel._reproduce import plan as plans
from whimbrel._simulate import record_format
from whimbrel._simulate.records import Records
from whimbrel._simulate.result import Result
from whimbrel._values.sheet import Value
from whimbrel.errors import InputError

DEFAULT_METRICS = (
    "goodput_bps",
    "delay_mean_s",
    "delay_p95_s",
    "jitter_s",
    "loss_ratio",
    "retransmitted_packets",
)
"""Columns of the flows of a run that are compared unless others are named; `loss_ratio` is computed here."""

_LOST = ("lost_queue", "lost_wireless", "lost_down", "lost_other")
_LABELS = ("flow", "link", "scheme", "classifier", "bottleneck", "from", "to", "background", "host", "seed")
"""Columns that name a row instead of measuring it."""
_NAMES = ("name", "part", "case", "title", "id", "flow", "scheme")
"""Fields by which an entry of a JSON list is known, the first that it has."""
_MOST_VALUES = 100_000
"""Places and metrics that a JSON file may have."""


@dataclass
class Samples:
    """The numbers of a result.

    Attributes:
        name: as given.
        kind: `campaign`, `run` or `json`.
        values: number by (place, metric) and repetition; repetitions are seeds, or numbers below zero if they
            have none.
        every_metric: true if all metrics are compared by default.
    """

    name: str
    kind: str
    values: dict[tuple[str, str], dict[int, float]] = field(default_factory=dict)
    every_metric: bool = False

    @property
    def runs(self) -> int:
        """The largest number of repetitions of a number."""
        return max((len(each) for each in self.values.values()), default=0)

    def add(self, place: str, metric: str, repetition: int, value: float) -> None:
        """Adds the number of a repetition."""
        self.values.setdefault((place, metric), {})[repetition] = value

    def value(self, key: tuple[str, str]) -> Value:
        """The number at a place, with its seeds if it has any."""
        found = self.values[key]
        has_seeds = all(repetition >= 0 for repetition in found)
        seeds = tuple(found) if has_seeds else ()
        return Value(np.asarray(list(found.values()), dtype=np.float64), seeds=seeds, name=key[1])


def read(path: Path) -> Samples:
    """Reads a result.

    Args:
        path: the directory of a campaign (`sweep` or `reproduce`, or one folder of it), of records, of the
            tables of a run (`run --out`), of several runs or JSON files, which are repetitions; or a file:
            the JSON of a run or of anything else, the CSV of all runs of a sweep, or a record.

    Raises:
        InputError: it does not exist, or has no numbers.
        WhimbrelError: a record or a plan is damaged.
    """
    samples = Samples(str(path), "json")
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_dir():
        _read_directory(samples, path)
    else:
        _read_file(samples, path, -1)
    for (place, metric), numbers in samples.values.items():
        if math.inf in map(abs, numbers.values()):
            where = f"{metric} of {place}" if place else metric
            raise InputError(f"{path}: {where} is infinite: expected finite numbers")
    if not samples.values:
        raise InputError(f"{path} holds no numbers to compare: {_EXPECTED}")
    return samples


_EXPECTED = (
    "expected the directory of `sweep`, `reproduce` or `run --out`, records, a run's JSON,"
    " or a JSON file of numbers"
)


def _read_directory(samples: Samples, path: Path) -> None:
    campaign = plans.read_plans(path) if list(path.glob(f"*/{plans.RECORDS}/*.plan.json")) else {}
    if (path / "flows.csv").is_file() and sum(plan.runs for each in campaign.values() for plan in each) < 2:
        # The plan of an emulation has the same run again, or others that the tables do not have.
        _read_run_tables(samples, path, -1)
    elif campaign:
        _read_campaign(samples, path, campaign)
    elif list(path.glob(f"{plans.RECORDS}/*.plan.json")):
        read_plans = plans.read_plans(path.parent)
        _read_campaign(samples, path.parent, {path.name: read_plans[path.name]})
    elif list(path.glob("*.record")) or list(path.glob(f"{plans.RECORDS}/*.record")):
        directory = path if list(path.glob("*.record")) else path / plans.RECORDS
        for file in sorted(directory.glob("*.record")):
            _read_record(samples, file)
    else:
        _read_repetitions(samples, path)


def _read_repetitions(samples: Samples, path: Path) -> None:
    """Runs and JSON files of a directory, in the order of their names."""
    number = 0
    for each in sorted(path.iterdir()):
        if each.is_dir() and (each / "flows.csv").is_file():
            number += 1
            _read_run_tables(samples, each, -number)
        elif each.suffix == ".json" and each.is_file():
            number += 1
            _read_file(samples, each, -number)


def _read_campaign(samples: Samples, out: Path, groups: Mapping[str, Sequence[plans.Plan]]) -> None:
    samples.kind = "campaign"
    for group, listed in groups.items():
        records = Records(out / group / plans.RECORDS)
        # A run that fills cells of several tables is compared once.
        seen: set[str] = set()
        for plan in listed:
            for cell in plan.cells:
                names = [name for name in (cell.row, cell.column) if name]
                if plan.kind != "sweep":
                    names.insert(0, plan.item)
                # Two sweeps may have the same combinations.
                if len(groups) > 1:
                    names = [group, *(name for name in names if name != "-")]
                where = ", ".join(names)
                new = [each for each in zip(cell.seeds, cell.keys, strict=True) if each[1] not in seen]
                seen.update(cell.keys)
                for seed, key in new:
                    (result,) = plans.results(records, [key])
                    _add_result(samples, where, seed, result)


def _read_record(samples: Samples, file: Path) -> None:
    """A record without a plan: its description has case and seed."""
    samples.kind = "campaign"
    key = file.name.removesuffix(".record")
    result = Records(file.parent).load(key)
    if result is None:
        raise InputError(f"{file} cannot be read")
    about = record_format.about(file.read_bytes())
    _add_result(samples, str(about.get("case", "")), int(about.get("seed", -1)), result)


def _add_result(samples: Samples, where: str, repetition: int, result: Result) -> None:
    for name in ("flows", "links"):
        if name in result.tables:
            table = result.tables[name]
            rows = [{column: table[column][row] for column in table} for row in range(table.rows)]
            _add_rows(samples, where, repetition, name, rows)


def _read_run_tables(samples: Samples, path: Path, repetition: int) -> None:
    samples.kind = "run"
    for name in ("flows", "links"):
        file = path / f"{name}.csv"
        if file.is_file():
            _add_rows(samples, "", repetition, name, _csv_rows(file))


def _csv_rows(file: Path) -> Iterator[dict[str, str]]:
    """The rows of a table, none of which is kept."""
    try:
        yield from documents.CsvFile(file)
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def _add_rows(
    samples: Samples, where: str, repetition: int, table: str, rows: Iterable[Mapping[str, Any]]
) -> None:
    """Rows of the flows or links of a run. The metrics of links have the table's name before theirs."""
    named = "flow" if table == "flows" else "link"
    prefix = "" if table == "flows" else f"{table}."
    for row in rows:
        if table == "flows" and str(row.get("background", "0")) in ("1", "1.0", "True", "true"):
            continue
        place = ", ".join(part for part in (where, str(row.get(named, ""))) if part)
        for column, cell in row.items():
            if column in _LABELS or (value := _number(cell)) is None:
                continue
            samples.add(place, prefix + column, repetition, value)
        parts = [_number(row.get(column)) for column in _LOST]
        sent = _number(row.get("sent_packets"))
        if table == "flows" and sent and None not in parts:
            samples.add(place, "loss_ratio", repetition, sum(part or 0.0 for part in parts) / sent)


def _number(value: object) -> float | None:
    """A number; NaN for an empty cell, None for a text."""
    if value is None or value == "":
        return math.nan
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, float, np.integer, np.floating)):
        # A whole number of JSON may be larger than any float.
        with contextlib.suppress(OverflowError):
            return float(value)
        return math.inf
    try:
        return float(str(value))
    except ValueError:
        return None


def _read_file(samples: Samples, file: Path, repetition: int) -> None:
    if file.suffix == ".record":
        _read_record(samples, file)
        return
    if file.suffix == ".csv":
        _read_sweep_runs(samples, file)
        return
    document = _json(file)
    if isinstance(document, dict) and isinstance(document.get("tables"), dict):
        samples.kind = "run"
        seed = document.get("seed", repetition)
        for name in ("flows", "links"):
            columns = document["tables"].get(name, {})
            rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            _add_rows(samples, "", int(seed), name, rows)
        return
    samples.every_metric = True
    for count, (place, metric, numbers) in enumerate(_leaves(document, ())):
        if count >= _MOST_VALUES:
            raise InputError(f"{file} has more than {_MOST_VALUES} numbers")
        if len(numbers) == 1:
            samples.add(place, metric, repetition, numbers[0])
        else:
            for index, number in enumerate(numbers):
                samples.add(place, metric, -1 - index, number)


def _read_sweep_runs(samples: Samples, file: Path) -> None:
    """The table of all runs of a sweep: settings, seed, flow, then the columns of the flows."""
    samples.kind = "campaign"
    rows = _csv_rows(file)
    first = next(rows, {})
    if not {"seed", "flow"} <= first.keys():
        raise InputError(f"{file}: expected the columns `seed` and `flow`, as of a sweep-runs.csv")
    columns = list(first)
    settings = columns[: columns.index("seed")]
    for row in itertools.chain([first], rows):
        where = ", ".join(f"{key} = {row[key]}" for key in settings)
        seed = _number(row["seed"])
        if seed is None or math.isnan(seed):
            raise InputError(f"{file}: {row['seed']!r} is not a seed")
        measured = {name: value for name, value in row.items() if name not in settings}
        _add_rows(samples, where, int(seed), "flows", [measured])


def _json(file: Path) -> Any:  # noqa: ANN401 - any JSON value
    try:
        text = texts.read(file, documents.MOST_JSON_BYTES)
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    try:
        return documents.json_value(text)
    except ValueError as error:
        if "\n" not in text.strip():
            raise InputError(f"{file} is not JSON: {error}") from error
    try:
        return [documents.json_value(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(f"{file} is not JSON: {error}") from error


def _leaves(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, str, list[float]]]:
    """The numbers of a JSON value: place, metric, and one number or, of a list, its repetitions."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, (*path, str(key)))
    elif isinstance(value, list):
        numbers = [_number(each) for each in value if not isinstance(each, (str, list, dict))]
        if value and len(numbers) == len(value) and None not in numbers:
            yield from _leaf(path, [number for number in numbers if number is not None])
            return
        for index, each in enumerate(value):
            yield from _leaves(each, (*path, _entry_name(each, index)))
    elif isinstance(value, (int, float)) and (number := _number(value)) is not None:
        yield from _leaf(path, [number])


def _leaf(path: tuple[str, ...], numbers: list[float]) -> Iterator[tuple[str, str, list[float]]]:
    *place, metric = path or ("value",)
    yield "/".join(place), metric, numbers


def _entry_name(entry: object, index: int) -> str:
    if isinstance(entry, Mapping):
        for name in _NAMES:
            if isinstance(entry.get(name), str):
                return str(entry[name])
    return str(index)
