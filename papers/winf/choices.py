"""The open choices that the paper does not name, as keys of a scenario.

`USUAL` is what a reader of ns-2.35 runs without further settings, with the paper's "the packet size
considered is the DATA packet size": the choice of meshes, ad hoc networks and Figure 15 with the MAC of
ns-2. All other items have no limit of the window, the latest exchange and routes that are advertised at once:
`TODAY`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from whimbrel.papers.winf.topology import DSDV, DSDV_NS2, NS2
from whimbrel.scenario import Scenario

WINDOW = 20
"""The default of ns-2.35's `Agent/TCP set window_`, which XCP's agent inherits."""
LIMITED = frozenset({"tcp", "xcp"})
"""Transports whose agents in ns-2 have a largest window. The agent of RCP's authors has none."""
EVERY = LIMITED | {"rcp"}
_CHOSEN = {"window_limit", "reliability"}
"""Keys of a flow that a choice replaces."""


@dataclass(frozen=True)
class Choice:
    """A set of the open choices.

    Attributes:
        limited: transports with a largest window of `WINDOW` packets.
        averaging: of the capacity that rt-Winf infers.
        whole_cycle: true if it counts whole exchanges.
        waits: true if changes of routes wait as in ns-2.35.
        repairs: true if RCP repairs losses as TCP does; otherwise at the end, as the agent of its authors.
        corrects: true if available bandwidth and capacity are corrected for collisions, but in columns
            without the correction.
    """

    limited: frozenset[str] = LIMITED
    averaging: str = "largest"
    whole_cycle: bool = False
    waits: bool = True
    repairs: bool = True
    corrects: bool = False

    def of(self, given: Scenario) -> Scenario:
        """The scenario under these choices, which replace its own."""
        document = dict(given.document)
        document["wifi"] = [self._medium(medium) for medium in document["wifi"]]
        document["flow"] = [self._flow(flow) for flow in document["flow"]]
        return Scenario(document)

    def under(self, scenario: Callable[[str, str], Scenario]) -> Callable[[str, str], Scenario]:
        """The scenarios of an item under these choices."""
        return lambda row, column: self.of(scenario(row, column))

    def _medium(self, medium: Mapping[str, Any]) -> dict[str, Any]:
        made = dict(medium)
        law = dict(made.get("controller", {}))
        if str(law.get("law", "")).endswith("-winf"):
            law |= {"averaging": self.averaging, "whole_cycle": self.whole_cycle}
            law.pop("capacity_correction", None)
            if self.corrects and law.setdefault("collision_correction", True):
                law["capacity_correction"] = True
            made["controller"] = law
        if "routing" in made:
            made["routing"] = DSDV_NS2 if self.waits else DSDV
        return made

    def _flow(self, flow: Mapping[str, Any]) -> dict[str, Any]:
        key = flow["transport"]
        if key not in EVERY:
            return dict(flow)
        keys = {name: value for name, value in flow.get(key, {}).items() if name not in _CHOSEN}
        if key in self.limited:
            keys["window_limit"] = WINDOW
        if key == "rcp" and not self.repairs:
            keys["reliability"] = "at-the-end"
        return {**flow, key: keys} if keys else {name: value for name, value in flow.items() if name != key}


USUAL = Choice()
"""The choices of the meshes, the ad hoc networks and Figure 15 with the MAC of ns-2."""
TODAY = Choice(limited=frozenset(), averaging="latest", waits=False)


def taken(mac: str, scenario: Callable[[str, str], Scenario]) -> Callable[[str, str], Scenario]:
    """The scenarios of an item of the paper with a MAC."""
    return USUAL.under(scenario) if mac == NS2 else scenario
