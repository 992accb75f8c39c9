"""What the paper's words stand for where a judge needs a number; our readings of them.

They were written down before the first full run, but knowing the numbers that the paper prints and those of
earlier, partial runs: they are choices, not predictions.
"""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.sheet import Sheet

EXACT = 0.1
"""Percent between rates that are "exactly" predicted."""
ACCURATE = 10.0
"""Percent between losses that are "accurately" estimated."""
ABOUT = 2.0
"""How many times as much, or as little, a length of time may be that a figure's text names."""
COHERENT = 10.0
"""The factor between numbers of one "order of magnitude"."""
BOUND = 5.0
"""Percent by which rounding may have a number beyond its bound."""
SEVERAL_S = 2.0
"""Seconds: "several"."""
QUICKLY_S = 1.0
"""Seconds: "quickly"."""
GREATLY = 0.5
"""The part that is left where something is "greatly" reduced."""

Sheets = Mapping[str, Sheet]
