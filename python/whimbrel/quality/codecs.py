"""Speech codecs: their impairment of the E-model's rating, and their packets.

| value | source |
|---|---|
| Ie of G.711, G.729, G.729A, G.723.1, GSM-EFR | ITU-T G.113 (11/2007), Appendix I, Table I.1 |
| Bpl | the same, Table I.2: G.711 10 ms, G.729A + VAD 20 ms, G.723.1 + VAD 30 ms, GSM-EFR 20 ms packets |
| AMR 12.2 | is GSM-EFR bit by bit (3GPP TS 26.090), so has its values |
| Opus | Alahmadi, Pocta and Melvin, ACM TOMM 17(4), 2021: constant bit rate, independent loss |
| EVS | ITU-T G.113 (09/2024), Appendix V, super-wideband, both ears; 32 kbit/s by Erratum 1 (01/2026) |
| AMR-WB | the same, Table IV.3, both ears, and Appendix V's Ie,fb = Ie,wb + 19; no Bpl on this scale |
| frames and look-ahead | the codec's own Recommendation; RFC 6716 for Opus |

The text of G.113 was not available. Its narrowband values are those on which literature and software agree
(4.3, 25.1, 19.0, 16.1 and 10.0 for Bpl), its fullband ones those quoted in the documentation of the program
`sipnab`. The values for Opus are from the authors' program `Opus_Codec_Quality_Evaluation`; none are in
G.113. Those for super-wideband belong to the scale of G.107.2. A codec whose `bpl` is None has no published
one, and is not rated under loss. The scales are not comparable with each other.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from whimbrel.errors import UsageError
from whimbrel.quality.emodel import effective_impairment

RTP_HEADER_BYTES = 12
"""RFC 3550, Section 5.1, without contributing sources."""


class Scale(enum.Enum):
    """The scale of a codec's impairment factor.

    The value is the limit of an impairment as all packets are lost: 95 in G.107 (7-29), 132 in G.107.2.
    """

    NARROWBAND = 95.0
    FULLBAND = 132.0


@dataclass(frozen=True, slots=True)
class Codec:
    """A speech codec.

    Attributes:
        name: on the command line.
        title: common name.
        ie: equipment impairment factor without loss.
        bpl: packet loss robustness factor; None if none is published.
        payload_bytes: speech in a packet.
        packet_s: speech in a packet, in seconds: the interval between packets.
        lookahead_s: look-ahead of the algorithm beyond the packet, in seconds.
        scale: of `ie` and `bpl`.
    """

    name: str
    title: str
    ie: float
    bpl: float | None
    payload_bytes: int
    packet_s: float
    lookahead_s: float
    scale: Scale = Scale.NARROWBAND

    @property
    def datagram_bytes(self) -> int:
        """A packet with its RTP header."""
        return RTP_HEADER_BYTES + self.payload_bytes

    @property
    def delay_s(self) -> float:
        """Delay before a packet is complete: the packet's speech and the look-ahead, in seconds."""
        return self.packet_s + self.lookahead_s

    @property
    def bit_rate(self) -> float:
        """Bit/s of speech, without headers."""
        return 8 * self.payload_bytes / self.packet_s

    def impairment(self, loss_rate: float, burst_ratio: float = 1.0) -> float:
        """Ie,eff at a share of packets lost, 0 to 1 (G.107, 7-29; G.107.2, Section 7.5).

        Args:
            loss_rate: share of packets lost.
            burst_ratio: of the narrowband scale; fullband values are for independent loss only.

        Raises:
            UsageError: there is loss, and no robustness factor of this codec is published.
        """
        if not 0 <= loss_rate <= 1:
            raise UsageError(f"loss_rate is {loss_rate}; expected 0 to 1")
        if self.bpl is None:
            if loss_rate > 0:
                robust = ", ".join(each.name for each in CODECS.values() if each.bpl is not None)
                raise UsageError(
                    f"no Bpl of {self.name} is published, so it has no rating under loss: {robust}"
                )
            return self.ie
        if self.scale is Scale.FULLBAND:
            burst_ratio = 1.0
        return effective_impairment(self.ie, self.bpl, loss_rate, burst_ratio, self.scale.value)


