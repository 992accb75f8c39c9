"""Named columns of one length, which show themselves in notebooks."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from whimbrel._base import extras, terminal
from whimbrel.errors import WhimbrelError, printable

if TYPE_CHECKING:
    import pandas
    import polars

Column = npt.NDArray[Any]


class Table(dict[str, Column]):
    """Named columns of one length, in order.

    Columns are one-dimensional arrays of float64, int64, uint64, bool or str; strings may also be given as a
    list, or as a pair of codes and categories.

    A table is a dict of its columns, so that `pandas.DataFrame(table)` and `polars.DataFrame(table)` are data
    frames, and has Arrow's PyCapsule interface for other libraries. Like a data frame, it iterates over the
    columns' names, and its `len` is the number of rows.

    Raises:
        WhimbrelError: columns of several lengths, or not one-dimensional.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        super().__init__({name: _as_column(values) for name, values in columns.items()})
        sizes = {name: column.shape for name, column in self.items()}
        if any(len(shape) != 1 for shape in sizes.values()) or len(set(sizes.values())) > 1:
            raise WhimbrelError(f"the columns of a table have one length: {sizes}")

    def __missing__(self, name: str) -> Column:
        raise KeyError(f"no column {name!r}; there are {', '.join(self)}")

    def __len__(self) -> int:
        """The number of rows."""
        return self.rows

    def __bool__(self) -> bool:
        return self.rows > 0

    @property
    def rows(self) -> int:
        """The number of rows."""
        return next((int(column.size) for column in self.values()), 0)

    def where(self, **equal: object) -> Table:
        """The rows in which every named column has the given value: `flows.where(flow="video")`."""
        keep = np.ones(self.rows, dtype=np.bool_)
        for name, value in equal.items():
            keep &= np.asarray(self[name] == value)
        return Table({name: column[keep] for name, column in self.items()})

    def only(self) -> dict[str, float]:
        """The only row of a table, by column.

        Raises:
            ValueError: the number of rows is not one.
        """
        if self.rows != 1:
            raise ValueError(f"the table has {self.rows} rows, not one")
        return {name: float(column[0]) for name, column in self.items()}

    def one(self, column: str, **equal: object) -> float:
        """The value in the only row selected by `where`.

        Raises:
            WhimbrelError: it selects none, or several.
        """
        found = self.where(**equal)
        if found.rows != 1:
            raise WhimbrelError(f"{found.rows} rows have {equal}, not one")
        return float(found[column][0])

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame; needs pandas (`pip install whimbrel[tables]`)."""
        frame: pandas.DataFrame = extras.load("pandas", "tables", "to_pandas").DataFrame(dict(self))
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The table as a polars data frame; needs polars (`pip install whimbrel[tables]`)."""
        frame: polars.DataFrame = extras.load("polars", "tables", "to_polars").DataFrame(dict(self))
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow's PyCapsule interface, which DuckDB, PyArrow and others read.

        Raises:
            MissingExtra: polars, which converts them, is not installed (`pip install whimbrel[tables]`).
        """
        return self.to_polars().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return framed(table_html(self))

    def __repr__(self) -> str:
        return table_text(self)


def _as_column(values: Any) -> Column:  # noqa: ANN401 - any input of numpy
    if isinstance(values, tuple):
        codes, categories = values
        words = np.asarray(categories, dtype=np.str_)
        return words[np.asarray(codes, dtype=np.intp)] if words.size else np.empty(0, dtype=np.str_)
    column = np.asarray(values)
    if column.dtype == np.object_:
        column = column.astype(np.str_)
    return column


_ROWS = 10
"""Rows of a table that are shown; of a longer one the first and last."""

_STYLE = """<style>
.whimbrel table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9em; }
.whimbrel th, .whimbrel td { padding: .2em .6em; text-align: right; white-space: nowrap; }
.whimbrel thead th, .whimbrel tbody th { text-align: left; }
.whimbrel tbody tr { border-top: 1px solid rgba(128, 128, 128, .35); }
.whimbrel .scroll { overflow-x: auto; margin: .3em 0 1em; }
.whimbrel .half, .whimbrel .printed, .whimbrel .unit, .whimbrel .count { opacity: .75; margin-left: .35em; }
.whimbrel .printed { display: block; margin: 0; }
.whimbrel .hidden { display: none; }
.whimbrel p { margin: .4em 0; }
</style>"""


def framed(html: str) -> str:
    """HTML of this module with its style."""
    return f'<div class="whimbrel">{_STYLE}{html}</div>'


def table_html(table: Table, caption: str = "", columns: Sequence[str] | None = None) -> str:
    """The rows of a table, or its first and last."""
    names = list(table) if columns is None else [name for name in columns if name in table]
    half = _ROWS // 2
    rows = range(table.rows)
    shown = [*rows] if table.rows <= _ROWS else [*rows[:half], None, *rows[-half:]]
    head = "".join(f'<th scope="col">{escape(printable(name))}</th>' for name in names)
    body = []
    for row in shown:
        if row is None:
            body.append(f'<tr><td colspan="{len(names)}">… {table.rows - 2 * half} more rows</td></tr>')
        else:
            body.append(
                f"<tr>{''.join(f'<td>{escape(_plain(table[name][row]))}</td>' for name in names)}</tr>"
            )
    count = f"{table.rows} row{'' if table.rows == 1 else 's'}"
    title = f"<p><b>{escape(caption)}</b>, {count}</p>" if caption else ""
    return (
        f'{title}<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def table_text(table: Table) -> str:
    """The rows of a table, or its first and last, in the columns that fit into the terminal."""
    width = terminal.console().width
    half = _ROWS // 2
    rows = [*range(table.rows)]
    gap = table.rows > _ROWS
    shown = [*rows[:half], *rows[-half:]] if gap else rows
    columns: dict[str, list[str]] = {}
    room = width
    for name, values in table.items():
        cells = [printable(name), *(_plain(values[row]) for row in shown)]
        size = max(map(len, cells))
        if columns and size > room:
            break
        room -= size + 2
        left = values.dtype.kind == "U"
        columns[name] = [cell.ljust(size) if left else cell.rjust(size) for cell in cells]
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns.values(), strict=True)]
    if gap:
        lines.insert(1 + half, f"… {table.rows - 2 * half} more rows")
    more = [name for name in table if name not in columns]
    names = f", and {len(more)} more columns: {', '.join(map(printable, more))}" if more else ""
    count = f"{table.rows} row{'' if table.rows == 1 else 's'}"
    return "\n".join([*lines, *textwrap.wrap(f"{count}{names}", max(width, 20))])


def _plain(value: Any) -> str:  # noqa: ANN401 - a numpy scalar or a word
    if isinstance(value, np.floating):
        return "–" if np.isnan(value) else f"{value:.5g}"
    return printable(str(value))
