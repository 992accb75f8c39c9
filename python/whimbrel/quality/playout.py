"""Playout buffers: the packets that are played, and their delay.

`fixed` plays each packet the same time after it was sent; `as_it_comes` has no buffer. `adaptive` follows the
delays and chooses anew for each talk spurt: Ramjee, Kurose, Towsley and Schulzrinne, "Adaptive playout
mechanisms for packetized audio applications in wide-area networks", INFOCOM 1994, Algorithm 1 or 4. Each
converts arrivals into the E-model's inputs: the number of packets missing at their playout, and a delay.

Times are in seconds; both clocks must agree, or all delays are off by their difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, TypeAlias

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

SPIKE_WEIGHT = 0.875
"""Weight of the past in Algorithm 4."""

SPIKE_START_S = 0.1
"""Two trip times that differ by more than this and 2 v begin a spike (800 samples of 1/8 ms)."""

SPIKE_END_S = 63 / 8000
"""Below this the slope is flat again and the spike over (63 samples of 1/8 ms)."""

_ROUNDING_S = 1e-9


@dataclass(frozen=True)
class Playout:
    """The output of a buffer, one entry per packet sent, in the order of sending.

    Attributes:
        played: the packet was available at its playout time.
        lost: the packet never arrived; a packet neither played nor lost was late.
        delay_s: from sending to playing, played or not.
    """

    played: npt.NDArray[np.bool_]
    lost: npt.NDArray[np.bool_]
    delay_s: Times

    @property
    def loss_rate(self) -> float:
        """Share of packets not played: lost on the path, or late."""
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
        """BurstR of G.107 for the packets not played, see `burst_ratio`."""
        return burst_ratio(self.played)


def fixed(sent_s: Times, received_s: Times, delay_s: float) -> Playout:
    """Plays every packet `delay_s` after it was sent.

    Args:
        sent_s: departure times, ascending.
        received_s: arrival times; NaN for lost packets.
        delay_s: from sending to playing, in seconds.

    Raises:
        UsageError: no packets, columns of different lengths, or a negative delay.
    """
    _check(sent_s, received_s)
    if not (math.isfinite(delay_s) and delay_s >= 0):
        raise UsageError(f"delay_s is {delay_s}; expected seconds from 0")
    # NaN compares false.
    played = np.asarray(received_s <= sent_s + delay_s + _ROUNDING_S)
    return Playout(played, np.isnan(received_s), np.full(sent_s.shape, delay_s))


def in_order(delivered: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Marks the delivered packets in order; the others have been overtaken.

    Args:
        delivered: the number of each packet, in the order of delivery.
    """
    before = np.maximum.accumulate(np.concatenate(([-1], delivered)))[:-1]
    return np.asarray(delivered > before)


def as_it_comes(sent_s: Times, received_s: Times) -> Playout:
    """Plays every packet on arrival, without a buffer; an overtaken packet is not played.

    The paper `reorder` counts in this way (Section IV): out-of-order packets that are not reordered are lost.
    For packets that were not played, the delay is the mean of the others.

    Args:
        sent_s: departure times, ascending.
        received_s: arrival times; NaN for lost packets.

    Raises:
        UsageError: no packets, or columns of different lengths.
    """
    _check(sent_s, received_s)
    delivered = np.argsort(received_s, kind="stable")[: int(np.count_nonzero(~np.isnan(received_s)))]
    played = np.zeros(sent_s.shape, dtype=np.bool_)
    played[delivered[in_order(delivered)]] = True
    trips = received_s - sent_s
    mean_s = float(np.mean(trips[played])) if played.any() else 0.0
    return Playout(played, np.isnan(received_s), np.where(played, trips, mean_s))


class Estimator(Protocol):
    """An estimate of trip times, updated packet by packet in the order of arrival."""

    mean_s: float
    deviation_s: float

    def learn(self, trip_s: float) -> None:
        """Processes a packet's trip time, in seconds."""


class ExponentialAverage:
    """Algorithm 1: with n the trip time, d <- w d + (1 - w) n and v <- w v + (1 - w) |d - n|.

    Args:
        weight: w, of the past; from 0 to below 1.

    Raises:
        UsageError: another weight.
    """

    def __init__(self, weight: float = RAMJEE_WEIGHT) -> None:
        if not 0 <= weight < 1:
            raise UsageError(f"weight is {weight}; expected from 0 to below 1")
        self.weight = weight
        self.mean_s, self.deviation_s = math.nan, 0.0

    def learn(self, trip_s: float) -> None:
        """Processes a packet's trip time; the first one is the first mean."""
        if math.isnan(self.mean_s):
            self.mean_s = trip_s
        self.mean_s = self.weight * self.mean_s + (1 - self.weight) * trip_s
        self._deviate(trip_s)

    def _deviate(self, trip_s: float) -> None:
        apart = abs(self.mean_s - trip_s)
        self.deviation_s = self.weight * self.deviation_s + (1 - self.weight) * apart


