"""Results of `whimbrel run --out`: tables, and the scenario that must give them again."""

from __future__ import annotations

import math
from pathlib import Path

from whimbrel._base import documents
from whimbrel._reproduce import rebuild, sweep
from whimbrel._reproduce.plan import RECORDS
from whimbrel._reproduce.reproduce import Options
from whimbrel._simulate.records import Records
from whimbrel._simulate.scenario import Scenario
from whimbrel._values.table import Table
from whimbrel.errors import InputError

FLOWS = "flows.csv"
_SCENARIO = Path("scenario", "run.json")


def is_run(out: Path) -> bool:
    """True for the directory of `run --out`."""
    return (out / FLOWS).is_file() and not list(out.glob(f"*/{RECORDS}/*.plan.json"))


def recorded(out: Path, work: Path) -> Path:
    """Repeats a run as a sweep of one combination, which a pack holds, and compares the tables of the flows.

    Args:
        out: the directory of `run --out`.
        work: an empty folder.

    Returns:
        The results of the sweep.

    Raises:
        InputError: the scenario is missing, names files elsewhere, or gives other tables.
        ScenarioError: it cannot be read or applied.
    """
    file = out / _SCENARIO
    if not file.is_file():
        raise InputError(
            f"{out} has the tables of a run without its scenario, {_SCENARIO}: repeat it with this version"
        )
    given = Scenario.from_file(file)
    # A folder of somebody else must not bring other files of this machine into a pack.
    own = file.parent.resolve()
    if foreign := [name for name in given.files() if not (own / name).resolve().is_relative_to(own)]:
        raise InputError(f"{file} names {foreign[0]!r}: expected files below {file.parent}")
    seed = given.document.get("simulation", {}).get("seed")
    if not isinstance(seed, int):
        raise InputError(f"{file}: simulation.seed is {seed!r}, expected a whole number")
    # Named like the directory, as the pack names several.
    results = work / out.resolve().name
    name = sweep.simulate(file, Options(results, quick=True, seed=seed, quiet=True))
    rebuild.rebuild(results, f"whimbrel run {_SCENARIO}")
    records = Records(results / name / RECORDS)
    (key,) = records.keys()
    result = records.load(key)
    if result is None or not _is_same(result.flows, out / FLOWS):
        raise InputError(f"{file} does not give the tables in {out}: repeat the run with this version")
    return results


def _is_same(flows: Table, file: Path) -> bool:
    try:
        written = documents.CsvFile(file)
        rows = list(written)
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    if set(written.columns) != set(flows):
        return False
    return flows.rows == len(rows) and all(
        _agree(row[name], value)
        for name, column in flows.items()
        for row, value in zip(rows, column, strict=True)
    )


def _agree(cell: str, value: object) -> bool:
    text = str(value)
    if cell == text:
        return True
    try:
        mine, other = float(cell or "nan"), float(text)
    except ValueError:
        return False
    return mine == other or (math.isnan(mine) and math.isnan(other))