def _fullband(
    name: str, title: str, kbits: float, ie: float, bpl: float | None, payload: int, lookahead_s: float
) -> Codec:
    return Codec(name, f"{title}, {kbits:g} kbit/s", ie, bpl, payload, 0.02, lookahead_s, Scale.FULLBAND)


_OPUS_SWB = (
    (16, 36.881, 13.30),
    (19, 29.580, 10.74),
    (22, 23.380, 10.01),
    (25, 22.644, 10.57),
    (28, 23.652, 11.67),
    (31, 21.742, 11.51),
    (34, 20.620, 11.78),
    (37, 16.229, 10.62),
    (40, 15.898, 11.35),
)
"""kbit/s, Ie, Bpl."""

_EVS_SWB = (
    (9.6, 22.7, 13.0),
    (13.2, 17.1, 11.7),
    (16.4, 10.8, 10.3),
    (24.4, 7.2, 11.4),
    (32, 8.7, 9.3),
    (48, 10.2, 9.6),
)

_AMR_WB = ((6.6, 56, 18), (8.85, 41, 24), (12.65, 20, 33), (15.85, 17, 41), (23.05, 8, 59), (23.85, 10, 61))
"""kbit/s, Ie,wb of both ears, bytes (RFC 4867, bandwidth-efficient)."""

_WIDEBAND_STEP = 19
"""Difference between a fullband Ie and a wideband one by G.113, Appendix V."""

CODECS = {
    each.name: each
    for each in (
        Codec("g711", "G.711 without loss concealment", 0, 4.3, 160, 0.02, 0.0),
        Codec("g711-plc", "G.711 with loss concealment (Appendix I)", 0, 25.1, 160, 0.02, 0.00375),
        Codec("g729", "G.729", 10, None, 20, 0.02, 0.005),
        Codec("g729a", "G.729A with VAD", 11, 19.0, 20, 0.02, 0.005),
        Codec("g723.1-5.3", "G.723.1 at 5.3 kbit/s", 19, None, 20, 0.03, 0.0075),
        Codec("g723.1", "G.723.1 at 6.3 kbit/s with VAD", 15, 16.1, 24, 0.03, 0.0075),
        Codec("gsm-efr", "GSM-EFR", 5, 10.0, 31, 0.02, 0.0),
        # RFC 4867, bandwidth-efficient: 4 + 6 + 244 bits. The look-ahead is a dummy at this rate.
        Codec("amr-12.2", "AMR at 12.2 kbit/s", 5, 10.0, 32, 0.02, 0.005),
        Codec("opus-nb-8", "Opus, narrowband, 8 kbit/s", 19.245, 15.128, 20, 0.02, 0.0065),
        Codec("opus-nb-9", "Opus, narrowband, 9 kbit/s", 13.209, 17.239, 23, 0.02, 0.0065),
        Codec("opus-nb-10", "Opus, narrowband, 10 kbit/s", 6.197, 15.330, 25, 0.02, 0.0065),
        Codec("opus-nb-11", "Opus, narrowband, 11 kbit/s", 2.030, 15.952, 28, 0.02, 0.0065),
        *(
            _fullband(f"opus-swb-{rate}", "Opus, super-wideband", rate, ie, bpl, -(-rate * 20 // 8), 0.0065)
            for rate, ie, bpl in _OPUS_SWB
        ),
        # 3GPP TS 26.445: frames of 20 ms, 12 ms of look-ahead and resampling.
        *(
            _fullband(f"evs-swb-{rate:g}", "EVS, super-wideband", rate, ie, bpl, round(rate * 20 / 8), 0.012)
            for rate, ie, bpl in _EVS_SWB
        ),
        *(
            _fullband(f"amr-wb-{rate:g}", "AMR-WB", rate, ie + _WIDEBAND_STEP, None, payload, 0.005)
            for rate, ie, payload in _AMR_WB
        ),
    )
}
"""All codecs by name."""


def codec(name: str) -> Codec:
    """A codec by its name.

    Raises:
        UsageError: unknown codec; the message lists them.
    """
    try:
        return CODECS[name]
    except KeyError:
        raise UsageError(f"no codec {name!r}; expected one of {', '.join(CODECS)}") from None
