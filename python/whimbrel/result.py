"""The result of a run: named tables of numpy columns."""

from whimbrel._simulate.result import Result, arrivals
from whimbrel._values.table import Column, Table

__all__ = ["Column", "Result", "Table", "arrivals"]
