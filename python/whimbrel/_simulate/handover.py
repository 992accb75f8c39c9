"""The cost of a handover for a TFRC sender, by the equations of the paper `freeze`, Section 3.3."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from whimbrel._base import compiled
from whimbrel.errors import UsageError

Network: TypeAlias = "str | tuple[float, float]"
"""A name of Table 3 (`umts`, `802.16`, `802.11b`, `802.11g`), or a pair: TFRC's stationary rate, in bytes per
second, and the round-trip time in seconds."""


@dataclass(frozen=True, slots=True)
class HandoverPrediction:
    """The model's prediction for a handover.

    Attributes:
        disconnection_s: length of the disconnection, t_D.
        lost_packets: packets sent meanwhile, n_lost (7).
        timeouts: no-feedback intervals that ended meanwhile, n_D.
        rate_on_return: the rate when the connection returns, X_c, in bytes per second.
        idle_s: the mean time until the next packet is sent then, t_idle.
        slow_start_rtts: round-trip times of doubling the rate, n_ss (15).
        loss_event_rate: left by the old network, p_r.
        recovery_s: time until the loss event rate begins to fall, t_recov (20); 0 unless the new network is
            larger.
        growth_rtts: round-trip times of growth after that, n_grow; 0 unless the new network is larger.
        wasted_restart: packets that could have been sent until the old rate is restored (14).
        wasted_plateau: additional capacity of a larger network until the rate grows; first term of
            (23).
        wasted_growth: the same while the rate grows, second term of (23).
    """

    disconnection_s: float
    lost_packets: int
    timeouts: int
    rate_on_return: float
    idle_s: float
    slow_start_rtts: int
    loss_event_rate: float
    recovery_s: float
    growth_rtts: int
    wasted_restart: float
    wasted_plateau: float
    wasted_growth: float

    @property
    def wasted_packets(self) -> float:
        """The number of Table 4: (14) and (23) together; 0 if the new network is smaller."""
        return self.wasted_restart + self.wasted_plateau + self.wasted_growth


def handover_model(
    old: Network, new: Network, segment_size: int = 500, *, disconnection: float | None = None
) -> HandoverPrediction:
    """Predicts TFRC's losses in a handover and the capacity left unused after it.

    The sender was in its stationary state on the old network. `papers/freeze/README.md` documents the reading
    of the equations and the agreement with Table 4.

    Args:
        old: the network that is left.
        new: the network that is entered.
        segment_size: of a packet, in bytes.
        disconnection: its length in seconds; None for Mobile IPv6, 2.5 s + R of the new
            network.

    Raises:
        UsageError: unknown network, or values for which the equations do not hold.
    """
    if segment_size < 1:
        raise UsageError(f"segment_size is {segment_size}; expected bytes, at least 1")
    if disconnection is not None and not 0 <= disconnection <= 1e6:
        raise UsageError(f"disconnection is {disconnection}; expected seconds from 0 to 1e6, or None")
    ends = [_network(name, value) for name, value in (("old", old), ("new", new))]
    try:
        fields = compiled.core().handover_model(*ends, segment_size, disconnection)
    except ValueError as error:
        raise UsageError(
            f"{error}; old is {old!r}, new is {new!r}, segment_size is {segment_size}"
        ) from error
    return HandoverPrediction(**fields)


def _network(name: str, network: Network) -> tuple[float, float]:
    known: dict[str, tuple[float, float]] = compiled.core().handover_networks()
    if isinstance(network, str):
        if network not in known:
            raise UsageError(
                f"{name} is {network!r}; expected one of {', '.join(known)}, or (bytes per second, seconds)"
            )
        return known[network]
    rate, rtt = network
    if not (math.isfinite(rate) and math.isfinite(rtt) and rate > 0 and rtt > 0):
        raise UsageError(f"{name} is {network!r}; expected (bytes per second, seconds), both above 0")
    return float(rate), float(rtt)
