"""Differences and ratios of two numbers with their intervals."""

from whimbrel._values.comparison import Contrast, contrast, difference, estimate, ratio

__all__ = ["Contrast", "contrast", "difference", "estimate", "ratio"]
