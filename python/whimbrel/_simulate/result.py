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

from whimbrel._show import display
from whimbrel._show.display import Plot
from whimbrel._simulate import record_format
from whimbrel._values.table import Table
from whimbrel.errors import RecordError

if TYPE_CHECKING:
    import pandas
    import polars


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
        path = Path(path)
        found = record_format.read(path, path.stem) if path.suffix == record_format.SUFFIX else None
        if found is None:
            raise RecordError(f"{path}: expected an existing file *{record_format.SUFFIX}")
        return Result(found)

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
        return display.result_plot(self.flows, self.tables.get("intervals"), column, flows)

    def _repr_html_(self) -> str:
        return display.result_html(self.tables)

    def __repr__(self) -> str:
        return f"Result({', '.join(f'{name}: {table.rows} rows' for name, table in self.tables.items())})"


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
