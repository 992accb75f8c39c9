"""A table of results: printed numbers, our numbers and their intervals.

Everything in the report is a sheet on disk, so that it can be rebuilt, compared and processed by scripts:
`NAME.csv` holds the numbers and `NAME.json` their descriptions.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from whimbrel._base import documents
from whimbrel._base.files import replace_text
from whimbrel._values.statistics import FloatArray, Interval, defined, student_interval
from whimbrel.errors import WhimbrelError

COLUMNS = ("row", "column", "metric", "unit", "paper", "ours", "ci_low", "ci_high", "n")
"""The columns of `NAME.csv`, which external scripts read."""

Place: TypeAlias = tuple[str, str, str]
"""Row, column and metric."""


Bounds: TypeAlias = tuple[float | None, float | None]
"""Least and greatest value that a metric can have; None for an open side."""

SHARE: Bounds = (0.0, 100.0)
"""Of a part of a whole in percent."""
POSITIVE: Bounds = (0.0, None)
"""Of counts, rates and times."""
UNBOUNDED: Bounds = (None, None)
"""Of differences."""

_BOUNDS: Mapping[str, Bounds] = {"%": SHARE} | dict.fromkeys(
    ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "MB/s", "kB", "bytes", "packets", "ms", "s"), POSITIVE
)


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured quantity.

    Attributes:
        key: in files and code, such as `throughput`.
        unit: such as `%` or `kbit/s`; empty for a plain number.
        label: displayed; a word or two.
        digits: decimal places in the report; files hold all.
        title: name of the metric away from the sheet, as in a chart's title; empty if `label` is enough.
        bounds: range of the possible values; None for the unit's range: 0 to 100 for percent, 0 and more for
            rates, times and counts. Figures draw neither axes nor intervals beyond them.
    """

    key: str
    unit: str
    label: str
    digits: int = 1
    title: str = ""
    bounds: Bounds | None = None

    @property
    def limits(self) -> Bounds:
        """The bounds, or the unit's bounds."""
        return _BOUNDS.get(self.unit, UNBOUNDED) if self.bounds is None else self.bounds


@dataclass(frozen=True)
class Value:
    """One number of a sheet.

    Attributes:
        sample: one value per repetition, in the metric's unit; NaN if the run left it undefined.
        paper: the printed number; None if there is none.
        seeds: of the repetitions, in the same order; empty for numbers without a seed.
        name: displayed, such as `ZigZag`.
        unit: of the number.
        source: the sheet it belongs to, such as `Table 2`; shown if names alone are ambiguous.
        is_exact: true without any randomness, so that one run suffices.
        cells: item, row and column of the runs it comes from; more runs of these narrow its interval.
    """

    sample: FloatArray
    paper: float | None = None
    seeds: tuple[int, ...] = ()
    name: str = ""
    unit: str = ""
    source: str = ""
    is_exact: bool = False
    cells: frozenset[tuple[str, str, str]] = frozenset()

    @property
    def interval(self) -> Interval | None:
        """Mean and Student's t interval over the repetitions that define the number; None without any."""
        sample = defined(self.sample)
        return student_interval(sample) if sample.size else None

    @property
    def mean(self) -> float:
        """The mean; NaN if no repetition defines it."""
        interval = self.interval
        return math.nan if interval is None else interval.mean


@dataclass(frozen=True, slots=True)
class Picture:
    """An image attached to a sheet.

    Attributes:
        file: name in the sheet's directory.
        caption: its description.
    """

    file: str
    caption: str


