"""Tables of results: printed numbers, our numbers and their intervals."""

from whimbrel._show.sheet import Sheet
from whimbrel._values.sheet import (
    POSITIVE,
    SHARE,
    UNBOUNDED,
    Entry,
    Metric,
    Picture,
    Place,
    SheetData,
    StoredSheet,
    Value,
    read_sheet,
    value_of,
)

__all__ = [
    "POSITIVE",
    "SHARE",
    "UNBOUNDED",
    "Entry",
    "Metric",
    "Picture",
    "Place",
    "Sheet",
    "SheetData",
    "StoredSheet",
    "Value",
    "read_sheet",
    "value_of",
]
