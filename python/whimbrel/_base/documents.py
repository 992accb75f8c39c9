"""JSON, TOML and CSV of others: bounded in length and depth, so that no file fills memory or stack.

Everything in this package that reads a file of such a format reads it here.
"""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from whimbrel._base import texts

MOST_LEVELS = 100
"""Tables and lists within each other."""
MOST_JSON_BYTES = 64 << 20
"""The largest file of JSON."""
MOST_CSV_BYTES = 256 << 20
"""The largest file of CSV, which is read line by line."""
_MOST_LINES = 1000
"""Lines of one row, whose cells may be quoted."""


def check_depth(value: object) -> None:
    """Checks how deep tables and lists lie within each other.

    Raises:
        ValueError: deeper than `MOST_LEVELS`.
    """
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [
            part
            for each in level
            if isinstance(each, (Mapping, list, tuple))
            for part in (each.values() if isinstance(each, Mapping) else each)
            if isinstance(part, (Mapping, list, tuple))
        ]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


_TOO_DEEP = f"tables and lists are more than {MOST_LEVELS} levels deep"


def json_value(text: str | bytes) -> Any:  # noqa: ANN401 - any JSON value
    """The value of a JSON text.

    Raises:
        ValueError: it is not JSON, or too deep.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    check_depth(value)
    return value


def read_json(path: Path, most: int = MOST_JSON_BYTES) -> Any:  # noqa: ANN401 - any JSON value
    """The value of a JSON file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not JSON, too large or too deep.
    """
    return json_value(texts.read(path, most))


def toml_table(text: str) -> dict[str, Any]:
    """The table of a TOML text.

    Raises:
        ValueError: it is not TOML, or too deep.
    """
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    check_depth(table)
    return table


def read_toml(path: Path, most: int = MOST_JSON_BYTES) -> dict[str, Any]:
    """The table of a TOML file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not TOML, too large or too deep.
    """
    return toml_table(texts.read(path, most))


class CsvFile:
    """A CSV file with a head, read row by row.

    Attributes:
        columns: of its head; none of an empty file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a text in UTF-8, or too large.
    """

    def __init__(self, path: Path, most: int = MOST_CSV_BYTES) -> None:
        self._handed = 0
        self._rows = csv.DictReader(self._lines(path, most))
        try:
            self.columns = tuple(self._rows.fieldnames or ())
        except csv.Error as error:
            raise ValueError(str(error)) from error

    def __iter__(self) -> Iterator[dict[str, str]]:
        """The rows by column; cells that a row lacks are empty.

        Raises:
            ValueError: as above, or a row is not CSV.
        """
        self._rows.restval = ""
        self._rows.restkey = ""
        try:
            for row in self._rows:
                self._handed = 0
                row.pop("", None)
                yield row
        except csv.Error as error:
            raise ValueError(f"line {self._rows.line_num}: {error}") from error

    def _lines(self, path: Path, most: int) -> Iterator[str]:
        for line in texts.lines(path, most):
            self._handed += 1
            if self._handed > _MOST_LINES:
                raise ValueError(f"a row has more than {_MOST_LINES} lines: a quotation mark has no end")
            yield line
