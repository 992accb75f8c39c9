"""The result of a run: named tables of numpy columns.

A simulated run has these tables, with the units in the columns' names; a run of another kind may have others:

| table | a row is |
|---|---|
| `flows` | a flow, over the measured time |
| `links` | one direction of a link, over the measured time |
| `hosts` | a node with a limited processor, over the measured time |
| `intervals` | a flow in an interval, where the scenario's `record.interval` asks for it |
| `losses` | a lost packet with its true cause, the classifier's verdict and its evidence (`record.losses`) |
| `packets` | a packet with data, or a datagram that was given up (`record.packets`) |

Undefined values, such as the delay of a flow that received nothing, are NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from whimbrel import extras
from whimbrel.errors import RecordError, WhimbrelError

if TYPE_CHECKING:
    import pandas
    import polars

    from whimbrel.display import Plot

Column = npt.NDArray[Any]


class Table(dict[str, Column]):
    """Named columns of one length, in order.

    Columns are one-dimensional arrays of float64, int64, uint64, bool or str; strings may also be given as a
    list, or as a pair of codes and categories.

    It is a dict of its columns, so that `pandas.DataFrame(table)` and `polars.DataFrame(table)` are data
    frames, and has Arrow's PyCapsule interface for other libraries. As of a data frame, iteration is over the
    columns' names, and `len` is the number of rows.

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
        from whimbrel import display

        return display.framed(display.table_html(self))

    def __repr__(self) -> str:
        from whimbrel import display

        return display.table_text(self)


class Result:
    """The tables of one run, by name and as attributes."""

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self.tables = {name: Table(columns) for name, columns in tables.items()}

    @staticmethod
    def read(path: str | Path) -> Result:
        """The result in a file `*.record`, of a campaign or of `whimbrel emulate --out`.

        Raises:
            RecordError: the file is missing, damaged, or of another run than its name.
        """
        from whimbrel.records import Records

        path = Path(path)
        found = Records(path.parent).load(path.stem) if path.suffix == ".record" else None
        if found is None:
            raise RecordError(f"{path}: expected an existing file *.record")
        return found

    def __getitem__(self, name: str) -> Table:
        try:
            return self.tables[name]
        except KeyError:
            raise KeyError(
                f"no table {name!r}; there are {', '.join(self.tables)} (a scenario's [record] requests more)"
            ) from None

    @property
    def flows(self) -> Table:
        """A row per flow."""
        return self["flows"]

    @property
    def links(self) -> Table:
        """A row per direction of a link."""
        return self["links"]

    @property
    def intervals(self) -> Table:
        """A row per flow and interval."""
        return self["intervals"]

    @property
    def losses(self) -> Table:
        """A row per lost packet."""
        return self["losses"]

    @property
    def packets(self) -> Table:
        """A row per packet."""
        return self["packets"]

    def to_pandas(self) -> dict[str, pandas.DataFrame]:
        """Every table as a pandas data frame."""
        return {name: table.to_pandas() for name, table in self.tables.items()}

    def to_polars(self) -> dict[str, polars.DataFrame]:
        """Every table as a polars data frame."""
        return {name: table.to_polars() for name, table in self.tables.items()}

    def plot(self, column: str | None = None, *, flows: Sequence[str] | None = None) -> Plot:
        """A column over time if the scenario's `record.interval` recorded it, otherwise by flow.

        Args:
            column: of the table `intervals` or `flows`; the goodput by default.
            flows: names of the flows; by default all but background traffic.

        Raises:
            UsageError: there is no such column of numbers, or no such flow.
            MissingExtra: the extra `charts` is not installed.
        """
        from whimbrel import display

        return display.result_plot(self, column, flows)

    def _repr_html_(self) -> str:
        from whimbrel import display

        return display.result_html(self)

    def __repr__(self) -> str:
        return f"Result({', '.join(f'{name}: {table.rows} rows' for name, table in self.tables.items())})"


def _as_column(values: Any) -> Column:  # noqa: ANN401 - whatever numpy takes
    if isinstance(values, tuple):
        codes, categories = values
        words = np.asarray(categories, dtype=np.str_)
        return words[np.asarray(codes, dtype=np.intp)] if words.size else np.empty(0, dtype=np.str_)
    column = np.asarray(values)
    if column.dtype == np.object_:
        column = column.astype(np.str_)
    return column


def arrivals(packets: Table, flow: str, count: int, start_s: float = 0.0) -> npt.NDArray[np.float64]:
    """Arrival times of the datagrams of a flow, for `quality.video.Stream.receive`.

    Args:
        packets: the `packets` table of a run.
        flow: name of the flow.
        count: number of datagrams in the flow's schedule.
        start_s: when the flow started, on the simulation's clock.

    Returns:
        Seconds since `start_s`, one per datagram in the order of the schedule; NaN for a datagram that did
        not arrive. Of a datagram that arrived twice the first arrival counts.
    """
    mine = packets.where(flow=flow)
    found = np.full(count, np.nan)
    tags, received = mine["tag"].astype(np.int64), mine["received_s"].astype(np.float64)
    known = (tags < count) & ~np.isnan(received)
    np.fmin.at(found, tags[known], received[known] - start_s)
    return found
