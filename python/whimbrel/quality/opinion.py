"""Opinions from a rating: R to mean opinion score and back, and shares of satisfied users.

ITU-T G.107, Annex B and Appendix I; the categories follow ITU-T G.109.
"""

from __future__ import annotations

import math

from whimbrel.errors import UsageError

LOWEST_RATING = 80 - math.sqrt(5400)
"""6.515: below, the cubic of `mos` is under 1. It is 1 if R (60 - R)(100 - R) 7e-6 = 0.035 R, that is R^2 -
160 R + 1000 = 0."""

_CATEGORIES = (
    (90.0, "very satisfied"),
    (80.0, "satisfied"),
    (70.0, "some users dissatisfied"),
    (60.0, "many users dissatisfied"),
    (50.0, "nearly all users dissatisfied"),
)


def mos(r: float) -> float:
    """The mean opinion score, 1 to 4.5, of a transmission rating (G.107, Annex B, B-4).

    Between R = 0 and 6.5 the cubic falls slightly below 1, the least opinion, so it is limited to 1 there.
    """
    if r <= 0:
        return 1.0
    if r >= 100:
        return 4.5
    return max(1.0, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)


def rating(score: float) -> float:
    """The transmission rating, 6.5 to 100, of a mean opinion score of 1 to 4.5 (inverse of `mos`).

    G.107, Appendix I, prints a closed form; this is the middle root of the same cubic in Viete's form.

    Raises:
        UsageError: no R has this score.
    """
    if not 1 <= score <= 4.5:
        raise UsageError(f"a mean opinion score of {score} has no R; expected 1 to 4.5")
    # The cubic, ordered: R^3 - 160 R^2 + 1000 R + (score - 1) / 7e-6 = 0. Its quadratic term vanishes with R
    # = x + 160/3, which leaves x^3 + p x + q = 0.
    p = 1000.0 - 160.0**2 / 3
    q = -2 * 160.0**3 / 27 + 160.0 * 1000.0 / 3 + (score - 1) / 7e-6
    angle = math.acos(max(-1.0, min(1.0, 3 * q / (2 * p) * math.sqrt(-3 / p)))) / 3
    return 160 / 3 + 2 * math.sqrt(-p / 3) * math.cos(angle - 2 * math.pi / 3)


def good_or_better(r: float) -> float:
    """Share of users, 0 to 1, whose opinion is good or excellent (G.107, Annex B, B-2)."""
    return _normal((r - 60) / 16)


def poor_or_worse(r: float) -> float:
    """Share of users, 0 to 1, whose opinion is poor or bad (G.107, Annex B, B-3)."""
    return _normal((45 - r) / 16)


def category(r: float) -> str:
    """The category of G.109, from `very satisfied` down; `not recommended` below 50."""
    return next((name for least, name in _CATEGORIES if r >= least), "not recommended")


def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))
