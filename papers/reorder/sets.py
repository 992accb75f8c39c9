"""The paper's claims on Table I and Figures 2 to 4 under each set of the open choices.

- What reorders: 5 % of the packets are delayed (`delayed`), or all others (`netem`), as NetEm understands the
  arguments that the table resembles. Or the delayed ones wait 50 ± 20 ms at every round-trip time (`fixed`),
  which Figures 2 to 4 leave open and Table I, which prints the delays, does not.
- What proves a loss without the buffer: three later packets, as in RFC 5348 and ns-2's and Linux's DCCP, or
  (`-first`) one, as in ns-2's Agent/TFRC.

All other items use the first set. Of a reproduction,

    whimbrel reproduce reorder --out out
    python -m whimbrel.papers.reorder.sets out --record

counts the claims under each of the six sets, and writes `sets.csv` and the table of README.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from whimbrel import kinds, read_reproduction, sets
from whimbrel.claims import Claim
from whimbrel.papers.reorder.claims_table1 import TAKEN
from whimbrel.sheet import Sheet

FIRST = "-first"
READINGS = (TAKEN, "netem", "fixed")
NAMES = (*READINGS, *(f"{reading}{FIRST}" for reading in READINGS))
TABLES = ("table1", "table1-share")
FIGURES: Mapping[str, Mapping[str, str]] = {
    "fig2": {"ratio": "rate", "without": "without"},
    "fig3": {"ratio": "ler"},
    "fig4": {"ratio": "jitter", "ratio_gaps": "gaps"},
}
"""Metrics of a figure that the claims need, and their names in the items of the other readings."""
KEYS = (*TABLES, *FIGURES)


def _lane(sheet: Sheet, column: str) -> Sheet:
    """The table with the flow `column` in the place of the one that the claims are checked by."""
    values = dict(sheet.values)
    for row in sheet.rows:
        for metric in sheet.metrics:
            place = (row, TAKEN, metric.key)
            other = sheet.values.get((row, column, metric.key))
            if other is not None and place in values:
                values[place] = replace(other, paper=values[place].paper)
    return replace(sheet, values=values)


def _figure(sheet: Sheet, names: Mapping[str, str]) -> Sheet:
    """The figure with other metrics in the place of those that the claims are checked by."""
    values = {
        (*place[:2], name): sheet.values[(*place[:2], other)]
        for place in sheet.values
        for name, other in names.items()
        if place[2] == other
    }
    return replace(sheet, values=values)


def _own(metric: str, ending: str) -> str:
    """Name of a metric in the figure itself."""
    return "first" if ending and metric == "without" else metric + ending


def sheets_of(name: str, made: Mapping[str, Sheet]) -> Mapping[str, Sheet]:
    """The sheets of a set by item.

    Args:
        name: of the set.
        made: all sheets of a reproduction, by item.
    """
    reading, first = name.removesuffix(FIRST), FIRST if name.endswith(FIRST) else ""
    column = (TAKEN if reading == "fixed" else reading) + first
    found = {key: _lane(made[key], column) for key in TABLES}
    ending = first.replace("-", "_")
    for key, metrics in FIGURES.items():
        if reading == TAKEN:
            source, names = made[key], {metric: _own(metric, ending) for metric in metrics}
        else:
            source, names = made[f"fig2-{reading}"], {metric: of + ending for metric, of in metrics.items()}
        found[key] = _figure(source, names)
    return found


def verdicts(claims: Sequence[Claim], made: Mapping[str, Sheet]) -> Mapping[str, Mapping[str, str]]:
    """The verdict of each of the paper's claims on Table I and Figures 2 to 4 under each set.

    Args:
        claims: of the paper.
        made: sheets by item.
    """
    return sets.under_each(claims, KEYS, NAMES, lambda name: sheets_of(name, made))


if __name__ == "__main__":
    reproduced = read_reproduction("reorder", sys.argv[1])
    by_claim = verdicts([claim for claim, _ in reproduced.claims], reproduced.sheets)
    kinds.show(Path(__file__).parent, by_claim, record="--record" in sys.argv)