class SpikeAverage(ExponentialAverage):
    """Algorithm 4: a faster average that follows a spike of delay as it is, up and down.

    A spike begins if a trip time n differs from the one before by more than 2 v + 100 ms. In a spike, d
    follows the trip times. It ends when a running mean of their slope, halved with each packet, is flat.
    """

    def __init__(self) -> None:
        super().__init__(SPIKE_WEIGHT)
        self._in_spike = False
        self._slope_s = 0.0
        self._before_s = (math.nan, math.nan)

    def learn(self, trip_s: float) -> None:
        """Processes a packet's trip time."""
        last, second_last = self._before_s
        self._before_s = (trip_s, trip_s if math.isnan(last) else last)
        if math.isnan(last):
            super().learn(trip_s)
            return
        if self._in_spike:
            self._slope_s = self._slope_s / 2 + abs(2 * trip_s - last - second_last) / 8
            if self._slope_s <= SPIKE_END_S:
                self._in_spike = False
                return
        elif abs(trip_s - last) > 2 * self.deviation_s + SPIKE_START_S:
            self._in_spike, self._slope_s = True, 0.0
        if self._in_spike:
            self.mean_s += trip_s - last
            self._deviate(trip_s)
        else:
            super().learn(trip_s)


def adaptive(
    sent_s: Times,
    received_s: Times,
    *,
    estimator: Estimator | None = None,
    deviations: float = RAMJEE_DEVIATIONS,
    gap_s: float = SPURT_GAP_S,
) -> Playout:
    """Plays each talk spurt at the delay estimated from the packets before it (Ramjee and others, 1994).

    The first packet of a spurt to arrive is played d + 4 v after it was sent, or at once if it took longer
    than that, and the rest of the spurt at the same delay. A spurt of which nothing arrived has the delay of
    the one before.

    Args:
        sent_s: departure times, ascending.
        received_s: arrival times; NaN for lost packets.
        estimator: of d and v; None for Algorithm 1.
        deviations: multiple of v that is added.
        gap_s: a pause in sending of more than this begins a talk spurt.

    Raises:
        UsageError: no packets, none that arrived, columns of different lengths, or parameters out of range.
    """
    _check(sent_s, received_s)
    if not (deviations >= 0 and gap_s > 0):
        raise UsageError(f"deviations are {deviations} and gap_s {gap_s}; expected from 0, and above 0")
    if np.isnan(received_s).all():
        raise UsageError("no packet arrived, so there is no delay to adapt to")
    spurt = spurts(sent_s, gap_s)
    delay = _spurt_delays(spurt, sent_s, received_s, estimator or ExponentialAverage(), deviations)[spurt]
    played = np.asarray(received_s <= sent_s + delay + _ROUNDING_S)
    return Playout(played, np.isnan(received_s), delay)


def spurts(sent_s: Times, gap_s: float = SPURT_GAP_S) -> npt.NDArray[np.int64]:
    """The number of each packet's talk spurt, from 0: a new one begins after a pause of more than `gap_s`."""
    return np.concatenate(([0], np.cumsum(np.diff(sent_s) > gap_s + _ROUNDING_S))).astype(np.int64)


def burst_ratio(played: npt.NDArray[np.bool_]) -> float:
    """BurstR of G.107, Section 7.5: the mean length of runs of lost packets over that under independent loss.

    Independent loss of a share p has runs of 1 / (1 - p) packets. The result is 1 if nothing, or everything,
    is lost.
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
    estimator: Estimator,
    deviations: float,
) -> Times:
    """The playout delay of each talk spurt."""
    arrived = np.flatnonzero(~np.isnan(received_s))
    chosen = np.full(int(spurt[-1]) + 1, np.nan)
    for packet in arrived[np.argsort(received_s[arrived], kind="stable")].tolist():
        trip = float(received_s[packet] - sent_s[packet])
        estimator.learn(trip)
        if math.isnan(chosen[spurt[packet]]):
            chosen[spurt[packet]] = max(trip, estimator.mean_s + deviations * estimator.deviation_s)
    known = np.flatnonzero(~np.isnan(chosen))
    before = np.searchsorted(known, np.arange(chosen.size), side="right") - 1
    return np.asarray(chosen[known[np.maximum(before, 0)]])


def _check(sent_s: Times, received_s: Times) -> None:
    if sent_s.ndim != 1 or sent_s.shape != received_s.shape or sent_s.size == 0:
        raise UsageError(
            f"{received_s.shape} arrivals for {sent_s.shape} packets; expected equal numbers, at least 1"
        )
    if not np.isfinite(sent_s).all() or (np.diff(sent_s) < 0).any():
        raise UsageError("sent_s is not ascending; expected the order of sending")
