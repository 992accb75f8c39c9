"""The claims on Figures 10 and 11 under each set of the open choices that the paper does not name.

- `window`: TCP, XCP and RCP have ns-2's default limit of 20 packets (`window_`); without it, no limit.
- `largest`: rt-Winf's capacity is that of the latest exchange with the largest packet; otherwise that of the
  latest exchange, half of which carry an acknowledgement of a transport.
- `cycle`: DIFS, backoff, RTS and CTS count in the capacity, as in equation 3; otherwise as in Figure 1.
- `dsdv`: changes of routes wait as in ns-2.35; otherwise they are advertised at once.
- `ns2`: what a reader of ns-2.35 runs without further settings: `window`, `largest` and `dsdv`.

Each of them with the paper's throughput, which counts repetitions, and with goodput (`-goodput`). Of a
reproduction,

    whimbrel reproduce winf --out out
    python -m whimbrel.papers.winf.sets out --record

counts the claims under each set, and writes `sets.csv` and the table of README.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whimbrel import kinds, read_reproduction, sets
from whimbrel.claims import Claim
from whimbrel.paper import Item
from whimbrel.papers.winf import mesh
from whimbrel.papers.winf.topology import DSDV_NS2
from whimbrel.scenario import Scenario
from whimbrel.sheet import Sheet
from whimbrel.statistics import Precision

WINDOW = 20
"""The default of ns-2.35's `Agent/TCP set window_`, which XCP's agent inherits."""


@dataclass(frozen=True)
class Choice:
    """Open choices.

    Attributes:
        window: the largest window in packets; no limit if None.
        averaging: of the capacity that rt-Winf infers.
        whole_cycle: true if it counts whole exchanges.
        waits: true if changes of routes wait as in ns-2.35.
    """

    window: int | None = None
    averaging: str | None = None
    whole_cycle: bool = False
    waits: bool = False

    def of(self, given: Scenario) -> Scenario:
        """The scenario under these choices."""
        document = dict(given.document)
        document["wifi"] = [self._medium(medium) for medium in document["wifi"]]
        document["flow"] = [self._flow(flow) for flow in document["flow"]]
        return Scenario(document)

    def _medium(self, medium: Mapping[str, Any]) -> dict[str, Any]:
        made = dict(medium)
        controller = dict(made.get("controller", {}))
        if str(controller.get("law", "")).endswith("-winf"):
            if self.averaging is not None:
                controller["averaging"] = self.averaging
            if self.whole_cycle:
                controller["whole_cycle"] = True
            made["controller"] = controller
        if self.waits:
            made["routing"] = DSDV_NS2
        return made

    def _flow(self, flow: Mapping[str, Any]) -> dict[str, Any]:
        if self.window is None:
            return dict(flow)
        key = flow["transport"]
        return {**flow, key: {**flow.get(key, {}), "window_limit": self.window}}


USUAL = "usual"
"""The set of all other items."""
CHOICES: Mapping[str, Choice] = {
    "window": Choice(window=WINDOW),
    "largest": Choice(averaging="largest"),
    "cycle": Choice(whole_cycle=True),
    "dsdv": Choice(waits=True),
    "ns2": Choice(window=WINDOW, averaging="largest", waits=True),
}
GOODPUT = "-goodput"
NAMES = tuple(f"{name}{metric}" for metric in ("", GOODPUT) for name in (USUAL, *CHOICES))
KEYS = ("fig10", "fig11")
RUNS = 3


def _item(item: Item, name: str, choice: Choice) -> Item:
    scenario: Callable[[str, str], Scenario] = item.scenario
    return replace(
        item,
        key=f"{item.key}-{name}",
        title=f"{item.title}, {name}",
        scenario=lambda row, column: choice.of(scenario(row, column)),
        precision=Precision.exactly(RUNS),
        quick=replace(item.quick, by_name=True),
        is_drawn=False,
    )


ITEMS = [
    _item(item, name, choice) for name, choice in CHOICES.items() for item in mesh.ITEMS if item.key in KEYS
]


def _with_goodput(sheet: Sheet) -> Sheet:
    """The sheet with goodput in the place of throughput."""
    values = {
        place: sheet.values[(*place[:2], "goodput")] if place[2] == "throughput" else value
        for place, value in sheet.values.items()
    }
    return replace(sheet, values=values)


def verdicts(claims: Sequence[Claim], made: Mapping[str, Sheet]) -> Mapping[str, Mapping[str, str]]:
    """The verdict of each of the paper's claims on Figures 10 and 11 under each set.

    Args:
        claims: of the paper.
        made: sheets by item, under all choices.
    """

    def sheets(name: str) -> Mapping[str, Sheet]:
        choice = name.removesuffix(GOODPUT)
        found = {key: made[key if choice == USUAL else f"{key}-{choice}"] for key in KEYS}
        return (
            {key: _with_goodput(sheet) for key, sheet in found.items()} if name.endswith(GOODPUT) else found
        )

    return sets.under_each(claims, KEYS, NAMES, sheets)


if __name__ == "__main__":
    reproduced = read_reproduction("winf", sys.argv[1])
    by_claim = verdicts([claim for claim, _ in reproduced.claims], reproduced.sheets)
    kinds.show(Path(__file__).parent, by_claim, record="--record" in sys.argv)
