"""The numbers of a pack as CSV and as Parquet: the tables of the results, and a line for each run."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from whimbrel._base import compiled, documents
from whimbrel._base.files import replace_text
from whimbrel._reproduce import evaluation, paper, sweep
from whimbrel._reproduce.plan import Plan
from whimbrel._show.sheet import Sheet
from whimbrel.errors import UsageError
from whimbrel.packing.contents import Contents, is_sweep


def write(contents: Contents, folder: Path) -> None:
    """Writes `GROUP/ITEM.csv` and `GROUP/ITEM-runs.csv` below a folder, and each as Parquet, too."""
    for group, plans in contents.groups.items():
        (folder / group).mkdir(parents=True, exist_ok=True)
        runs = _of_sweep(plans, contents.out) if is_sweep(plans) else _of_paper(group, plans, contents.out)
        for plan in plans:
            means = (contents.out / group / f"{plan.item}.csv").read_bytes().decode()
            for name, text in ((plan.item, means), (f"{plan.item}-runs", runs[plan.item])):
                path = folder / group / f"{name}.csv"
                replace_text(path, text)
                path.with_suffix(".parquet").write_bytes(parquet(path))


def check_parquet(purpose: str) -> None:
    """Checks before long work that this build writes Parquet.

    Args:
        purpose: the subject of the error's sentence, such as `whimbrel pack`.

    Raises:
        UsageError: the build has no Parquet, as the first build of a source tree.
    """
    try:
        compiled.core().parquet("check", {"number": np.zeros(1)})
    except ValueError as error:
        raise UsageError(f"{purpose} needs Parquet: {error}") from error


def parquet(path: Path) -> bytes:
    """A table of CSV as Parquet.

    A column of whole numbers has unsigned numbers, one of other numbers has NaN where a cell is empty, and
    any other has text.
    """
    table = documents.CsvFile(path)
    cells: dict[str, list[str]] = {name: [] for name in table.columns}
    for row in table:
        for name, column in cells.items():
            column.append(row[name])
    columns = {name: _column(column) for name, column in cells.items()}
    return bytes(compiled.core().parquet(path.stem, columns))


def _column(cells: Sequence[str]) -> object:
    if cells and all(cell.isdecimal() and len(cell) < 19 for cell in cells):
        return np.array([int(cell) for cell in cells], dtype=np.uint64)
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)
    except ValueError:
        return list(cells)


def _of_sweep(plans: Sequence[Plan], out: Path) -> Mapping[str, str]:
    return {plan.item: sweep.read(plan, out).runs for plan in plans}


def _of_paper(key: str, plans: Sequence[Plan], out: Path) -> Mapping[str, str]:
    each = paper.load(key)
    made = evaluation.sheets(each, plans, paper.expected(each), out)
    return {item: _runs(sheet) for item, sheet in made.items()}


def _runs(sheet: Sheet) -> str:
    """A line for each number of each run. Numbers of all repetitions together have none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "column", "metric", "unit", "seed", "value"])
    units = {metric.key: metric.unit for metric in sheet.metrics}
    for (row, column, metric), value in sheet.places():
        for seed, number in zip(value.seeds, value.sample, strict=False):
            cell = "" if np.isnan(number) else repr(float(number))
            writer.writerow([row, column, metric, units[metric], seed, cell])
    return text.getvalue()
