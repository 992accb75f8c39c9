"""The paper's claims on Figure 3 and Tables 4 and 6 under each set of the open choices.

- `ns-2`: the receiver estimates R from the window counter (RFC 4342, Section 8.1), as in ns-2's DCCP, and the
  sender probes by the printed rule. The choice of all other items.
- `rtt-option`: the receiver is sent R (RFC 6323); `rtt_option` has the items.
- `authors-code`: Freeze restarts by the rule of the authors' Linux code, by which a constant p does not end
  the probing.

Of a reproduction,

    whimbrel reproduce freeze --out out
    python -m whimbrel.papers.freeze.sets out --record

counts the claims under each set, and writes `sets.csv` and the table of README.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from whimbrel import kinds, read_reproduction, sets
from whimbrel.claims import Claim
from whimbrel.papers.freeze import rtt_option
from whimbrel.sheet import Sheet

USUAL = "ns-2"
CODE = "authors-code"
NAMES = (USUAL, rtt_option.NAME, CODE)
KEYS = (*rtt_option.ITEMS, "table4")
OWN: Mapping[str, Sequence[str]] = {
    rtt_option.NAME: [f"{key}-{rtt_option.NAME}" for key in rtt_option.ITEMS],
    CODE: ["table6-rivals"],
}
"""Further items of a set."""


def _by_the_code(table: Sheet, rivals: Sheet) -> Sheet:
    """Table 6 with the restart rule of the authors' code in the place of the printed one."""
    values = dict(table.values)
    for row, column, metric in table.values:
        if column == "freeze":
            values[row, column, metric] = rivals.values[row, "authors", metric]
    return replace(table, values=values)


def sheets_of(name: str, made: Mapping[str, Sheet]) -> Mapping[str, Sheet]:
    """The sheets of a set by item.

    Args:
        name: of the set.
        made: all sheets of a reproduction, by item.
    """
    found = {key: made[key] for key in KEYS}
    if name == rtt_option.NAME:
        found |= {key: made[f"{key}-{name}"] for key in rtt_option.ITEMS}
    elif name == CODE:
        found["table6"] = _by_the_code(made["table6"], made["table6-rivals"])
    return found


def verdicts(claims: Sequence[Claim], made: Mapping[str, Sheet]) -> Mapping[str, Mapping[str, str]]:
    """The verdict of each of the paper's claims that need these items alone under each set.

    Args:
        claims: of the paper.
        made: sheets by item; a set that lacks one is left out.
    """
    names = [name for name in NAMES if set(OWN.get(name, ())) <= set(made)]
    return sets.under_each(claims, KEYS, names, lambda name: sheets_of(name, made))


if __name__ == "__main__":
    reproduced = read_reproduction("freeze", sys.argv[1])
    by_claim = verdicts([claim for claim, _ in reproduced.claims], reproduced.sheets)
    kinds.show(Path(__file__).parent, by_claim, record="--record" in sys.argv)
