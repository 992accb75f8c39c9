"""Results of `whimbrel run`: tables without the scenario, which must be named and must give them."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from whimbrel._base import documents
from whimbrel._reproduce import kept_scenario, rebuild, sweep
from whimbrel._reproduce.plan import RECORDS
from whimbrel._reproduce.reproduce import Options
from whimbrel._simulate.records import Records
from whimbrel._simulate.scenario import Scenario
from whimbrel._values.table import Table
from whimbrel.errors import InputError

FLOWS = "flows.csv"


def is_run(out: Path) -> bool:
    """True for the directory of `run --out`."""
    return (out / FLOWS).is_file() and not list(out.glob(f"*/{RECORDS}/*.plan.json"))


def recorded(out: Path, scenario: Path, seed: int, overrides: Sequence[str], work: Path) -> Path:
    """Repeats a run as a sweep of one combination, which a pack holds, and compares the tables of the flows.

    Args:
        out: the directory of `run --out`.
        scenario: that was run.
        seed: of the run.
        overrides: of the run, `key=value` each.
        work: an empty folder.

    Returns:
        The results of the sweep.

    Raises:
        InputError: the scenario gives other tables.
        ScenarioError: it cannot be read or applied.
    """
    given = Scenario.from_file(scenario).changed(*overrides)
    plain = {key: value for key, value in given.document.items() if key != "sweep"}
    first = work / ".given" / scenario.stem
    there = kept_scenario.keep(replace(given, document=plain), first)
    # Named like the directory, as the pack names several.
    results = work / out.resolve().name
    name = sweep.simulate(
        kept_scenario.path_of(first),
        Options(results, quick=True, seed=seed, quiet=True),
        overrides=there.overrides,
    )
    changes = [word for override in overrides for word in ("--set", override)]
    command = ["whimbrel", "run", str(scenario), "--seed", str(seed), *changes]
    rebuild.rebuild(results, shlex.join(command))
    records = Records(results / name / RECORDS)
    (key,) = records.keys()
    result = records.load(key)
    if result is None or not _is_same(result.flows, out / FLOWS):
        raise InputError(
            f"{scenario} with the seed {seed} does not give the tables in {out}: name the seed and the"
            " changes of the run (--seed, --set)"
        )
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
