"""Each law for a call under base stations, next to a download of another and of the same terminal."""

from __future__ import annotations

from typing import Any

from whimbrel.paper import Item, Quick
from whimbrel.papers.matrix.measures import ALONE, METRICS, measure
from whimbrel.papers.matrix.networks import FIRST, ONE_WAY_MS
from whimbrel.papers.matrix.schemes import ALL, LAWS, MEDIA_RATES, PAYLOAD, ROWS, SCHEMES
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import POSITIVE, Metric
from whimbrel.statistics import Precision

KEY = "base-stations"
PRESETS = ("lte", "nr-fr1-tdd")
WAYS = ("standing", "driving")
OTHER, SAME = "other", "same"
"""The terminal of the download: its packets wait in a queue of their own, or in the call's."""
CALLS = (*LAWS, "ccid3", "udp")
"""The schemes of the call."""
QUICK = ("gcc", "copa", "udp")
DOWNLOAD = "download"
TIME_S = 60.0
WARM_UP_S = 10.0
SPEED_MPS = 1000 / 60
"""60 km/h."""
SITES_M = (0, 500, 1000)
ROADSIDE_M = 30
"""Distance of the road from the base stations."""
STANDS_AT_M = 150
BACKGROUND = {"users": 6, "rate": "1 Mbit/s"}
"""Other users of each cell, as in `examples/scenarios/drive.toml`."""

OWN = [
    *(metric for metric in METRICS if metric.key not in ("share", "variation")),
    Metric(DOWNLOAD, "Mbit/s", "Download", 1, bounds=POSITIVE),
]


def column_of(preset: str, way: str, terminal: str) -> str:
    """The key of a column."""
    return f"{preset}-{way}-{terminal}"


PLACES = {
    column_of(preset, way, terminal): (preset, way, terminal)
    for preset in PRESETS
    for way in WAYS
    for terminal in (OTHER, SAME)
}
"""Preset, movement and the download's terminal of each column."""


def _terminal(name: str, way: str) -> dict[str, Any]:
    node: dict[str, Any] = {"name": name, "cell": f"at-{SITES_M[0]}"}
    if way == "standing":
        return node | {"position": [STANDS_AT_M, ROADSIDE_M]}
    points = [{"at": f"{time:g} s", "position": [time * SPEED_MPS, ROADSIDE_M]} for time in (0.0, TIME_S)]
    return node | {"mobility": {"kind": "waypoints", "points": points}}


def scenario(row: str, column: str) -> Scenario:
    """A call to a phone, and a download to the phone or to a tablet next to it."""
    preset, way, terminal = PLACES[column]
    cells = [
        {
            "name": f"at-{metres}",
            "gateway": "operator",
            "preset": preset,
            "position": [metres, 0],
            "background": BACKGROUND,
        }
        for metres in SITES_M
    ]
    keys = dict(ALL[ROWS[row]].keys)
    if keys["transport"] == "dccp":
        keys["traffic"] = {"kind": "cbr", "rate": MEDIA_RATES["max_rate"]}
    call = {"name": FIRST, "from": "server", "to": "phone", "payload": PAYLOAD, **keys}
    download = {
        "name": DOWNLOAD,
        "from": "server",
        "to": "phone" if terminal == SAME else "tablet",
        "transport": "tcp",
        "tcp": {"preset": "linux", "congestion": "cubic"},
        "background": True,
    }
    for flow in (call, download):
        flow |= {"start": "1 s", "start_jitter": "1 s"}
    link = {"between": ["server", "operator"], "rate": "1 Gbit/s", "delay": f"{ONE_WAY_MS} ms"}
    return Scenario(
        {
            "title": f"{row} under base stations: {column}",
            "simulation": {"duration": f"{TIME_S:g} s", "warm_up": f"{WARM_UP_S:g} s"},
            "record": {"interval": "1 s"},
            "cell": cells,
            "node": [
                {"name": "server"},
                {"name": "operator"},
                _terminal("phone", way),
                _terminal("tablet", way),
            ],
            "link": [{**link, "queue": "2000 packets"}],
            "flow": [call, download],
        }
    )


def measured(result: Result, row: str, _column: str) -> dict[str, float]:
    """The measures of the call, and the rate of the download."""
    all_of_them = measure(result, row, ALONE)
    own = {metric.key: all_of_them[metric.key] for metric in OWN if metric.key in all_of_them}
    return own | {DOWNLOAD: float(result.flows.one("goodput_bps", flow=DOWNLOAD)) / 1e6}


ITEM = Item(
    key=KEY,
    title="Each law for a call next to a download: base stations of LTE and NR",
    source="ours",
    rows=[SCHEMES[name].title for name in CALLS],
    columns=list(PLACES),
    metrics=OWN,
    scenario=scenario,
    measure=measured,
    precision=Precision.exactly(5),
    quick=Quick(
        precision=Precision.exactly(3),
        rows=[SCHEMES[name].title for name in QUICK],
        columns=[column for column, (preset, _, _) in PLACES.items() if preset == PRESETS[0]],
        by_name=True,
    ),
    is_drawn=False,
    row_label="Call",
    column_label="Cell, movement, terminal of the download",
    note="Presets `lte` and `nr-fr1-tdd`, three cells 500 m apart with six users of 1 Mbit/s each, RTT "
    "40 ms; 60 s, of which the last 50 s are measured. standing: 150 m from a base station; driving: at "
    "60 km/h past all three. other: the download goes to a tablet next to the phone; same: to the phone, "
    "whose packets share a queue of 6.17 MB. The delay is one-way.",
)
