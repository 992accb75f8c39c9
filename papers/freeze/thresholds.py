"""Numbers for the paper's words; our readings of them.

The numbers were written down before the first full run, but with knowledge of the paper's numbers and of
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
"""Largest factor, in either direction, between a duration and the one named in a figure's text."""
COHERENT = 10.0
"""The factor between numbers of one "order of magnitude"."""
BOUND = 5.0
"""Percent by which rounding may move a number beyond its bound."""
ALIKE_S = 0.25
"""Largest difference between two ways to simulate a handover, in s."""
SEVERAL_S = 2.0
"""Seconds: "several"."""
QUICKLY_S = 1.0
"""Seconds: "quickly"."""
GREATLY = 0.5
"""The part that remains if something is "greatly" reduced."""

Sheets = Mapping[str, Sheet]
