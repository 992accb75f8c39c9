"""A paper's experiments as data: items, printed numbers and claims.

A paper is a folder `papers/KEY` with

- `scenarios.py`, which defines `PAPER`, a `Paper`; - `expected.csv`, the numbers that the paper prints:
`item,row,column,metric,value`; - `reasons.toml`, reasons for claims that do not hold;
- `README.md`, its claims in words and every departure from it, with the reason.

The folders are found next to the package, in the source tree through a link, in a wheel as files; and
elsewhere: see `whimbrel._base.paper_folders`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from whimbrel._base import documents, paper_folders
from whimbrel._campaigns.jobs import Run
from whimbrel._reproduce.claims import Claim
from whimbrel._reproduce.reasons import read as read_reasons
from whimbrel._show.sheet import Sheet
from whimbrel._simulate.result import Result
from whimbrel._simulate.scenario import Scenario
from whimbrel._values.sheet import Metric, Picture, Place
from whimbrel._values.statistics import FloatArray, Precision
from whimbrel.errors import PaperError, UsageError
from whimbrel.figures import Charts

Expected: TypeAlias = Mapping[str, Mapping[Place, float]]
"""Printed numbers by item and place."""

FirstResult: TypeAlias = Callable[[str, str], Result]
"""Row and column to the result of the cell's first repetition."""


@dataclass(frozen=True)
class Quick:
    """The `--quick` form of an item: a smaller experiment of the same kind.

    Attributes:
        precision: usually fewer repetitions.
        overrides: changes to every scenario, such as `simulation.duration=60 s`.
        rows: only these; all if None.
        columns: only these; all if None.
        by_name: true if the item runs only when it is named, because it takes too long otherwise.
    """

    precision: Precision = field(default_factory=lambda: Precision.exactly(3))
    overrides: tuple[str, ...] = ()
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    by_name: bool = False


@dataclass(frozen=True)
class Derived:
    """A number of a cell from all of its repetitions, such as the number of repetitions needed.

    Attributes:
        metric: that it fills.
        compute: samples of the item's metrics by key, in the order of the repetitions, to the number.
    """

    metric: Metric
    compute: Callable[[Mapping[str, FloatArray]], float]


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper: a scenario for every cell, and the measurements of its runs.

    Cells with the same scenario share their runs, so a run may fill several cells.

    Attributes:
        key: on the command line and in file names, such as `table2`.
        title: its subject, displayed.
        source: such as `Table 2`.
        rows: keys, in order; numbers if they form an axis.
        columns: keys, in order; keys of `papers/style.toml` if they are schemes.
        metrics: in order.
        scenario: row and column to scenario.
        measure: result, row and column to metrics by key; NaN for undefined metrics. Must be cheap: it is
            repeated for every report.
        derived: further numbers of each cell, from all of its repetitions; they have no interval.
        precision: stopping rule of the repetitions.
        quick: the same for `--quick`.
        has: true if row and column have a cell; all have by default.
        run: function that makes a run, if not the simulator alone (a model without packets, a video that is
            decoded); a function of the paper's own modules.
        is_drawn: true if the usual charts are drawn; a table of text by schemes may be clearer without.
        charts: figures besides the usual ones, by name; see `whimbrel.figures`.
        pictures: creates images in the given directory.
        row_label: heading of the rows.
        column_label: heading of the columns.
        note: further information for the reader.
        conclusion: the result of the full form, in a sentence; omitted in a quick pass.
        is_random: true if runs differ by their seed. Otherwise one run suffices, and its number decides
            without an interval.
    """

    key: str
    title: str
    source: str
    rows: Sequence[str]
    columns: Sequence[str]
    metrics: Sequence[Metric]
    scenario: Callable[[str, str], Scenario]
    measure: Callable[[Result, str, str], Mapping[str, float]]
    derived: Sequence[Derived] = ()
    precision: Precision = field(default_factory=Precision)
    quick: Quick = field(default_factory=Quick)
    has: Callable[[str, str], bool] = lambda _row, _column: True
    run: Run | None = None
    is_drawn: bool = True
    charts: Callable[[Sheet], Charts] | None = None
    pictures: Callable[[FirstResult, Path], Sequence[Picture]] | None = None
    row_label: str = ""
    column_label: str = "Scheme"
    note: str = ""
    conclusion: str = ""
    is_random: bool = True

    @property
    def all_metrics(self) -> list[Metric]:
        """The metrics of a run, then the metrics of all repetitions."""
        return [*self.metrics, *(each.metric for each in self.derived)]

    def repetitions(self, *, quick: bool = False) -> Precision:
        """Stopping rule of the item, or of its quick form."""
        if not self.is_random:
            return Precision.exactly(1)
        return self.quick.precision if quick else self.precision

    def scenario_of(self, row: str, column: str, *, quick: bool = False) -> Scenario:
        """The scenario of a cell, of the item or of its quick form."""
        return self.scenario(row, column).changed(*(self.quick.overrides if quick else ()))

    def axes(self, *, quick: bool = False) -> tuple[Sequence[str], Sequence[str]]:
        """Rows and columns of the item, or of its quick form."""
        rows = self.quick.rows if quick and self.quick.rows is not None else self.rows
        columns = self.quick.columns if quick and self.quick.columns is not None else self.columns
        return rows, columns

    def cells(self, *, quick: bool = False) -> list[tuple[str, str]]:
        """Row and column of every cell, by row."""
        rows, columns = self.axes(quick=quick)
        return [(row, column) for row in rows for column in columns if self.has(row, column)]


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes:
        key: name of its folder.
        title: as printed.
        authors: as printed.
        year: of publication; None if the copy at hand has no date.
        about: one or two sentences for readers who do not know it.
        items: its tables and figures.
        claims: its statements that can be checked by numbers.
        headline: keys of the items made by `reproduce` without arguments.
    """

    key: str
    title: str
    authors: str
    year: int | None
    about: str
    items: Sequence[Item]
    claims: Sequence[Claim] = ()
    headline: Sequence[str] = ()

    @property
    def credit(self) -> str:
        """Authors, and the year if it is known."""
        return self.authors if self.year is None else f"{self.authors}, {self.year}"

    def item(self, key: str) -> Item:
        """The item with a key.

        Raises:
            UsageError: unknown key; the message lists the items.
        """
        for item in self.items:
            if item.key == key:
                return item
        raise UsageError(f"paper {self.key} has no item {key!r}; it has {_listed(i.key for i in self.items)}")


