"""Call ratings from a codec, a delay and a loss, or from the output of a playout buffer."""

from __future__ import annotations

from whimbrel.quality import emodel, simplified
from whimbrel.quality.codecs import Codec
from whimbrel.quality.emodel import Coding, Connection, Path, Rating
from whimbrel.quality.playout import Playout


def rate(
    codec: Codec, delay_s: float, loss_rate: float, *, burst_ratio: float = 1.0, advantage: float = 0.0
) -> Rating:
    """Rates a call by the E-model, with default telephones, noise and echo losses.

    Args:
        codec: of the speech.
        delay_s: from mouth to ear, one way, in seconds.
        loss_rate: share of packets not played, 0 to 1.
        burst_ratio: BurstR; values below 1, which the E-model does not define, count as 1.
        advantage: A.

    Raises:
        UsageError: invalid values, or a codec without a published robustness to loss.
    """
    codec.impairment(loss_rate)
    coding = Coding(
        ie=codec.ie,
        bpl=Coding().bpl if codec.bpl is None else codec.bpl,
        loss_rate=loss_rate,
        burst_ratio=max(1.0, burst_ratio),
    )
    return emodel.rate(Connection(path=Path.with_delay(delay_s), coding=coding, advantage=advantage))


def rate_simplified(codec: Codec, delay_s: float, loss_rate: float, *, burst_ratio: float = 1.0) -> float:
    """R of a call by the paper `reorder`'s line, R = 94.2 - Id - Ie, with Ie the Ie,eff of G.107."""
    return simplified.rating(delay_s, codec.impairment(loss_rate, max(1.0, burst_ratio)))


def mouth_to_ear_s(codec: Codec, playout: Playout) -> float:
    """The mean delay of a call: packet, look-ahead, network and buffer, in seconds."""
    return codec.delay_s + playout.mean_delay_s
