"""Speech codecs: what they take from the E-model's rating, and the packets that they make.

| what | source |
|---|---|
| Ie of G.711, G.729, G.729A, G.723.1, GSM-EFR | ITU-T G.113 (11/2007), Appendix I, Table I.1 |
| Bpl | the same, Table I.2: G.711 10 ms, G.729A + VAD 20 ms, G.723.1 + VAD 30 ms, GSM-EFR 20 ms packets |
| AMR 12.2 | is GSM-EFR bit by bit (3GPP TS 26.090), so has its values |
| Opus | Alahmadi, Pocta and Melvin, ACM TOMM 17(4), 2021: narrowband, constant bit rate, independent loss |
| frames and look-ahead | the codec's own Recommendation; RFC 6716 for Opus |

The text of G.113 was not at hand. Its values are those that literature and software agree on (4.3, 25.1,
19.0, 16.1 and 10.0 for Bpl). The values for Opus are of the authors' program
`Opus_Codec_Quality_Evaluation`; none are in G.113. A codec whose `bpl` is None has no published one, and is
not rated under loss.
"""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.errors import UsageError
from whimbrel.quality.emodel import effective_impairment

RTP_HEADER_BYTES = 12
"""RFC 3550, Section 5.1, without contributing sources."""


@dataclass(frozen=True, slots=True)
class Codec:
    """A speech codec.

    Attributes:
        name: as the command line knows it.
        title: as people know it.
        ie: equipment impairment factor without loss, on the narrowband scale of G.107.
        bpl: packet loss robustness factor; None where nobody has published one.
        payload_bytes: speech in a packet.
        packet_s: speech in a packet, in seconds: the interval between packets.
        lookahead_s: what the algorithm waits for beyond the packet, in seconds.
    """

    name: str
    title: str
    ie: float
    bpl: float | None
    payload_bytes: int
    packet_s: float
    lookahead_s: float

    @property
    def datagram_bytes(self) -> int:
        """A packet with its RTP header."""
        return RTP_HEADER_BYTES + self.payload_bytes

    @property
    def delay_s(self) -> float:
        """From the mouth to the packet: the packet's speech and the look-ahead, in seconds."""
        return self.packet_s + self.lookahead_s

    @property
    def bit_rate(self) -> float:
        """Bit/s of speech, without headers."""
        return 8 * self.payload_bytes / self.packet_s

    def impairment(self, loss_rate: float, burst_ratio: float = 1.0) -> float:
        """Ie,eff at a share of packets lost, 0 to 1 (G.107, 7-29).

        Raises:
            UsageError: there is loss, and nobody has published what it does to this codec.
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
        return effective_impairment(self.ie, self.bpl, loss_rate, burst_ratio)


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
    )
}
"""All codecs by name."""


def codec(name: str) -> Codec:
    """A codec by its name.

    Raises:
        UsageError: there is none; the message lists them.
    """
    try:
        return CODECS[name]
    except KeyError:
        raise UsageError(f"no codec {name!r}; expected one of {', '.join(CODECS)}") from None
