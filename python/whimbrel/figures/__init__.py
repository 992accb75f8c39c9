"""Figures as Vega-Lite: interactive in the report, and as SVG, PDF or PNG files next to the numbers.

A chart is a plain dict, so the same numbers produce the same bytes, and a paper's own `figures.py` may build
one by hand or with a library that creates such dicts. Colours, names and markers come from
`papers/style.toml`.
"""

from whimbrel.figures.chart_text import plain_subtitle, plain_title
from whimbrel.figures.charts import (
    QUICK,
    Chart,
    Charts,
    curves,
    dots,
    marked_quick,
    points,
    series,
    usual_charts,
    vertical_marks,
)
from whimbrel.figures.files import DEFAULT_FORMATS, FORMATS, PRINT_DPI, convert, svg_of, write_chart
from whimbrel.figures.interval_chart import intervals
from whimbrel.figures.schemes import SPARE_COLOURS, Scheme, name_of, schemes, style

__all__ = [
    "DEFAULT_FORMATS",
    "FORMATS",
    "PRINT_DPI",
    "QUICK",
    "SPARE_COLOURS",
    "Chart",
    "Charts",
    "Scheme",
    "convert",
    "curves",
    "dots",
    "intervals",
    "marked_quick",
    "name_of",
    "plain_subtitle",
    "plain_title",
    "points",
    "schemes",
    "series",
    "style",
    "svg_of",
    "usual_charts",
    "vertical_marks",
    "write_chart",
]
