"""Units and names of the columns of tables, for display: `goodput_bps` is a Goodput in kbit/s."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel._values.sheet import Metric


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of display.

    Attributes:
        suffix: end of the names of its columns.
        unit: displayed.
        factor: by which a column's values are multiplied.
        digits: decimal places.
    """

    suffix: str
    unit: str
    factor: float
    digits: int


_UNITS = (
    Unit("_bps", "kbit/s", 1e-3, 1),
    Unit("_s", "ms", 1e3, 2),
    Unit("_packets", "packets", 1.0, 1),
    Unit("_bytes", "kB", 1e-3, 1),
    Unit("", "", 1.0, 4),
)


def unit(name: str) -> Unit:
    """The unit in which a column is displayed."""
    return next(each for each in _UNITS if name.endswith(each.suffix))


def metric(name: str) -> Metric:
    """The metric that a column becomes."""
    of = unit(name)
    key = name.removesuffix(of.suffix) if of.suffix else name
    return Metric(key, of.unit, key.replace("_", " ").capitalize(), of.digits)
