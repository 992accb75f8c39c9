"""The buffer in front of the ear: which packets are played, and how long after they were spoken.

`fixed` plays everything the same time after it was sent. `adaptive` follows the delays and chooses anew for
each talk spurt: Ramjee, Kurose, Towsley and Schulzrinne, "Adaptive playout mechanisms for packetized audio
applications in wide-area networks", INFOCOM 1994, Algorithm 1. Either turns arrivals into what the E-model
asks for: a share of packets that were not there in time, and a delay.

Times are in seconds; both clocks must agree, or all delays are off by their difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whimbrel.errors import UsageError

Times: TypeAlias = "npt.NDArray[np.float64]"

RAMJEE_WEIGHT = 0.998002
"""Weight of the past in both averages (Ramjee and others, Section 3.1)."""

RAMJEE_DEVIATIONS = 4.0
"""Deviations above the mean delay at which a talk spurt is played (the same)."""

SPURT_GAP_S = 0.06
"""A pause in sending of more than this begins a new talk spurt."""

_ROUNDING_S = 1e-9


@dataclass(frozen=True)
class Playout:
    """What came out of a buffer, one entry per packet sent, in the order of sending.

    Attributes:
        played: the packet was there when its turn came.
        lost: the packet never arrived; one neither played nor lost was late.
        delay_s: from sending to playing, played or not.
    """

    played: npt.NDArray[np.bool_]
    lost: npt.NDArray[np.bool_]
    delay_s: Times

    @property
    def loss_rate(self) -> float:
        """Share of packets not played: lost on the way, or late."""
        return 1 - float(np.mean(self.played))

    @property
    def late_rate(self) -> float:
        """Share of packets that arrived too late."""
        return float(np.mean(~self.played & ~self.lost))

    @property
    def mean_delay_s(self) -> float:
        """Mean time from sending to playing."""
        return float(np.mean(self.delay_s))

    @property
    def burst_ratio(self) -> float:
        """BurstR of G.107 for what was not played, see `burst_ratio`."""
        return burst_ratio(self.played)


def fixed(sent_s: Times, received_s: Times, delay_s: float) -> Playout:
    """Plays every packet `delay_s` after it was sent.

    Args:
        sent_s: when each packet was sent, ascending.
        received_s: when it arrived; NaN for a lost one.
        delay_s: from sending to playing, in seconds.

    Raises:
        UsageError: no packets, columns that do not fit, or a negative delay.
    """
    _check(sent_s, received_s)
    if not (math.isfinite(delay_s) and delay_s >= 0):
        raise UsageError(f"delay_s is {delay_s}; expected seconds from 0")
    # NaN compares false.
    played = np.asarray(received_s <= sent_s + delay_s + _ROUNDING_S)
    return Playout(played, np.isnan(received_s), np.full(sent_s.shape, delay_s))


def adaptive(
    sent_s: Times,
    received_s: Times,
    *,
    weight: float = RAMJEE_WEIGHT,
    deviations: float = RAMJEE_DEVIATIONS,
    gap_s: float = SPURT_GAP_S,
) -> Playout:
    """Plays each talk spurt at the delay that the packets before it suggest (Ramjee and others, Algorithm 1).

    With n the trip time of a packet that arrives, d <- w d + (1 - w) n and v <- w v + (1 - w) |d - n|; the
    first packet of a spurt to arrive is played d + 4 v after it was sent, or at once where it took longer
    than that, and the rest of the spurt at the same delay. Of a spurt of which nothing arrived, the delay
    is that of the one before.

    Args:
        sent_s: when each packet was sent, ascending.
        received_s: when it arrived; NaN for a lost one.
        weight: w, of the past.
        deviations: how many v are added.
        gap_s: a pause in sending of more than this begins a talk spurt.

    Raises:
        UsageError: no packets, none that arrived, columns that do not fit, or parameters out of range.
    """
    _check(sent_s, received_s)
    if not 0 <= weight < 1:
        raise UsageError(f"weight is {weight}; expected from 0 to below 1")
    if not (deviations >= 0 and gap_s > 0):
        raise UsageError(f"deviations are {deviations} and gap_s {gap_s}; expected from 0, and above 0")
    arrived = np.flatnonzero(~np.isnan(received_s))
    if arrived.size == 0:
        raise UsageError("no packet arrived, so there is no delay to adapt to")
    spurt = spurts(sent_s, gap_s)
    chosen = _spurt_delays(spurt, sent_s, received_s, arrived, weight, deviations)
    delay = chosen[spurt]
    played = np.asarray(received_s <= sent_s + delay + _ROUNDING_S)
    return Playout(played, np.isnan(received_s), delay)


def spurts(sent_s: Times, gap_s: float = SPURT_GAP_S) -> npt.NDArray[np.int64]:
    """The number of each packet's talk spurt, from 0: a new one begins after a pause of more than `gap_s`."""
    return np.concatenate(([0], np.cumsum(np.diff(sent_s) > gap_s + _ROUNDING_S))).astype(np.int64)


def burst_ratio(played: npt.NDArray[np.bool_]) -> float:
    """BurstR of G.107, Section 7.5: the mean length of runs of lost packets over that under independent loss.

    Independent loss of a share p has runs of 1 / (1 - p) packets. 1 where nothing, or everything, is lost.
    """
    lost = ~played
    share = float(np.mean(lost))
    if share in (0.0, 1.0):
        return 1.0
    runs = int(lost[0]) + int(np.count_nonzero(lost[1:] & ~lost[:-1]))
    return float(np.count_nonzero(lost)) / runs * (1 - share)


def _spurt_delays(
    spurt: npt.NDArray[np.int64],
    sent_s: Times,
    received_s: Times,
    arrived: npt.NDArray[np.intp],
    weight: float,
    deviations: float,
) -> Times:
    """The playout delay of each talk spurt."""
    in_order = arrived[np.argsort(received_s[arrived], kind="stable")]
    chosen = np.full(int(spurt[-1]) + 1, np.nan)
    mean, deviation = float(received_s[in_order[0]] - sent_s[in_order[0]]), 0.0
    for packet in in_order.tolist():
        trip = float(received_s[packet] - sent_s[packet])
        mean = weight * mean + (1 - weight) * trip
        deviation = weight * deviation + (1 - weight) * abs(mean - trip)
        if math.isnan(chosen[spurt[packet]]):
            chosen[spurt[packet]] = max(trip, mean + deviations * deviation)
    known = np.flatnonzero(~np.isnan(chosen))
    before = np.searchsorted(known, np.arange(chosen.size), side="right") - 1
    return np.asarray(chosen[known[np.maximum(before, 0)]])


def _check(sent_s: Times, received_s: Times) -> None:
    if sent_s.ndim != 1 or sent_s.shape != received_s.shape or sent_s.size == 0:
        raise UsageError(
            f"{received_s.shape} arrivals for {sent_s.shape} packets; expected one of each, at least 1"
        )
    if not np.isfinite(sent_s).all() or (np.diff(sent_s) < 0).any():
        raise UsageError("sent_s is not ascending; expected the order of sending")
