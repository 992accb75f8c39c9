"""Charts of rates and pictures over time as in the paper: from zero, with marked handovers."""

from __future__ import annotations

import copy
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
    charts = {}
    for metric in sheet.metrics:
        chart = copy.deepcopy(dict(figures.curves(sheet, metric)))
        for layer in chart["layer"]:
            # Times at the edge are drawn at the edge, and a rate is a part of a whole.
            layer["encoding"]["x"]["scale"] = {"zero": False, "nice": False}
            layer["encoding"]["y"]["scale"] = {"zero": zero, "nice": True}
        chart["layer"] += figures.vertical_marks(marks)
        charts[metric.key] = chart
    return charts
