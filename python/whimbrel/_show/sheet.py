"""Sheets that show themselves in notebooks."""

from __future__ import annotations

from whimbrel._show import display
from whimbrel._show.display import Plot
from whimbrel._values.sheet import SheetData


class Sheet(SheetData):
    """A table of results, with the members of `SheetData`."""

    def plot(self, metric: str | None = None) -> Plot:
        """A figure of a metric, as in the report.

        Args:
            metric: its key; the first one with numbers by default.

        Raises:
            UsageError: there is no such metric, or it has no numbers.
            MissingExtra: the extra `charts` is not installed.
        """
        return display.sheet_plot(self, metric)

    def _repr_html_(self) -> str:
        return display.sheet_html(self)
