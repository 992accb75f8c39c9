"""Loss differentiation on recorded arrivals: congestion or radio losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whimbrel._base import compiled
from whimbrel.errors import UsageError


@dataclass(frozen=True)
class Losses:
    """Runs of lost packets and a verdict on each, in the order of their sequence numbers.

    Attributes:
        first: sequence number of the first packet lost, one per run.
        count: packets lost in the run.
        wireless: True for the radio, False for congestion.
        base: the scheme whose evidence decided (`biaz`, `spike`, `zigzag`, `inherent`, `standing`; `none` if
            there was too little data): one of a hybrid's parts gives the verdict.
    """

    first: NDArray[np.uint64]
    count: NDArray[np.uint64]
    wireless: NDArray[np.bool_]
    base: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)


def classify_losses(
    scheme: str,
    sequence: ArrayLike,
    sent: ArrayLike | None,
    received: ArrayLike,
    *,
    sequence_bits: int | None = None,
    published: bool = False,
) -> Losses:
    """Finds the packets missing from a list of arrivals and classifies their losses.

    A packet counts as lost once three with higher numbers have arrived (RFC 5348, Section 5.1).

    Args:
        scheme: `biaz`, `mbiaz`, `spike`, `zigzag`, `zbs`, `zbs2` or `zbs3` (Cen, Cosman and Voelker,
            Sections 3 and 7), `inherent`, which compares rates of loss, or `standing`, by the
            standing queue (docs/losses.md).
        sequence: numbers of the packets that arrived, in order of arrival; shape (n,).
        sent: departure times, in seconds on the sender's clock, shape (n,); None if unknown: only `biaz` and
            `mbiaz` work without.
        received: arrival times, in seconds on the receiver's clock, not descending; shape (n,). The
            clocks need not agree.
        sequence_bits: of numbers that wrap around, 1 to 63; 64 if they do not. None detects 16, 24, 32
            or 48 bits: numbers that fall by more than half of their range have wrapped.
        published: use the algorithms exactly as published, in which T_min is the least time between
            two arrivals ever. One duplicate or one coalesced receive invalidates it permanently, and jitter
            does for most losses.

    Raises:
        UsageError: shapes that do not fit, times that are no numbers or descend.
        ValueError: unknown scheme.
    """
    if sequence_bits is not None and not 1 <= sequence_bits <= 64:
        raise UsageError(f"sequence_bits is {sequence_bits}; expected 1 to 64")
    numbers = np.asarray(sequence)
    if numbers.ndim != 1 or not (np.issubdtype(numbers.dtype, np.integer) and (numbers >= 0).all()):
        raise UsageError(
            f"sequence has shape {numbers.shape} and type {numbers.dtype}; "
            "expected whole numbers from 0, shape (n,)"
        )
    arrived = _clock("received", received, len(numbers))
    if (np.diff(arrived) < 0).any():
        place = int(np.argmax(np.diff(arrived) < 0)) + 1
        raise UsageError(f"received[{place}] is before received[{place - 1}]; expected the order of arrival")
    left = np.empty(0, np.int64) if sent is None else _clock("sent", sent, len(numbers))
    columns = compiled.core().classify_losses(
        scheme, numbers.astype(np.uint64), left, arrived, sequence_bits, published
    )
    return Losses(columns["first"], columns["count"], columns["wireless"], tuple(columns["base"]))


def _clock(name: str, seconds: ArrayLike, length: int) -> NDArray[np.int64]:
    """Nanoseconds since the first reading: this keeps the precision, and trip times are relative anyway."""
    values = np.asarray(seconds, dtype=np.float64)
    if values.shape != (length,):
        raise UsageError(f"{name} has shape {values.shape}; expected ({length},), as sequence has")
    if not np.isfinite(values).all():
        raise UsageError(f"{name}[{int(np.argmin(np.isfinite(values)))}] is not a finite number of seconds")
    start = values[0] if length else 0.0
    return np.rint((values - start) * 1e9).astype(np.int64)
