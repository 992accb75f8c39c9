"""Paths that reorder: several paths, a changing route, retransmission by layer 2.

The paper delays single packets at random (NetEm). Here a path is

    sender - near - bottleneck - fork = ways = far - receiver

and packets take one or several paths between fork and far. There is no 802.11 in the simulator. A MAC with
block acknowledgements resequences anyway; reordering arises on a link that retransmits lost frames and
delivers the others meanwhile (RFC 3366; 5G NR with out-of-order delivery): single packets that arrive a
retransmission later, modelled with NetEm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ACCESS_MS = 1.0
"""Delay of the links at both ends."""
BACK_MS = 20.0
"""Delay of the reverse path."""
QUEUE = 50
"""Packets that a queue holds."""
END_S = 60.0
"""Simulated time."""
WARM_UP_S = 20.0
"""Left out of what is measured."""
FLAP_S = 3.0
"""From one change of the route to the next, if it changes often."""


@dataclass(frozen=True)
class Way:
    """A link between fork and far.

    Attributes:
        delay_ms: one way.
        rate_bps: None: fast enough that no queue forms.
        netem: parameters of NetEm at its end.
        loss: probability of random loss, such as `3 %`.
    """

    delay_ms: float
    rate_bps: float | None = None
    netem: Mapping[str, str] | None = None
    loss: str | None = None


@dataclass(frozen=True)
class Path:
    """A path that reorders.

    Attributes:
        about: description.
        rate_bps: of the bottleneck, or of the parallel links together if they are the bottleneck.
        ways: the parallel links between fork and far.
        weights: relative numbers of packets on each link; None: the first one gets all.
        by: `turns` or `chance`.
        flap_s: interval of route changes from one link to the next; None: no change.
        back_ms: delay of the reverse path.
    """

    about: str
    rate_bps: float
    ways: Sequence[Way]
    weights: Sequence[float] | None = None
    by: str = "turns"
    flap_s: float | None = None
    back_ms: float = BACK_MS


def delayed(share: str, delay: str, jitter: str) -> dict[str, str]:
    """NetEm that delays a share of the packets and sends the others at once."""
    ahead = f"{100 - float(share):g} %"
    return {"delay": delay, "jitter": jitter, "reorder": ahead}


PATHS: Mapping[str, Path] = {
    "in order": Path("one link of 20 ms", 1e6, [Way(20)]),
    "NetEm": Path(
        "the paper's: 5 % arrive 25 ± 8 ms later (Table I, 50 ms)",
        1e6,
        [Way(20, netem=delayed("5", "25 ms", "8 ms"))],
    ),
    "spraying": Path(
        "a router sprays packets randomly over links of 20 and 35 ms",
        2e6,
        [Way(20), Way(35)],
        weights=[1, 1],
        by="chance",
    ),
    "bond": Path(
        "a bond of links of 1.5 Mbit/s, 15 ms and 0.5 Mbit/s, 40 ms, three to one in turns",
        2e6,
        [Way(15, 1.5e6), Way(40, 0.5e6)],
        weights=[3, 1],
    ),
    "route": Path(
        f"the route changes between links of 20 and 50 ms, every {FLAP_S:g} s",
        1e6,
        [Way(50), Way(20)],
        flap_s=FLAP_S,
    ),
    "handover": Path(
        "from a cellular link of 150 ms to a Wi-Fi link of 20 ms and back, every 5 s; both stay up",
        2e6,
        [Way(150), Way(20)],
        flap_s=5.0,
    ),
    "layer 2": Path(
        "10 % of the packets are retransmitted on a link of 10 Mbit/s and arrive 8 ± 4 ms later",
        10e6,
        [Way(20, netem=delayed("10", "8 ms", "4 ms"))],
    ),
}


def network(path: Path, end_s: float = END_S) -> dict[str, list[dict[str, Any]]]:
    """Nodes, links and routes of a path.

    Args:
        path: its description.
        end_s: duration of the simulation, for a route that changes.
    """
    own_bottleneck = all(way.rate_bps is None for way in path.ways)
    fast = {"rate": "1 Gbit/s", "queue": "unlimited"}
    slow = {"rate": f"{path.rate_bps:g} bit/s", "queue": f"{QUEUE} packets"}
    links: list[dict[str, Any]] = [
        {"name": "in", "between": ["sender", "near"], "delay": f"{ACCESS_MS:g} ms", **fast},
        {"name": "bottleneck", "from": "near", "to": "fork", **(slow if own_bottleneck else fast)},
        {"name": "out", "between": ["far", "receiver"], "delay": f"{ACCESS_MS:g} ms", **fast},
        {"name": "back", "from": "far", "to": "near", "delay": f"{path.back_ms:g} ms", **fast},
    ]
    for name, way in zip(_names(path), path.ways, strict=True):
        link: dict[str, Any] = {"name": name, "from": "fork", "to": "far", "delay": f"{way.delay_ms:g} ms"}
        if way.rate_bps is None:
            link |= fast
        else:
            link |= {"rate": f"{way.rate_bps:g} bit/s", "queue": f"{QUEUE} packets"}
        if way.netem is not None:
            link["netem"] = dict(way.netem)
        if way.loss is not None:
            link["loss"] = {"model": "bernoulli", "rate": way.loss}
        links.append(link)
    return {
        "node": [{"name": name} for name in ("sender", "near", "fork", "far", "receiver")],
        "link": links,
        "route": _routes(path, end_s),
    }


def _names(path: Path) -> list[str]:
    return [f"way{number}" for number in range(len(path.ways))]


def _routes(path: Path, end_s: float) -> list[dict[str, Any]]:
    names = _names(path)
    common = {"at": "fork", "to": "receiver"}
    if path.weights is not None:
        return [{**common, "via": names, "weights": list(path.weights), "by": path.by}]
    if path.flap_s is None:
        return [{**common, "via": names[:1]}]
    return [
        {**common, "via": [names[change % len(names)]], "time": f"{change * path.flap_s:g} s"}
        for change in range(math.ceil(end_s / path.flap_s))
    ]
