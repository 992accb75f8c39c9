"""First runs of cells that a page's tables quote: a test repeats them to notice that results have changed.

A table holds means of more runs than a test can repeat. Runs are deterministic: if the first run of a cell
gives other numbers than when the table was written, the table is out of date. `papers/KEY/tables.csv` has
for each table a digest of its text, and numbers of first runs: of the cheapest cells that cover its rows and
columns, as far as `SECONDS` reach. A change that only other cells or seeds show is not noticed.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from whimbrel._base import documents
from whimbrel._base.files import replace_text
from whimbrel._campaigns import times
from whimbrel._reproduce.evaluation import measured
from whimbrel._reproduce.paper import Item, Paper
from whimbrel._reproduce.plan import RECORDS, Plan, results
from whimbrel._simulate import simulation
from whimbrel._simulate.records import Records
from whimbrel._simulate.result import Result
from whimbrel.errors import PaperError

FILE = "tables.csv"
SECONDS = 1.0
"""Computing time of the recorded runs of a table; one run may take longer."""
ROUNDING = 1e-9
"""Part of a number by which numpy's sums may differ between processors."""


class FirstRun(NamedTuple):
    """A number of the first run of a cell.

    Attributes:
        table: name of the table that quotes the cell.
        text: digest of the table on the page.
        item: key.
        row: of the item.
        column: of the item.
        metric: key.
        seed: of the run.
        value: in the unit of the metric; may be NaN.
    """

    table: str
    text: str
    item: str
    row: str
    column: str
    metric: str
    seed: int
    value: float

    def is_close(self, value: float) -> bool:
        """True if another run gave the same number."""
        both_undefined = math.isnan(self.value) and math.isnan(value)
        return both_undefined or math.isclose(self.value, value, rel_tol=ROUNDING)


class Quoted(NamedTuple):
    """A number that a cell of a page's table quotes.

    Attributes:
        line: number of the row on the page.
        head: number of the column on the page.
        item: key.
        row: of the item.
        column: of the item.
        metric: key.
    """

    line: int
    head: int
    item: str
    row: str
    column: str
    metric: str


def digest(text: str) -> str:
    """Identity of the text of a table."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(directory: Path) -> list[FirstRun]:
    """The recorded numbers of a paper; empty without a file.

    Args:
        directory: of the paper.

    Raises:
        PaperError: a line of the file is not such a number.
    """
    path = directory / FILE
    if not path.is_file():
        return []
    try:
        return [
            FirstRun(
                table=line["table"],
                text=line["text"],
                item=line["item"],
                row=line["row"],
                column=line["column"],
                metric=line["metric"],
                seed=int(line["seed"]),
                value=float(line["value"]),
            )
            for line in documents.CsvFile(path)
        ]
    except (OSError, ValueError, KeyError) as error:
        raise PaperError(f"{path}: expected the columns {', '.join(FirstRun._fields)}: {error!r}") from error


def write(directory: Path, numbers: Iterable[FirstRun]) -> None:
    """Writes the numbers of a paper.

    Args:
        directory: of the paper.
        numbers: of all of its tables, in their order.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FirstRun._fields)
    writer.writerows([*number[:-1], repr(number.value)] for number in numbers)
    replace_text(directory / FILE, text.getvalue())


def made(
    table: str,
    text: str,
    quoted: Sequence[Quoted],
    items: Iterable[Item],
    plans: Iterable[Plan],
    directory: Path,
) -> list[FirstRun]:
    """The numbers to record of a table, from records.

    Args:
        table: its name.
        text: of the table on the page.
        quoted: all that it quotes.
        items: of the paper.
        plans: of these items.
        directory: of the paper's results.

    Raises:
        PaperError: a record is missing or damaged.
    """
    cells = {(plan.item, cell.row, cell.column): cell for plan in plans for cell in plan.cells}
    by_key = {item.key: item for item in items}
    by_run: dict[str, list[Quoted]] = {}
    for one in quoted:
        if one.metric in {metric.key for metric in by_key[one.item].metrics}:
            by_run.setdefault(cells[one.item, one.row, one.column].keys[0], []).append(one)
    found = []
    records = Records(directory / RECORDS)
    for key in _cheapest(by_run, times.read(records.directory)):
        (result,) = results(records, [key])
        for one in by_run[key]:
            value = measured(by_key[one.item], result, one.row, one.column)[one.metric]
            seed = cells[one.item, one.row, one.column].seeds[0]
            found.append(FirstRun(table, digest(text), *one[2:], seed, value))
    return list(dict.fromkeys(found))


def _cheapest(by_run: Mapping[str, Sequence[Quoted]], seconds: Mapping[str, float]) -> Iterator[str]:
    """The cheapest runs that cover the rows and columns of a table, as far as `SECONDS` reach."""
    covered: set[tuple[str, int]] = set()
    spent = 0.0
    for key in sorted(by_run, key=lambda key: seconds.get(key, math.inf)):
        lines = {("line", one.line) for one in by_run[key]} | {("head", one.head) for one in by_run[key]}
        if lines <= covered:
            continue
        spent += seconds.get(key, math.inf)
        if covered and spent > SECONDS:
            return
        covered |= lines
        yield key


def again(each: Paper, numbers: Iterable[FirstRun]) -> Iterator[tuple[FirstRun, float]]:
    """The recorded numbers that the code no longer gives, with the present ones.

    Args:
        each: the paper.
        numbers: recorded of its tables.
    """
    known: dict[tuple[str, int], Result] = {}
    for number in numbers:
        item = each.item(number.item)
        scenario = item.scenario_of(number.row, number.column)
        run = (scenario.digest(), number.seed)
        if run not in known:
            known[run] = (item.run or simulation.run)(scenario, number.seed)
        value = measured(item, known[run], number.row, number.column)[number.metric]
        if not number.is_close(value):
            yield number, value