def directory() -> Path:
    """The folder that holds the folders of the package's own papers, and `style.toml`."""
    return paper_folders.own()


def folder(key: str) -> Path:
    """The folder of a paper.

    Raises:
        UsageError: unknown paper; the message lists the papers.
    """
    return _located(key).directory


def known() -> list[str]:
    """Keys of the papers that can be reproduced."""
    return list(paper_folders.located())


def _located(key: str) -> paper_folders.Located:
    papers = paper_folders.located()
    if key not in papers:
        raise UsageError(
            f"no paper {key!r}; there are {_listed(papers) or 'none'}; --papers DIR adds those of a folder"
        )
    return papers[key]


def load(key: str) -> Paper:
    """A paper by its key.

    Raises:
        UsageError: unknown paper; the message lists the papers.
        PaperError: its folder is incomplete or inconsistent.
    """
    where = _located(key)
    paper_folders.prepare(where)
    module = importlib.import_module(f"{where.package}.scenarios")
    paper = getattr(module, "PAPER", None)
    if not isinstance(paper, Paper) or paper.key != key:
        raise PaperError(f"{where.directory}/scenarios.py does not define PAPER, a Paper of the key {key!r}")
    reasons = read_reasons(where.directory)
    if unknown := sorted(set(reasons) - {claim.id for claim in paper.claims}):
        raise PaperError(f"{where.directory}/reasons.toml: no claim {_listed(unknown)}")
    paper = replace(
        paper,
        claims=[replace(claim, reason=reasons.get(claim.id, claim.reason)) for claim in paper.claims],
    )
    keys = [item.key for item in paper.items]
    named = {*paper.headline, *(item for claim in paper.claims for item in claim.items)}
    if len(set(keys)) != len(keys) or not named <= set(keys):
        raise PaperError(f"paper {key}: items are named twice or do not exist: {sorted(named - set(keys))}")
    return paper


def expected(paper: Paper) -> Expected:
    """The numbers that the paper prints.

    Raises:
        PaperError: a line of `expected.csv` is not a number, or does not name a place of the paper's items.
    """
    path = folder(paper.key) / "expected.csv"
    numbers: dict[str, dict[Place, float]] = {item.key: {} for item in paper.items}
    if not path.is_file():
        return numbers
    places = {
        item.key: {(row, column, m.key) for row, column in item.cells() for m in item.all_metrics}
        for item in paper.items
    }
    for line in documents.CsvFile(path):
        try:
            place = (line["row"], line["column"], line["metric"])
            item, value = line["item"], float(line["value"])
        except (KeyError, TypeError, ValueError) as error:
            raise PaperError(f"{path}: {line}: {error!r}") from error
        if place not in places.get(item, set()):
            raise PaperError(f"{path}: paper {paper.key} has no place {item}, {', '.join(place)}")
        numbers[item][place] = value
    return numbers


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
