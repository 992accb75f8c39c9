"""Video quality up to 1920x1080 by ITU-T P.1203.1, mode 0.

Q = 100 - Dq - Du - Dt, on a scale from 0 to 100, and an MOS from 1 to 4.9: Dq from bit rate, frame rate and
coded pixels; Du from scaling up to the screen; Dt from fewer than 24 frames per second. Mode 0 uses only
these inputs, so a simulated run suffices. It was fitted to H.264 from 240p to 1080p, watched on monitors,
television sets and mobile phones.

The model is Recommendation ITU-T P.1203.1 (2017), clause 8, described by Raake and others ("A
bitstream-based, scalable video-quality model for HTTP adaptive streaming: ITU-T P.1203.1", QoMEX 2017). The
Recommendation's text was not available: equations and coefficients agree with its authors' program (Robitza
and others, "HTTP adaptive streaming QoE estimation with ITU-T Rec. P.1203: open databases and software", ACM
MMSys 2018), which is free for non-commercial research. None of its code is used.

P.1203 is for streams over reliable transport and has no term for packet loss. A receiver that shows no
damaged pictures, such as a browser, shows fewer of them instead: `of_frames` takes the frame rate of Dt from
those that arrived whole and in time. That is our reading, beyond the Recommendation; so is the score of 1 for
a second in which nothing is shown. A frame whose reference was not shown counts as shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whimbrel.errors import UsageError

_MOS_LEAST, _MOS_MOST = 1.05, 4.9
# Coding: a quantisation estimate from rates, and its exponential.
_A = (11.9983519, -2.99991847, 41.2475074001, 0.13183165961)
_Q = (4.66, -0.07, 4.06)
# Scaling.
_U = (72.61, 0.32)
# Frame rate.
_T = (30.98, 1.29, 64.65)
# Screens held in the hand.
_HTV = (-0.60293, 2.12382, -0.36936, 0.03409)
_SMOOTH_FRAME_RATE = 24.0


@dataclass(frozen=True, slots=True)
class Picture:
    """The coded picture and the screen.

    Attributes:
        coded: pixels of the coded picture, width by height.
        shown: pixels of the screen or window that it fills.
        handheld: shown on a mobile phone or tablet.
    """

    coded: tuple[int, int]
    shown: tuple[int, int]
    handheld: bool = False


@dataclass(frozen=True, slots=True)
class StreamQuality:
    """The result of P.1203.1 for a video.

    Attributes:
        mos: from 1 to 5.
        coding: Dq, 0 to 100.
        scaling: Du, 0 to 100.
        frame_rate: Dt, 0 to 100.
    """

    mos: float
    coding: float
    scaling: float
    frame_rate: float


def mos_of(quality: float) -> float:
    """The MOS of a quality from 0 to 100 (P.1203, Annex E)."""
    q = min(100.0, max(0.0, quality))
    cubic = q * (q - 60) * (100 - q) * 7e-6
    return _MOS_LEAST + (_MOS_MOST - _MOS_LEAST) * q / 100 + cubic


# The cubic falls slightly before it rises: if two qualities have the same MOS, the greater one counts.
_QUALITIES = np.arange(3.25, 100.01, 0.01)
_SCORES = np.array([mos_of(float(each)) for each in _QUALITIES])


def quality_of(mos: float) -> float:
    """The quality from 0 to 100 of an MOS: the inverse of `mos_of`."""
    return 0.0 if mos <= _MOS_LEAST else float(np.interp(mos, _SCORES, _QUALITIES))


def rate(
    picture: Picture, bit_rate: float, frame_rate: float, shown_frame_rate: float | None = None
) -> StreamQuality:
    """Rates a video (P.1203.1, clause 8, mode 0).

    Args:
        picture: sizes, and the screen.
        bit_rate: of the coded video, in bit/s.
        frame_rate: of the coded video, in frames per second.
        shown_frame_rate: of the shown video, if less; 0 if nothing is shown, which has the MOS 1.

    Raises:
        UsageError: invalid values.
    """
    _check("bit_rate", bit_rate)
    _check("frame_rate", frame_rate)
    shown = frame_rate if shown_frame_rate is None else shown_frame_rate
    if not 0 <= shown <= frame_rate:
        raise UsageError(f"shown_frame_rate is {shown}; expected 0 to the frame rate, {frame_rate:g}")
    coded, screen = math.prod(picture.coded), math.prod(picture.shown)
    for name, pixels in (("coded", coded), ("shown", screen)):
        _check(f"number of {name} pixels", pixels)
    kbps = bit_rate / 1000
    # kbit/s times kbit per pixel and frame, as the coefficients require.
    inner = _A[2] + math.log(kbps) + math.log(kbps * kbps / (coded * frame_rate) + _A[3])
    if inner <= 0:
        raise UsageError(f"{bit_rate:g} bit/s are too few for P.1203.1")
    quantisation = _A[0] + _A[1] * math.log(inner)
    coded_mos = min(5.0, max(1.0, _Q[0] + _Q[1] * math.exp(_Q[2] * quantisation)))
    coding = 100 - quality_of(coded_mos)
    scaling = min(100.0, _U[0] * math.log10(_U[1] * (max(1.0, screen / coded) - 1) + 1))
    halting = 0.0
    if shown < _SMOOTH_FRAME_RATE:
        halting = (100 - coding - scaling) * (_T[0] - _T[1] * shown) / (_T[2] + shown)
        halting = min(100.0, max(0.0, halting))
    mos = mos_of(100 - min(100.0, coding + scaling + halting))
    if picture.handheld:
        mos = min(5.0, max(1.0, sum(each * mos**power for power, each in enumerate(_HTV))))
    return StreamQuality(mos if shown > 0 else 1.0, coding, scaling, halting)


@dataclass(frozen=True, slots=True)
class SessionQuality:
    """The result of P.1203.1 for the seconds of a stream.

    Attributes:
        mos: the mean of the seconds'.
        seconds: the MOS of each second.
        frames: number of frames sent, and number of these shown.
        bit_rate: of the coded video, in bit/s.
        frame_rate: frames sent per second.
    """

    mos: float
    seconds: tuple[float, ...]
    frames: tuple[int, int]
    bit_rate: float
    frame_rate: float


def of_frames(
    picture: Picture,
    sent_s: npt.NDArray[np.float64],
    size_bytes: npt.NDArray[np.float64],
    shown: npt.NDArray[np.bool_],
) -> SessionQuality:
    """Rates each second of a stream by the datagrams that the application sent.

    Datagrams handed over at one time form a frame, which is shown if all of them arrive. Bit rate and frame
    rate of the coder are taken from the whole stream, so that a second with a key frame does not count as
    better coded.

    Args:
        picture: sizes, and the screen.
        sent_s: time at which the application handed each datagram over, ascending.
        size_bytes: of each.
        shown: true for those that arrived in time.

    Raises:
        UsageError: less than a second of video, or invalid values.
    """
    times, index = np.unique(sent_s, return_inverse=True)
    whole = np.ones(times.size, dtype=np.bool_)
    np.logical_and.at(whole, index, shown)
    length = float(times[-1] - times[0]) if times.size > 1 else 0.0
    if length < 1:
        raise UsageError(f"{length:g} s of frames; expected at least a second")
    # The last frame begins the next interval.
    frame_rate = (times.size - 1) / length
    bit_rate = 8 * float(size_bytes[sent_s < times[-1]].sum()) / length
    # A last piece of less than a second is joined with the second before.
    second = np.minimum((times - times[0]).astype(np.int64), max(0, int(length) - 1))
    of_second = np.bincount(second)
    shown_of_second = np.bincount(second, weights=whole)
    shares = [float(one / of) if of else 0.0 for one, of in zip(shown_of_second, of_second, strict=True)]
    scores = tuple(rate(picture, bit_rate, frame_rate, frame_rate * each).mos for each in shares)
    frames = (int(times.size), int(whole.sum()))
    return SessionQuality(float(np.mean(scores)), scores, frames, bit_rate, frame_rate)


def _check(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{name} is {value}; expected a number above 0")