@dataclass
class SheetData:
    """The numbers and files of a sheet, which is a table of results.

    Attributes:
        key: name of its files.
        title: its subject.
        source: its origin, such as `Table 2`.
        note: further information for the reader; plain text.
        row_label: heading of the rows, such as `Flows`.
        column_label: heading of the columns, such as `Scheme`.
        rows: in order.
        columns: in order; keys of schemes if they are schemes.
        metrics: in order.
        values: by row, column and metric; places without a number are left out.
        pictures: images that belong to it.
        more: further columns of the CSV file, the same in each line of a row and column: names to text.
    """

    key: str
    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    metrics: Sequence[Metric]
    source: str = ""
    note: str = ""
    row_label: str = ""
    column_label: str = "Scheme"
    values: dict[Place, Value] = field(default_factory=dict)
    pictures: list[Picture] = field(default_factory=list)
    more: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)

    def value(self, column: str, metric: str, row: str | None = None) -> Value:
        """The number at a place.

        Args:
            column: key of the column.
            metric: key of the metric.
            row: optional if there is only one.

        Raises:
            WhimbrelError: there is no number at that place, or there are several rows to choose from.
        """
        if row is None:
            if len(self.rows) != 1:
                raise WhimbrelError(f"{self.key} has {len(self.rows)} rows: expected one of them")
            row = self.rows[0]
        try:
            return self.values[row, column, metric]
        except KeyError:
            raise WhimbrelError(f"{self.key} has no number at {row!r}, {column!r}, {metric!r}") from None

    def places(self) -> Iterable[tuple[Place, Value]]:
        """All numbers, by row, then column, then metric."""
        for row in self.rows:
            for column in self.columns:
                for metric in self.metrics:
                    place = (row, column, metric.key)
                    if place in self.values:
                        yield place, self.values[place]

    @property
    def row_numbers(self) -> list[float] | None:
        """The rows as ascending numbers, to form an axis, if there are several and all are numeric."""
        try:
            numbers = [float(row) for row in self.rows]
        except ValueError:
            return None
        return numbers if len(numbers) > 1 and numbers == sorted(set(numbers)) else None

    def stored(self) -> StoredSheet:
        """The sheet as the report reads it: means and intervals, without samples."""
        entries = {}
        for place, value in self.places():
            interval = value.interval
            ours, low, high = (
                (math.nan, math.nan, math.nan)
                if interval is None
                else (interval.mean, interval.low, interval.high)
            )
            printed = math.nan if value.paper is None else value.paper
            entries[place] = Entry(printed, ours, low, high, 0 if interval is None else interval.n)
        return StoredSheet(self, entries, {})

    def write(self, directory: Path, more: Mapping[str, Any] | None = None) -> None:
        """Writes `KEY.csv` and `KEY.json`.

        Args:
            directory: created if missing.
            more: further entries of the JSON file, such as the origin of the numbers.
        """
        directory.mkdir(parents=True, exist_ok=True)
        replace_text(directory / f"{self.key}.csv", self.csv())
        about = {
            "key": self.key,
            "title": self.title,
            "source": self.source,
            "note": self.note,
            "row_label": self.row_label,
            "column_label": self.column_label,
            "rows": list(self.rows),
            "columns": list(self.columns),
            "metrics": [asdict(metric) for metric in self.metrics],
            "pictures": [asdict(picture) for picture in self.pictures],
            **(more or {}),
        }
        replace_text(directory / f"{self.key}.json", json.dumps(about, indent=1, ensure_ascii=False) + "\n")

    def csv(self) -> str:
        """The text of `KEY.csv`: the shortest digits that read back as the same number; empty for none."""
        units = {metric.key: metric.unit for metric in self.metrics}
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        more = list(next(iter(self.more.values()), {}))
        writer.writerow([*COLUMNS, *more])
        for (row, column, metric), value in self.places():
            interval = value.interval
            numbers = [math.nan] * 3 if interval is None else [interval.mean, interval.low, interval.high]
            n = 0 if interval is None else interval.n
            paper = math.nan if value.paper is None else value.paper
            words = [self.more[row, column][name] for name in more]
            writer.writerow([row, column, metric, units[metric], *map(_digits, [paper, *numbers]), n, *words])
        return text.getvalue()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a `NAME.csv`; NaN for empty fields."""

    paper: float
    ours: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class StoredSheet:
    """A sheet as read back for the report: means and intervals, no samples.

    Attributes:
        sheet: everything but the numbers.
        entries: the numbers.
        about: the whole JSON file.
    """

    sheet: SheetData
    entries: Mapping[Place, Entry]
    about: Mapping[str, Any]


def read_sheet(directory: Path, key: str) -> StoredSheet:
    """Reads `KEY.csv` and `KEY.json`.

    Raises:
        WhimbrelError: one is missing or invalid; the message names the file.
    """
    path = directory / f"{key}.json"
    try:
        about = documents.read_json(path)
        sheet = SheetData(
            key=about["key"],
            title=about["title"],
            rows=about["rows"],
            columns=about["columns"],
            metrics=[_metric(metric) for metric in about["metrics"]],
            source=about["source"],
            note=about["note"],
            row_label=about["row_label"],
            column_label=about["column_label"],
            pictures=[Picture(**picture) for picture in about["pictures"]],
        )
        path = directory / f"{key}.csv"
        entries = {
            (line["row"], line["column"], line["metric"]): Entry(
                paper=_number(line["paper"]),
                ours=_number(line["ours"]),
                low=_number(line["ci_low"]),
                high=_number(line["ci_high"]),
                n=int(line["n"]),
            )
            for line in documents.CsvFile(path)
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WhimbrelError(f"{path}: not a sheet of results: {error!r}") from error
    return StoredSheet(sheet, entries, about)


def value_of(numbers: Sequence[float], **about: Any) -> Value:  # noqa: ANN401 - the fields of Value
    """A value from plain numbers, for sheets without a campaign."""
    return Value(np.asarray(numbers, dtype=np.float64), **about)


def _metric(about: Mapping[str, Any]) -> Metric:
    bounds = about.get("bounds")
    return Metric(**{**about, "bounds": None if bounds is None else tuple(bounds)})


def _digits(number: float) -> str:
    return "" if math.isnan(number) else repr(float(number))


def _number(text: str) -> float:
    return float(text) if text else math.nan
