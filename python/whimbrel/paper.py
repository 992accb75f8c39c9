"""A paper's experiments as data: its items, its printed numbers, its claims.

A paper is a folder `papers/KEY` with

- `scenarios.py`, which defines `PAPER`, a `Paper`;
- `expected.csv`, the numbers that the paper prints: `item,row,column,metric,value`;
- `reasons.toml`, why claims do not hold: see `whimbrel.reasons`;
- `README.md`, its claims in words and every departure from it, with the reason.

The folders are found beside the package: in the source tree through a link, in a wheel as files.
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from whimbrel.claims import Claim
from whimbrel.errors import PaperError, UsageError
from whimbrel.figures import Charts
from whimbrel.jobs import Run
from whimbrel.reasons import read as read_reasons
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Picture, Place, Sheet
from whimbrel.statistics import Precision

Expected: TypeAlias = Mapping[str, Mapping[Place, float]]
"""Printed numbers by item and place."""

FirstResult: TypeAlias = Callable[[str, str], Result]
"""Row and column to the result of the cell's first repetition."""


@dataclass(frozen=True)
class Quick:
    """What `--quick` makes of an item: a smaller experiment of the same kind.

    Attributes:
        precision: usually fewer repetitions.
        overrides: changes to every scenario, such as `simulation.duration=60 s`.
        rows: only these; all when None.
        columns: only these; all when None.
        by_name: only when the item is named; for items that are not worth the seconds otherwise.
    """

    precision: Precision = field(default_factory=lambda: Precision.exactly(3))
    overrides: tuple[str, ...] = ()
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    by_name: bool = False


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper: a scenario for every cell, and what to read off its runs.

    Cells with the same scenario share their runs, so a run may fill several cells.

    Attributes:
        key: on the command line and in file names, such as `table2`.
        title: what it shows, for people.
        source: such as `Table 2`.
        rows: keys, in order; numbers where they make an axis.
        columns: keys, in order; keys of `papers/style.toml` where they are schemes.
        metrics: in order.
        scenario: row and column to scenario.
        measure: result, row and column to metrics by key; NaN for what the run leaves undefined. Cheap: it is
            done again whenever the report is.
        precision: when the repetitions are enough.
        quick: the same for `--quick`.
        has: whether row and column have a cell; all have unless told otherwise.
        run: what makes a run, when not the simulator alone (a model without packets, a video that is
            decoded); a function of the paper's own modules.
        is_drawn: whether the usual charts are made; a table of words by schemes may say more without.
        charts: figures besides the usual ones, by name; see `whimbrel.figures`.
        pictures: makes images in the directory that it is given.
        row_label: what the rows are.
        column_label: what the columns are.
        note: what else a reader should know.
        conclusion: what the full form comes to, in a sentence; left out of a quick pass.
        is_random: whether runs differ by their seed. Where they do not, one run says all, and its number is
            judged without an interval.
    """

    key: str
    title: str
    source: str
    rows: Sequence[str]
    columns: Sequence[str]
    metrics: Sequence[Metric]
    scenario: Callable[[str, str], Scenario]
    measure: Callable[[Result, str, str], Mapping[str, float]]
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

    def repetitions(self, *, quick: bool = False) -> Precision:
        """When the repetitions of the item, or of its quick form, are enough."""
        if not self.is_random:
            return Precision.exactly(1)
        return self.quick.precision if quick else self.precision

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
        year: of publication.
        about: one or two sentences for somebody who has not read it.
        items: its tables and figures.
        claims: its sentences that numbers can judge.
        headline: keys of the items that `reproduce` without further words makes.
    """

    key: str
    title: str
    authors: str
    year: int
    about: str
    items: Sequence[Item]
    claims: Sequence[Claim] = ()
    headline: Sequence[str] = ()

    def item(self, key: str) -> Item:
        """The item of that key.

        Raises:
            UsageError: there is none; the message lists them.
        """
        for item in self.items:
            if item.key == key:
                return item
        raise UsageError(f"paper {self.key} has no item {key!r}; it has {_listed(i.key for i in self.items)}")


def directory() -> Path:
    """The folder that holds the papers' folders and `style.toml`."""
    return Path(__file__).with_name("papers")


def known() -> list[str]:
    """Keys of the papers that can be reproduced."""
    return sorted(path.parent.name for path in directory().glob("*/scenarios.py"))


def load(key: str) -> Paper:
    """A paper by its key.

    Raises:
        UsageError: there is no such paper; the message lists them.
        PaperError: its folder is not as it should be.
    """
    if key not in known():
        raise UsageError(f"no paper {key!r}; there are {_listed(known()) or 'none'}")
    module = importlib.import_module(f"whimbrel.papers.{key}.scenarios")
    paper = getattr(module, "PAPER", None)
    if not isinstance(paper, Paper) or paper.key != key:
        raise PaperError(f"papers/{key}/scenarios.py does not define PAPER, a Paper of the key {key!r}")
    reasons = read_reasons(directory() / key)
    if unknown := sorted(set(reasons) - {claim.id for claim in paper.claims}):
        raise PaperError(f"papers/{key}/reasons.toml: no claim {_listed(unknown)}")
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
        PaperError: a line of `expected.csv` is no number, or names no place of the paper's items.
    """
    path = directory() / paper.key / "expected.csv"
    numbers: dict[str, dict[Place, float]] = {item.key: {} for item in paper.items}
    if not path.is_file():
        return numbers
    places = {
        item.key: {(row, column, m.key) for row, column in item.cells() for m in item.metrics}
        for item in paper.items
    }
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
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
