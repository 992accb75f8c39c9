"""Numbers for the paper's words."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.claims import Verdict, between
from whimbrel.sheet import Sheet, Value

PRINTED = 0.1
"""Largest deviation of a reproduced number from the printed one, as a part of it."""
FULL_KBPS = 900.0
"""Data rate on the link of 1 Mbit/s that fills it: "X without network reordering" is 936.8 to 961.3."""
ALIKE = (0.45, 0.55)
"""Efficiency ratios that are "similar" with and without the buffer: 18 % less, 22 % more."""
SMALL = (0.5, 0.6)
"""Efficiency ratios of "small" improvements: up to a half more."""
SUBSTANTIAL = 0.85
"""The efficiency ratio that the text names for a buffer of seven packets."""
VOICE = 0.6
"""The one for five packets and 100 ms."""
RATIO = 0.05
"""Largest deviation from an efficiency ratio in the text, to either side."""
STEP = 0.005
"""Largest decrease of an efficiency ratio from one size to the next in a "rise"."""
MOS = 0.0101
"""Tolerance between mean opinion scores printed with two digits, both of which may be rounded."""

Sheets = Mapping[str, Sheet]


def comes_out(value: Value, within: float = PRINTED) -> Verdict:
    """The mean is the printed number within a part of it."""
    printed = value.paper
    if printed is None:
        return Verdict(False, f"{value.name}: nothing printed")
    return between(value, (1 - within) * printed, (1 + within) * printed)
