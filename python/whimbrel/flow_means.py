"""Means of flows that start at different times, as paper `confront`, Section 3.5, defines them.

Readings are taken at each instant of an experiment of `total` seconds, one per second. The mean of a flow is
the sum of its readings over the number of instants of the whole experiment (equation 4 has "the throughput in
each instant of the experiment"), so that a flow that starts `waited` seconds late has readings of zero
before, and equation 5 makes up for these: mean (1 + waited / total). That is the first-order term of the
exact correction, total / (total - waited): with 20 s of 300 s the flow gets 99.6 % of the mean over its own
time.

Printed formulae that cannot be meant literally, and the reading here: in equation 7 both sums have the index
k; the inner one covers the QI = total - 1 pairs of consecutive readings, the outer one the flows.
"""

from __future__ import annotations

import math

import numpy as np

from whimbrel._values.statistics import FloatArray, Sample
from whimbrel.errors import StatisticsError


def _readings(sample: Sample, least: int) -> FloatArray:
    values = np.asarray(sample, dtype=np.float64)
    if values.ndim != 1 or values.size < least:
        raise StatisticsError(f"expected at least {least} readings in one dimension, not {values.shape}")
    return values


def mean_over_experiment(readings: Sample) -> float:
    """The mean of a flow over the instants of an experiment (equation 4, `throughput_mean_flow_k`).

    Args:
        readings: one for each instant; zero, or NaN, where the flow does not send yet.
    """
    return float(np.nansum(_readings(readings, 1)) / len(readings))


def mean_of_flows(means: Sample) -> float:
    """The mean of the flows of one protocol in a repetition (equations 4 and 7): their sum over F."""
    return float(np.mean(_readings(means, 1)))


def normalised(partial: float, waited: float, total: float) -> float:
    """The mean of flows that start `waited` seconds after the first, made comparable (equations 5 and 8).

    Args:
        partial: the mean over the whole experiment.
        waited: S, in seconds; 0 for the flow that starts first.
        total: T, the length of the experiment in seconds.

    Raises:
        StatisticsError: the wait is not a part of the experiment.
    """
    if not 0 <= waited < total:
        raise StatisticsError(f"a wait of {waited:g} s does not fit into {total:g} s")
    return partial + waited * (partial / total)


def jitter(delays: Sample) -> float:
    """The mean variation of the delay between consecutive readings (equation 7, inner sum).

    VA_k is the difference of two consecutive delays without its sign ("10 ms and 11 ms: 1 ms"); QI is one
    less than the number of readings. A pair with an undefined delay (nothing arrived) has no variation.

    Args:
        delays: one for each instant of the experiment, NaN where there is none.

    Returns:
        In the unit of the delays; NaN if no pair of consecutive delays is defined.
    """
    values = _readings(delays, 2)
    variations = np.abs(np.diff(values))
    if np.all(np.isnan(variations)):
        return math.nan
    return float(np.nansum(variations) / variations.size)


def reported_jitter(jitters: Sample) -> float:
    """The mean of a reported jitter, read as the variation of equation 7: QI is one less than the readings.

    iperf reports RFC 3550's jitter, a smoothed variation of the delay between packets, and no delay.

    Args:
        jitters: one for each instant of the experiment, NaN where nothing arrived.
    """
    values = _readings(jitters, 2)
    return float(np.nansum(values) / (values.size - 1))


def effective(transmitted: float, lost: float) -> float:
    """The effective load: what was transmitted and not lost (Section 4).

    Raises:
        StatisticsError: more was lost than transmitted.
    """
    if lost > transmitted:
        raise StatisticsError(f"{lost:g} of {transmitted:g} cannot be lost")
    return transmitted - lost
