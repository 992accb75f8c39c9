"""Plans, which link runs to results: the records that fill each cell of a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from whimbrel._base import documents
from whimbrel._base.files import replace_text
from whimbrel._campaigns.outcomes import Outcome
from whimbrel._simulate.records import Records
from whimbrel._simulate.result import Result
from whimbrel.errors import PaperError, RecordError

RECORDS = "records"
"""Name of the folder with records and plans, in the folder of a paper or sweep."""

_SUFFIX = ".plan.json"


@dataclass(frozen=True)
class Cell:
    """One cell, or one row if a run fills a whole row.

    Attributes:
        row: key of the row.
        column: key of the column; empty for all of a row.
        seeds: of the repetitions.
        keys: of their records, in the same order.
    """

    row: str
    column: str
    seeds: tuple[int, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The runs of one table.

    Attributes:
        kind: `paper` or `sweep`.
        group: name of the folder: the paper's key, or the sweep's name.
        item: name of the table.
        quick: true for the smaller form.
        seed: of the first repetition.
        engine: identity of the code that made the runs.
        cells: in order.
        details: further data, depending on the kind.
    """

    kind: str
    group: str
    item: str
    quick: bool
    seed: int
    engine: str
    cells: tuple[Cell, ...]
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """Number of different runs."""
        return len({key for cell in self.cells for key in cell.keys})

    def write(self, out: Path) -> None:
        """Writes the plan below `out`."""
        path = out / self.group / RECORDS / f"{self.item}{_SUFFIX}"
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")


def cell(row: str, column: str, outcome: Outcome) -> Cell:
    """The cell that an outcome fills."""
    return Cell(row, column, outcome.seeds, outcome.keys)


def read_plans(out: Path) -> dict[str, list[Plan]]:
    """All plans below `out`, by group; groups and tables in alphabetical order.

    Raises:
        PaperError: a file is not a plan.
    """
    found: dict[str, list[Plan]] = {}
    for path in sorted(out.glob(f"*/{RECORDS}/*{_SUFFIX}")):
        try:
            plan = documents.read_json(path)
            # Both become names of files.
            if (plan["group"], f"{plan['item']}{_SUFFIX}") != (path.parent.parent.name, path.name):
                raise ValueError("its group and item are not those of its place")
            cells = tuple(
                Cell(each["row"], each["column"], tuple(each["seeds"]), tuple(each["keys"]))
                for each in plan.pop("cells")
            )
            found.setdefault(path.parent.parent.name, []).append(Plan(cells=cells, **plan))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PaperError(f"{path} is not a plan: {error!r}") from error
    return found


def folder_of_results(group: Path) -> Path | None:
    """The folder that `--out` named, from the folder of one paper or sweep in it; None for another folder."""
    if not any((group / RECORDS).glob(f"*{_SUFFIX}")):
        return None
    return group.parent if group.name and group.name != ".." else group / ".."


def results(records: Records, keys: Sequence[str]) -> list[Result]:
    """The results of the given records.

    Raises:
        PaperError: one is missing or damaged; the message names the command that repeats it.
    """
    again = "repeat the command that made it"
    found = []
    for key in keys:
        try:
            result = records.load(key)
        except RecordError as error:
            raise PaperError(f"{error}; {again}") from error
        if result is None:
            raise PaperError(f"{records.path(key)} is missing; {again}")
        found.append(result)
    return found
