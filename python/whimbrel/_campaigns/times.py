"""The duration of runs: a line for each, next to the records.

The same run has the same record on every machine, so its duration is not a part of it.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from whimbrel._base import documents

NAME = "times.csv"
_HEAD = "key,seconds\n"


def note(directory: Path, key: str, seconds: float) -> None:
    """Adds the duration of a run to the file of a folder of records."""
    # Results do not need it: a full disk stops the campaign at a record.
    with contextlib.suppress(OSError):
        path = directory / NAME
        head = "" if path.exists() else _HEAD
        with path.open("a", encoding="ascii") as file:
            file.write(f"{head}{key},{seconds:.6f}\n")


def read(directory: Path) -> dict[str, float]:
    """The duration of each run by its key, as far as it is known; the last one of a run made twice."""
    found: dict[str, float] = {}
    with contextlib.suppress(OSError, ValueError):
        for row in documents.CsvFile(directory / NAME):
            # The last line is cut if the machine stopped there.
            with contextlib.suppress(KeyError, ValueError):
                found[row["key"]] = float(row["seconds"])
    return found
