"""Each law for a call in an 802.11ax home with downloads, with and without airtime fairness."""

from __future__ import annotations

from typing import Any

from whimbrel.paper import Item, Quick
from whimbrel.papers.matrix.measures import ALONE, METRICS, measure
from whimbrel.papers.matrix.networks import FIRST, ONE_WAY_MS
from whimbrel.papers.matrix.schemes import ALL, LAWS, PAYLOAD, ROWS, SCHEMES
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import POSITIVE, Metric
from whimbrel.statistics import Precision

QUEUES: dict[str, dict[str, Any]] = {
    "airtime": {},
    "packets": {"airtime_fairness": False},
    "driver": {"queue": "1000 packets"},
}
"""Columns: Linux of today; its queues without fairness; the one queue of a driver, as before 2016."""
CALLS = (*LAWS, "udp")
"""The schemes of the call."""
STATIONS = {"right": 5, "laptop": 8, "tablet": 75}
"""Distances from the access point in metres. The tablet is slow: about a tenth of the laptop's rate."""
QUICK = ("gcc", "copa", "udp")
DOWNLOADS = ("laptop", "tablet")

OWN = [
    *(metric for metric in METRICS if metric.key != "share"),
    *(Metric(name, "Mbit/s", f"Download to the {name}", 1, bounds=POSITIVE) for name in DOWNLOADS),
]


def scenario(row: str, column: str) -> Scenario:
    """A call to a phone, and a download to each of two other stations."""
    medium = {
        "name": "air",
        "standard": "802.11ax",
        "width": "20 MHz",
        "streams": 1,
        "rate_control": "minstrel",
        "noise": "-94 dBm",
        "radio": {
            "power": "20 dBm",
            "frequency": "5.5 GHz",
            "receive_threshold": "-92 dBm",
            "carrier_sense_threshold": "-92 dBm",
        },
        "propagation": {"kind": "log-distance", "exponent": 3},
        **QUEUES[column],
    }
    stations = [
        {"name": name, "wifi": "air", "position": [distance, 0], "client": {"ssid": "home"}}
        for name, distance in STATIONS.items()
    ]
    router = {"name": "router", "wifi": "air", "position": [0, 0], "access_point": {"ssid": "home"}}
    call = {"name": FIRST, "from": "server", "to": "right", "payload": PAYLOAD, **ALL[ROWS[row]].keys}
    downloads = [
        {
            "name": name,
            "from": "server",
            "to": name,
            "transport": "tcp",
            "tcp": {"preset": "linux", "congestion": "cubic"},
            "background": True,
        }
        for name in DOWNLOADS
    ]
    for flow in (call, *downloads):
        flow |= {"start": "1 s", "start_jitter": "1 s"}
    link = {"between": ["server", "router"], "rate": "1 Gbit/s", "delay": f"{ONE_WAY_MS} ms"}
    return Scenario(
        {
            "title": f"{row} in a home of 802.11ax: {column}",
            "simulation": {"duration": "30 s", "warm_up": "10 s"},
            "record": {"interval": "1 s"},
            "wifi": [medium],
            "node": [{"name": "server"}, router, *stations],
            "link": [{**link, "queue": "2000 packets"}],
            "flow": [call, *downloads],
        }
    )


def measured(result: Result, row: str, _column: str) -> dict[str, float]:
    """The measures of the call, and the rates of the downloads."""
    own = measure(result, row, ALONE)
    del own["share"]
    return own | {name: float(result.flows.one("goodput_bps", flow=name)) / 1e6 for name in DOWNLOADS}


ITEM = Item(
    key="wifi-today",
    title="Each law for a call beside two downloads: 802.11ax",
    source="ours",
    rows=[SCHEMES[name].title for name in CALLS],
    columns=list(QUEUES),
    metrics=OWN,
    scenario=scenario,
    measure=measured,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(3), rows=[SCHEMES[name].title for name in QUICK], by_name=True),
    is_drawn=False,
    row_label="Call",
    column_label="Queues of the access point",
    note="20 MHz, one stream, RTT 40 ms; 30 s, of which the last 20 s are measured. The tablet is far from "
    "the access point. airtime: Linux's queues for each receiver, which share the airtime; packets: the "
    "same, which take turns; driver: one queue of 1000 packets. The delay is one-way.",
)
