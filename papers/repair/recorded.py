"""The video on recorded networks.

Rates of mobile networks are generated from the statistics of recordings (`series`), and losses of 802.11
links from models fitted to recordings (paper `lda`). With the recordings, rates are replayed:

    WHIMBREL_TRACES=DIRECTORY whimbrel reproduce repair replay

`DIRECTORY` has the folders `mahimahi` (github.com/ravinet/mahimahi, `traces`; Winstein and others, NSDI
2013) and `norway3g` (github.com/confiwent/Real-world-bandwidth-traces, `cooked_3gp`; Riiser and others, MMSys
2013).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from whimbrel.papers.lda import recorded as recorded_losses
from whimbrel.papers.repair import series
from whimbrel.papers.repair.networks import Document, over
from whimbrel.papers.repair.schemes import Scheme
from whimbrel.papers.repair.videos import LARGE, MEDIUM, Video
from whimbrel.scenario import Scenario

RTT_MS, BUDGET_MS = 50.0, 150.0
QUEUE = "300 packets"
"""Of a base station: no loss, but delay."""
DIRECTORY = "WHIMBREL_TRACES"
"""The environment variable with the directory of the recordings."""


def _rates(file: Path, form: str) -> Document:
    return {"trace": {"file": str(file), "format": form, "start": "random"}, "queue": QUEUE}


def _series(network: str) -> Callable[[], tuple[Document, Video]]:
    return lambda: (_rates(series.path(network), "rate"), MEDIUM)


def _losses(level: str) -> Callable[[], tuple[Document, Video]]:
    return lambda: ({"rate": "50 Mbit/s", "loss": dict(recorded_losses.fitted(level))}, LARGE)


NETWORKS: Mapping[str, Callable[[], tuple[Document, Video]]] = {
    "LTE, driving": _series("lte"),
    "5G, driving": _series("5g"),
    "Wi-Fi, walking": _series("wifi"),
    "cellular, walking": _series("cellular"),
    "802.11, low": _losses("low"),
    "802.11, medium": _losses("medium"),
    "802.11, bursty": _losses("bursty"),
}
"""The link and the video of each, by the network's title."""

FILES: Mapping[str, tuple[str, str]] = {
    "AT&T LTE, down": ("mahimahi/ATT-LTE-driving-2016.down", "mahimahi"),
    "AT&T LTE, up": ("mahimahi/ATT-LTE-driving-2016.up", "mahimahi"),
    "Verizon LTE, up": ("mahimahi/Verizon-LTE-short.up", "mahimahi"),
    "T-Mobile UMTS, up": ("mahimahi/TMobile-UMTS-driving.up", "mahimahi"),
    "3G, tram": ("norway3g/norway_tram_10", "rate"),
}
"""The recordings that are replayed, and their formats."""


def scenario(scheme: Scheme, network: str) -> Scenario:
    """The video on a recorded network."""
    link, video = NETWORKS[network]()
    return over(scheme, network, link, video, RTT_MS, BUDGET_MS)


def replay(scheme: Scheme, recording: str) -> Scenario:
    """The video of 1.2 Mbit/s over recorded rates."""
    name, form = FILES[recording]
    link = _rates(Path(os.environ[DIRECTORY]) / name, form)
    return over(scheme, recording, link, MEDIUM, RTT_MS, BUDGET_MS)


def is_there() -> bool:
    """True if the recordings are there."""
    return DIRECTORY in os.environ and all(
        (Path(os.environ[DIRECTORY]) / name).is_file() for name, _ in FILES.values()
    )
