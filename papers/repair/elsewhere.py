"""The video on the networks of the papers `lda` and `freeze`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from whimbrel.papers.freeze import networks as freeze
from whimbrel.papers.lda import topology
from whimbrel.papers.repair.measures import measure
from whimbrel.papers.repair.networks import TIME_S, WARM_UP_S, flow
from whimbrel.papers.repair.schemes import Scheme
from whimbrel.papers.repair.videos import MEDIUM, SMALL, Video
from whimbrel.result import Result
from whimbrel.scenario import Scenario

BUDGET_MS = 400.0
"""Two round-trip times of the slowest of them, and five of the others."""
BESIDE = ", a TCP"
HANDOVER = "freeze: "
OUTAGE = "300 ms"
"""Without a path, each 15 s."""
OUTAGES_S = (10, 25, 40, 55)
JITTER_S = 5.0

SHARED = tuple(f"{each}{beside}" for each in topology.TOPOLOGIES for beside in ("", BESIDE))
MOVING = tuple(f"{HANDOVER}{each}" for each in freeze.NETWORKS)
NETWORKS = (*SHARED, *MOVING)


def video(network: str) -> Video:
    """The video that the network can carry."""
    return SMALL if network in SHARED or network.endswith("umts") else MEDIUM


def scenario(scheme: Scheme, network: str) -> Scenario:
    """The video in place of the flow of that paper."""
    sent = flow(scheme, video(network), BUDGET_MS)
    if network in SHARED:
        return _shared(scheme, network, sent)
    return _moving(scheme, network.removeprefix(HANDOVER), sent)


def _shared(scheme: Scheme, network: str, sent: dict[str, Any]) -> Scenario:
    """3.1 % of the packets are lost on the radio."""
    rivals = 1 if network.endswith(BESIDE) else 0
    base = topology.scenario(network.removesuffix(BESIDE), "tfrc", 1, "medium", rivals=rivals)
    document = copy.deepcopy(dict(base.document))
    old = document["flow"][0]
    old_ends = {key: old[key].replace("{i}", "0") for key in ("from", "to")}
    sent = {**sent, **old_ends, "start": old["start"], "start_jitter": old["start_jitter"]}
    return Scenario(
        {**document, "title": f"{scheme.title}: {network}", "flow": [sent, *document["flow"][1:]]}
    )


def _moving(scheme: Scheme, network: str, sent: dict[str, Any]) -> Scenario:
    return Scenario(
        {
            "title": f"{scheme.title}: {network}, outages",
            "simulation": {"duration": f"{TIME_S} s", "warm_up": f"{WARM_UP_S} s"},
            **freeze.path(network),
            "flow": [{**sent, "from": "sender", "to": "mobile"}],
            "handover": [freeze.handover(at, JITTER_S, OUTAGE) for at in OUTAGES_S],
        }
    )


def measured(result: Result, row: str, column: str) -> Mapping[str, float]:
    """The measurements of the video, and the goodput of the TCP that competes with it."""
    flows = result.flows
    names = [str(each) for each in flows["flow"]]
    rival = [float(flows.one("goodput_bps", flow=name)) for name in names if name.startswith("rival")]
    found = measure(result, row, column, video(column))
    return {**found, "tcp": sum(rival) / 1e3 if rival else float("nan")}
