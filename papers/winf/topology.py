"""Networks of paper `winf`: media, schemes, a row of stations and mobile nodes between mesh nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whimbrel.scenario import Scenario

NS2, STANDARD = "ns-2", "standard"
MACS = {NS2: "", STANDARD: "-standard"}
"""The rules of the MAC, and the ending of the keys of items that have them."""

RATE_MBPS = 11.0
PACKET = 1500
TCP_HEADERS, SHIM, TIMESTAMPS = 40, {"xcp": 20, "rcp": 12}, 12
DSDV, DSDV_NS2 = {"kind": "dsdv"}, {"kind": "dsdv", "timing": "ns-2"}
"""Changes are advertised at once, or with ns-2's delays."""
AREA = (1000.0, 1000.0)
SPACING = 200.0

SCHEMES: Mapping[str, tuple[str | None, dict[str, Any]]] = {
    "tcp": (None, {"transport": "tcp", "tcp": {"variant": "new-reno", "min_rto": "200 ms"}}),
    "xcp": ("xcp", {"transport": "xcp"}),
    "rcp": ("rcp", {"transport": "rcp"}),
    "xcp-winf": ("xcp-winf", {"transport": "xcp", "xcp": {"winf": "sensible"}}),
    "rcp-winf": ("rcp-winf", {"transport": "rcp", "rcp": {"winf": True}}),
}
"""The law of the routers, and the keys of a flow."""


def medium(mac: str, law: str | None, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - scenario keys
    """A medium with RTS for every frame, as rt-Winf needs, and the ranges of Section 5.1."""
    made: dict[str, Any] = {
        "name": "air",
        "mac": mac,
        "rate": f"{RATE_MBPS:g} Mbit/s",
        "rts_threshold": "0 B",
        "radio": {"range": "250 m", "carrier_sense_range": "500 m"},
        "arp": mac == NS2,
        **more,
    }
    if law is not None:
        made.setdefault("controller", {"law": law})
    return made


def payload(scheme: str) -> str:
    """The data in a packet of 1500 bytes."""
    transport = SCHEMES[scheme][1]["transport"]
    headers = TCP_HEADERS + (SHIM[transport] + TIMESTAMPS if transport in SHIM else 0)
    return f"{PACKET - headers} B"


def load(scheme: str, cbr: str | None, data: str = "160 B") -> dict[str, Any]:
    """Keys of a flow with an FTP transfer in packets of 1500 bytes, or with CBR in packets of `data`."""
    _, keys = SCHEMES[scheme]
    if cbr is None:
        return {**keys, "payload": payload(scheme)}
    return {**keys, "payload": data, "traffic": {"kind": "cbr", "rate": cbr}}


def mobile(count: int, speed: tuple[float, float] = (10.0, 30.0), **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Nodes `n0`, `n1`, ... that move as ns-2's `setdest` does, or stand if the speed is zero."""
    low, high = (f"{limit:g} m/s" for limit in speed)
    place: dict[str, Any] = {"mobility": {"kind": "random-waypoint", "speed": [low, high], "start": "ns-2"}}
    if speed[1] == 0:
        place = {"layout": {"kind": "random"}}
    return {"name": "n{i}", "count": count, "wifi": "air", **place, **more}


def grid(count: int) -> dict[str, Any]:
    """Fixed nodes `m0`, `m1`, ... in rows of three or four, 200 m apart, in the middle of the area."""
    columns = 3 if count <= 9 else 4
    rows = -(-count // columns)
    corner = [(side - (lines - 1) * SPACING) / 2 for side, lines in zip(AREA, (columns, rows), strict=True)]
    return {
        "name": "m{i}",
        "count": count,
        "wifi": "air",
        "position": corner,
        "layout": {"kind": "grid", "columns": columns, "spacing": f"{SPACING:g} m"},
    }


def mesh(
    scheme: str,
    fixed: int,
    mobiles: int,
    mac: str,
    seconds: float,
    cbr: str | None = None,
    reading: str | None = None,
    keys: Mapping[str, Any] | None = None,
    **air: Any,  # noqa: ANN401 - scenario keys
) -> Scenario:
    """Fixed nodes in a grid and moving nodes, each of which sends to the next.

    Args:
        scheme: of routers and flows.
        fixed: number of fixed nodes.
        mobiles: number of moving nodes.
        mac: rules of the MAC.
        seconds: duration; the first 10 s do not count.
        cbr: rate of each flow; FTP if None.
        reading: of a Winf scheme; the sensible one if None.
        keys: of a flow; the scheme's own if None.
        air: changes of the medium.
    """
    flow = load(scheme, cbr) if keys is None else dict(keys)
    if reading is not None:
        air["controller"] = {"law": scheme, "reading": reading}
        if "xcp" in flow:
            flow["xcp"] = {"winf": reading}
    flows = [
        {
            "name": f"f{number}",
            "from": f"n{number}",
            "to": f"n{(number + 1) % mobiles}",
            "start": "5 s",
            "start_jitter": "1 s",
            **flow,
        }
        for number in range(mobiles)
    ]
    return Scenario(
        {
            "title": f"{scheme}, {fixed} mesh nodes, {mobiles} mobile nodes",
            "simulation": {"duration": f"{seconds:g} s", "warm_up": "10 s"},
            "wifi": [medium(mac, SCHEMES[scheme][0], area=list(AREA), routing=DSDV, **air)],
            "node": [grid(fixed), mobile(mobiles)],
            "flow": flows,
        }
    )


def line(hops: int, flows: list[dict[str, Any]], seconds: float, **air: Any) -> Scenario:  # noqa: ANN401
    """Stations in a row, 200 m apart, on which rt-Winf runs."""
    return Scenario(
        {
            "simulation": {"duration": f"{seconds:g} s"},
            "wifi": [medium(law="xcp-winf", **air)],
            "node": [
                {
                    "name": "n{i}",
                    "count": hops + 1,
                    "wifi": "air",
                    "layout": {"kind": "grid", "columns": hops + 1, "spacing": "200 m"},
                }
            ],
            "flow": flows,
        }
    )
