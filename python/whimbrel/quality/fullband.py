"""The E-model for fullband speech, ITU-T G.107.2: calls with codecs beyond the telephone band.

R = 148 - Idd - Ie,eff + A, with the default Ro of 148 and no simultaneous impairments: a headset in a quiet
room without echo. Idd is G.107's value times 1.48, Ie,eff = Ie + (132 - Ie) Ppl / (Ppl + Bpl), and the mean
opinion score is computed from R / 1.48 (Annex A). Loss is independent; there is no burst ratio. Echo, noise
and loudness are not implemented.

The Recommendation's text (03/2023) was not available: the equations come from the program `rtpengine`
(`mos_calc_fb`). This scale is for listeners accustomed to fullband speech, so its scores are not comparable
with G.107: there the best telephone has 4.4, here a telephone is mediocre.
"""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.errors import UsageError
from whimbrel.quality import opinion
from whimbrel.quality.codecs import Codec, Scale
from whimbrel.quality.emodel import delay_impairment

RO = 148.0
"""R of a perfect fullband connection."""

STRETCH = 1.48
"""Ratio of the fullband scale to G.107's scale."""


@dataclass(frozen=True, slots=True)
class FullbandRating:
    """The terms of R.

    Attributes:
        i_dd: impairment by delay.
        ie_eff: impairment by codec and loss.
        advantage: A.
    """

    i_dd: float
    ie_eff: float
    advantage: float

    @property
    def r(self) -> float:
        """The transmission rating factor on the fullband scale, at most 148 without an advantage."""
        return RO - self.i_dd - self.ie_eff + self.advantage

    @property
    def shrunk(self) -> float:
        """R on a scale of 100, from which opinions are derived."""
        return self.r / STRETCH

    @property
    def mos(self) -> float:
        """The mean opinion score, MOS-CQEF, 1 to 4.5."""
        return opinion.mos(self.shrunk)


def rate(codec: Codec, delay_s: float, loss_rate: float, *, advantage: float = 0.0) -> FullbandRating:
    """Rates a call.

    Args:
        codec: one on the fullband scale.
        delay_s: from mouth to ear, one way, in seconds.
        loss_rate: share of packets not played, 0 to 1.
        advantage: A.

    Raises:
        UsageError: invalid values, a codec on another scale, or one without a Bpl under loss.
    """
    if codec.scale is not Scale.FULLBAND:
        raise UsageError(f"{codec.name} has no impairment factor on the fullband scale")
    if not 0 <= delay_s <= 100:
        raise UsageError(f"delay_s is {delay_s}; expected 0 to 100")
    return FullbandRating(STRETCH * delay_impairment(delay_s), codec.impairment(loss_rate), advantage)
