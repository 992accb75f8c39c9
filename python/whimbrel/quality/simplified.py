"""The E-model as one line, for calls impaired by delay and loss only: R = 94.2 - Id - Ie.

From R. G. Cole and J. H. Rosenbluth, "Voice over IP performance monitoring", ACM CCR 31(2), 2001, which
fits G.107 (05/2000) with default values; the paper `reorder` uses it (Section IV). The 94.2 is the R of
that edition at no delay and is one more than today's 93.2.
"""

from __future__ import annotations

import math

from whimbrel.errors import UsageError

R_WITHOUT_IMPAIRMENT = 94.2
CRITICAL_DELAY_S = 0.1773
"""One-way delay beyond which talkers begin to interrupt each other."""


def rating(delay_s: float, ie_eff: float) -> float:
    """R of a call.

    Args:
        delay_s: from mouth to ear, in seconds.
        ie_eff: impairment by codec and loss, such as `codecs.Codec.impairment`.
    """
    return R_WITHOUT_IMPAIRMENT - delay_impairment(delay_s) - ie_eff


def delay_impairment(delay_s: float) -> float:
    """Id = 0.024 d + 0.11 (d - 177.3) U(d - 177.3) with d in milliseconds.

    Raises:
        UsageError: a negative delay.
    """
    if not (math.isfinite(delay_s) and delay_s >= 0):
        raise UsageError(f"delay_s is {delay_s}; expected seconds from 0")
    return 24 * delay_s + 110 * max(0.0, delay_s - CRITICAL_DELAY_S)
