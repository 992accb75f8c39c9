"""Video quality by ITU-T G.1070: from bit rate, frame rate and packet loss to a mean opinion score.

Vq = 1 + Icoding exp(-PplV / DPplV): the quality after coding, reduced by loss. Symbols follow the
Recommendation; rates are bit/s here and kbit/s there, losses are shares here and percent there. The
coefficients v1 to v12 hold for a codec, a format and a screen.

The Recommendation's text was not available. The equations agree in three independent programs, and each set
of coefficients names its source. The set for 4.2 inch comes from the paper `reorder`: it reproduces both
numbers of its Table III, at 30 frames/s and without loss, to the digit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from whimbrel.errors import UsageError


@dataclass(frozen=True, slots=True)
class Screen:
    """A set of coefficients with its domain.

    Attributes:
        name: on the command line.
        title: codec, format and size.
        source: of the coefficients.
        v: v1 to v12, at the places 0 to 11.
    """

    name: str
    title: str
    source: str
    v: tuple[float, ...]


SCREENS = {
    each.name: each
    for each in (
        Screen(
            "4.2in",
            "QVGA on 4.2 inch",
            "G.1070 (2007), Appendix I, as in the program Enchufa2/video-tester, which names no codec; the "
            "paper `reorder` uses it for H.264",
            (1.431, 2.228e-2, 3.759, 184.1, 1.161, 1.446, 3.881e-4, 2.116, 467.4, 2.736, 15.28, 4.170),
        ),
        Screen(
            "6in",
            "H.264 baseline, VGA on 6 inch",
            "G.1070 (06/2018), Table B.4, as in the program OctaveCharrin/rl-mpquic",
            (6.743, 0.9998e-2, 3.051, 168.1, 1.766, 1.130, 18.340e-4, 1.232, 53.25, 3.353, 6.025, 80.752),
        ),
        Screen(
            "9.2in",
            "H.264, VGA on 9.2 inch",
            "G.1070 (2012), as in two programs, one of them OctaveCharrin/rl-mpquic",
            (5.517, 1.29e-2, 3.459, 178.53, 1.02, 1.15, 3.55e-4, 0.114, 513.77, 0.736, -6.451, 13.684),
        ),
        Screen(
            "65in",
            "H.264 baseline, VGA on 65 inch",
            "G.1070 (06/2018), Table B.6, as in the program OctaveCharrin/rl-mpquic",
            (5.643, 1.042e-2, 2.862, 178.2, 1.972, 1.263, 11.026e-4, 1.125, 49.34, 3.047, 5.824, 92.465),
        ),
    )
}
"""All sets of coefficients by name."""


@dataclass(frozen=True, slots=True)
class VideoQuality:
    """The result of G.1070 for a video.

    Attributes:
        mos: the video quality Vq, 1 to 5.
        coding: Icoding, the part of the 4 points above 1 that remains after coding alone.
        best_coding: IOfr, the same at the best frame rate for this bit rate.
        best_frame_rate: Ofr, in frames per second, 1 to 30.
        loss_robustness: DPplV: a loss of so many percent leaves 1/e of `coding`.
    """

    mos: float
    coding: float
    best_coding: float
    best_frame_rate: float
    loss_robustness: float


def screen(name: str) -> Screen:
    """A set of coefficients by its name.

    Raises:
        UsageError: unknown screen; the message lists them.
    """
    try:
        return SCREENS[name]
    except KeyError:
        raise UsageError(f"no screen {name!r}; expected one of {', '.join(SCREENS)}") from None


def rate(shown_on: Screen, bit_rate: float, frame_rate: float, loss_rate: float) -> VideoQuality:
    """Rates a video (G.1070, Section 11.3 of the 2018 edition).

    Args:
        shown_on: one of `SCREENS`.
        bit_rate: of the video, in bit/s.
        frame_rate: in frames per second.
        loss_rate: share of packets lost end to end, 0 to 1.

    Raises:
        UsageError: invalid values, or values outside the coefficients' domain.
    """
    for name, value, least in (("bit_rate", bit_rate, 0.0), ("frame_rate", frame_rate, 0.0)):
        if not (math.isfinite(value) and value > least):
            raise UsageError(f"{name} is {value}; expected a number above 0")
    if not 0 <= loss_rate <= 1:
        raise UsageError(f"loss_rate is {loss_rate}; expected 0 to 1")
    v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12 = shown_on.v
    kbps = bit_rate / 1000
    best_frame_rate = min(30.0, max(1.0, v1 + v2 * kbps))
    best_coding = min(4.0, v3 - v3 / (1 + (kbps / v4) ** v5))
    width = v6 + v7 * kbps
    coding = best_coding * math.exp(-((math.log(frame_rate / best_frame_rate)) ** 2) / (2 * width**2))
    robustness = v10 + v11 * math.exp(-frame_rate / v8) + v12 * math.exp(-kbps / v9)
    if robustness <= 0:
        raise UsageError(f"the coefficients of {shown_on.name} do not hold at {frame_rate} frames/s")
    mos = 1 + coding * math.exp(-100 * loss_rate / robustness)
    return VideoQuality(mos, coding, best_coding, best_frame_rate, robustness)
