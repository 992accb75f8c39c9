"""Recorded wireless losses as reordering: layer 2 retransmits lost frames without holding back others.

The paper `lda` provides fits of recorded 802.11 links, one of median loss for each level. Here such a link
retransmits lost frames `RETRY_MS` later (a HARQ round trip of LTE, which takes 8 ms), up to three times, the
last always successfully. Each attempt is modelled as a path: a packet takes path k with the probability that
k attempts fail.
"""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.paper import Item, Quick
from whimbrel.papers.lda import wifi_fits
from whimbrel.papers.lda.recorded import links
from whimbrel.papers.reorder import beyond_mechanisms, beyond_schemes
from whimbrel.papers.reorder.beyond_paths import Path, Way
from whimbrel.papers.reorder.beyond_schemes import SCHEMES
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

RATE_BPS = 5e6
DELAY_MS, RETRY_MS = 20.0, 8.0
ATTEMPTS = 4
LEVELS = tuple(wifi_fits.LEVELS)


def path(level: str) -> Path:
    """A link that retransmits the losses of the recorded one of that level."""
    loss = links()[level].fit.chain.loss
    weights = [(1 - loss) * loss**failed for failed in range(ATTEMPTS - 1)]
    return Path(
        level,
        RATE_BPS,
        [Way(DELAY_MS + failed * RETRY_MS) for failed in range(ATTEMPTS)],
        weights=[*weights, loss ** (ATTEMPTS - 1)],
        by="chance",
    )


def scenario(row: str, column: str) -> Scenario:
    """One flow over such a link."""
    return beyond_mechanisms.over(path(row), column, f"{row}, {column}")


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """As on the other paths."""
    return beyond_mechanisms.seen(result, RATE_BPS)


ITEM = Item(
    key="beyond-layer-2",
    title="Recorded 802.11 losses, retransmitted by layer 2",
    source="not in the paper",
    rows=LEVELS,
    columns=list(SCHEMES),
    metrics=beyond_mechanisms.METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(3),
    quick=Quick(precision=Precision.exactly(1), by_name=True),
    is_drawn=False,
    row_label="Loss",
    note=f"{RATE_BPS / 1e6:g} Mbit/s, {DELAY_MS:g} ms; an attempt takes {RETRY_MS:g} ms, and nothing is lost "
    f"in the end. Losses: links of the ORBIT testbed (papers/lda/recorded.csv). {beyond_schemes.ABOUT}",
)
