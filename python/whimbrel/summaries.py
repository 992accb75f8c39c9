"""A metric of a campaign by the procedure of paper `confront`, Section 3.6, and by today's.

The paper repeats an experiment three times, derives from these the number of repetitions for a half width of
five per cent (equation 15), repeats it that often and states a normal interval (equation 10). A summary has
its n and its interval, and also Student's t, the bootstrap and the number that Student's t requires.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from whimbrel._values.statistics import (
    N_BASE,
    RELATIVE_ERROR,
    Interval,
    Sample,
    bootstrap_interval,
    defined,
    normal_interval,
    normal_shortfall,
    repetitions_needed,
    student_interval,
    student_repetitions_needed,
)
from whimbrel.errors import SmallSampleWarning, StatisticsError

NEVER = math.inf
"""Number of repetitions if none suffices: the mean is too close to zero."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A metric over the repetitions of an experiment.

    Attributes:
        first_n: repetitions that equation 15 derives from the first `n_base` values; the first of them count.
        needed_n: the same, from all values.
        student_n: repetitions that Student's interval needs for the same precision.
        normal: the paper's interval (equation 10).
        student: Student's t interval.
        bootstrap: the bias-corrected and accelerated bootstrap interval of the mean.
        warning: states that the sample is too small for the normal interval, and by how much; empty if it is
            not.
    """

    first_n: float
    needed_n: float
    student_n: float
    normal: Interval
    student: Interval
    bootstrap: Interval
    warning: str

    @property
    def is_sufficient(self) -> bool:
        """True if the sample has as many values as equation 15 requires of it."""
        return self.normal.n >= self.needed_n


def _needed(find: Callable[..., int], sample: Sample, relative_error: float, n_base: int) -> float:
    try:
        return find(sample, relative_error, n_base=n_base)
    except StatisticsError:
        return NEVER


def summarise(sample: Sample, relative_error: float = RELATIVE_ERROR, n_base: int = N_BASE) -> Summary:
    """The summary of a metric.

    Args:
        sample: one value per repetition, in the order in which they were made; NaNs, of repetitions that left
            the metric undefined, are left out.
        relative_error: required half width, as a part of the mean.
        n_base: repetitions before the first evaluation of the spread.

    Raises:
        StatisticsError: no value is defined.
    """
    values = defined(sample)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        normal = normal_interval(values)
    return Summary(
        first_n=_needed(repetitions_needed, values[:n_base], relative_error, n_base),
        needed_n=_needed(repetitions_needed, values, relative_error, n_base),
        student_n=_needed(student_repetitions_needed, values, relative_error, n_base),
        normal=normal,
        student=student_interval(values),
        bootstrap=bootstrap_interval(values),
        warning=normal_shortfall(values.size),
    )
