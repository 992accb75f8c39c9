"""Numbers for the paper's words, written down before the first full run; the same for every claim."""

from __future__ import annotations

CLOSE = 0.15
"""Largest relative difference between numbers that are "close"."""
EQUAL = 0.05
"""Largest relative difference of numbers that are "almost equal", of curves that "react the same way"."""
GAIN_RANGE = 2.5
"""Percentage points by which a gain of "~8.5 %" or "~6.5 %" may differ."""
