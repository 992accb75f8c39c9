"""A handover between Wi-Fi cells: the estimated rate of the new cell as the rate of a restart (not in the paper).

The cells are those of paper `freeze` over the 802.11 MAC. The mobile node sends, so that its own station
estimates the link that its packets enter. rt-Winf begins anew with each association.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.paper import Item, Quick
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

RANGE_M = 400
BINDING_S = 2.5
"""Time from an association until packets for the station go to the new access point, as in paper `freeze`."""
DELAY_MS = 20
DEPARTURE_S, SPEED = 15.0, 40.0
LEAVES_S = DEPARTURE_S + RANGE_M / SPEED
AFTER_S = 20.0
SECONDS = LEAVES_S + BINDING_S + 2.5 + AFTER_S
CONTENDERS, CONTENDER_KBPS = 4, 500
DATA, PACKET = 1464, 1500
GRAIN_S = 0.1


@dataclass(frozen=True)
class Cells:
    """The two cells of a row.

    Attributes:
        old: rate of the first one in Mbit/s.
        new: rate of the second one in Mbit/s.
        contenders: stations that send in the second one.
    """

    old: float = 11
    new: float = 11
    contenders: int = 0


CELLS: Mapping[str, Cells] = {
    "equal": Cells(),
    "lower": Cells(new=1),
    "higher": Cells(old=1),
    "contended": Cells(contenders=CONTENDERS),
}

SCHEMES: Mapping[str, Mapping[str, Any]] = {
    "tfrc": {},
    "cap": {"link_cap": True},
    "freeze": {"freeze": {"restart": "loss-rate"}},
    "following": {"freeze": {"restart": "following"}},
    "capacity": {"freeze": {"restart": "link-capacity"}},
    "available": {"freeze": {"restart": "link-available"}},
    "both": {"freeze": {"restart": "link-available"}, "link_cap": True},
}


def scenario(row: str, column: str) -> Scenario:
    """The way from one access point to the next."""
    cells = CELLS[row]
    dccp: dict[str, Any] = {"ecn": False, "sequence_window": 10_000, **SCHEMES[column]}
    if "freeze" in dccp:
        dccp["freeze"] = {**dccp["freeze"], "follows_station": True}
    points = [(0.0, 1, cells.old), (2.0 * RANGE_M, 6, cells.new)]
    routers = [
        {
            "name": f"router{number}",
            "wifi": "air",
            "position": [x, 0],
            "access_point": {"ssid": "network", "channel": channel, "rate": f"{rate:g} Mbit/s"},
        }
        for number, (x, channel, rate) in enumerate(points)
    ]
    client = {"ssid": "network", "channels": [1, 6]}
    end = 2 * RANGE_M
    mobile = {
        "name": "mobile",
        "wifi": "air",
        "client": client,
        "mobility": {
            "kind": "waypoints",
            "points": [
                {"at": f"{DEPARTURE_S} s", "position": [0, 0]},
                {"at": f"{DEPARTURE_S + end / SPEED:g} s", "position": [end, 0]},
            ],
        },
    }
    others = {
        "name": "c{i}",
        "count": cells.contenders,
        "wifi": "air",
        "client": {**client, "channels": [6]},
        "position": [end, 0],
        "layout": {"kind": "circle", "radius": "50 m"},
    }
    flows: list[dict[str, Any]] = [
        {
            "name": "flow",
            "from": "mobile",
            "to": "host",
            "transport": "dccp",
            "ccid": 3,
            "payload": f"{DATA} B",
            "start": "1 s",
            "start_jitter": "1 s",
            "dccp": dccp,
        }
    ]
    if cells.contenders:
        flows.append(
            {
                "name": "c{i}",
                "count": cells.contenders,
                "from": "c{i}",
                "to": "host",
                "transport": "udp",
                "packet_size": f"{PACKET} B",
                "traffic": {"kind": "cbr", "rate": f"{CONTENDER_KBPS} kbit/s"},
                "start": "1 s",
                "start_jitter": "1 s",
                "background": True,
            }
        )
    wires = [
        {"name": f"wire{i}", "between": ["home", f"router{i}"], "rate": "1 Gbit/s", "queue": "unlimited"}
        for i in range(len(points))
    ]
    return Scenario(
        {
            "title": f"{column}, {row} cells",
            "simulation": {"duration": f"{SECONDS:g} s"},
            "wifi": [
                {
                    "name": "air",
                    "rate": "11 Mbit/s",
                    "mac": "ns-2",
                    "distribution_delay": f"{BINDING_S} s",
                    "radio": {"range": f"{RANGE_M} m", "carrier_sense_range": "550 m"},
                    "controller": {"law": "xcp-winf"},
                }
            ],
            "node": [{"name": "host"}, {"name": "home"}, *routers, mobile, *([others] if cells.contenders else [])],
            "link": [
                {
                    "name": "wire",
                    "between": ["host", "home"],
                    "rate": "1 Gbit/s",
                    "delay": f"{DELAY_MS} ms",
                    "queue": "unlimited",
                },
                *wires,
            ],
            "flow": flows,
            "record": {"interval": f"{1e3 * GRAIN_S:g} ms"},
        }
    )
