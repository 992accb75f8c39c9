"""Intervals, and the number of repetitions that they need."""

from whimbrel._values.statistics import (
    N_BASE,
    RELATIVE_ERROR,
    FloatArray,
    Interval,
    Precision,
    Sample,
    bootstrap_interval,
    defined,
    jain_index,
    normal_interval,
    paired_difference,
    repetitions_needed,
    standard_deviation,
    student_interval,
    student_repetitions_needed,
)

__all__ = [
    "N_BASE",
    "RELATIVE_ERROR",
    "FloatArray",
    "Interval",
    "Precision",
    "Sample",
    "bootstrap_interval",
    "defined",
    "jain_index",
    "normal_interval",
    "paired_difference",
    "repetitions_needed",
    "standard_deviation",
    "student_interval",
    "student_repetitions_needed",
]
