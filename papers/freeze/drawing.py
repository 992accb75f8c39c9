"""Charts of rates and pictures over time as in the paper: from zero, with marked handovers."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel import figures
from whimbrel.figures import Charts
from whimbrel.sheet import Sheet


def over_time(sheet: Sheet, *, marks: Mapping[str, float], zero: bool = True) -> Charts:
    """A chart per metric, with labelled vertical lines.

    Args:
        sheet: its rows are times in seconds.
        marks: labels and times of the lines.
        zero: true if the vertical axis begins at zero.
    """
    return {metric.key: figures.curves(sheet, metric, zero=zero, marks=marks) for metric in sheet.metrics}
