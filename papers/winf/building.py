"""Figures 14 to 18: the public building of Table 1.

400 m x 400 m with mobile nodes and six mesh nodes at random places, one of which is off for a sixth of the
time. Each mobile node sends four CBR flows for two fifths of the time. The
figures differ in load, speed and in the correction for collisions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.claims import Claim, Verdict, above, below, times
from whimbrel.paper import Item, Quick
from whimbrel.papers.winf.choices import taken
from whimbrel.papers.winf.measures import METRICS, NAMES, compared, measure, once
from whimbrel.papers.winf.thresholds import GAIN_RANGE
from whimbrel.papers.winf.topology import DSDV, MACS, NS2, SCHEMES, load, medium, mobile
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet, Value
from whimbrel.statistics import Precision

SIDE_M = 400.0
INSIDE_M = (400.0, 200.0)
"""The part of the area in which mesh nodes are placed."""
MESH_NODES = 6
SECONDS, SENDING_S, OFF_S = 600.0, 240.0, (260.0, 360.0)
FLOWS_PER_NODE = 4
DATA = "512 B"
CORRECTED = "-corrected"
"""Ending of a scheme whose available bandwidth is corrected for collisions."""
ROWS = ["10", "20", "30"]
RUNS = Precision.exactly(10)
BY_NAME = Quick(precision=Precision.exactly(2), by_name=True)


@dataclass(frozen=True)
class Load:
    """The flows of a mobile node (Table 1).

    Attributes:
        figure: that shows it.
        name: in titles.
        rate_kbps: of a flow.
        apart_s: time between the starts of a node's flows.
    """

    figure: str
    name: str
    rate_kbps: int
    apart_s: float


LIGHT = Load("14", "light", 64, 0.4)
HEAVY = Load("15", "heavy", 128, 0.1)
LOADS = (LIGHT, HEAVY)


def _flows(scheme: str, mobiles: int, traffic: Load) -> list[dict[str, Any]]:
    """Each node begins at a random time, which is the same in all runs and for all schemes."""
    draw = random.Random(mobiles)  # noqa: S311 - no secret
    flows = []
    for node in range(mobiles):
        start = draw.uniform(5.0, SECONDS - SENDING_S - 5.0)
        for number in range(FLOWS_PER_NODE):
            begin = start + number * traffic.apart_s
            to = draw.choice([other for other in range(mobiles) if other != node])
            flows.append(
                {
                    "name": f"f{node}-{number}",
                    "from": f"n{node}",
                    "to": f"n{to}",
                    "start": f"{begin:.3f} s",
                    "stop": f"{begin + SENDING_S:.3f} s",
                    **load(scheme, f"{traffic.rate_kbps} kbit/s", DATA),
                }
            )
    return flows


def scenario(
    scheme: str,
    mobiles: int,
    traffic: Load,
    mac: str,
    speed: float = 30.0,
    is_corrected: bool | None = None,
    **more: Any,  # noqa: ANN401
) -> Scenario:
    """The building with a maximum speed (0: the nodes stand), and other keys of the scenario.

    With `is_corrected` the scenario says whether the available bandwidth is corrected for collisions.
    """
    law = SCHEMES[scheme][0]
    controller: dict[str, Any] = {}
    if is_corrected is not None:
        controller = {"controller": {"law": law, "collision_correction": is_corrected}}
    inside = {"layout": {"kind": "random", "area": list(INSIDE_M)}, "wifi": "air"}
    off = {"off": [[f"{time:g} s" for time in OFF_S]]}
    return Scenario(
        {
            "title": f"{scheme}, building, {mobiles} mobile nodes, {traffic.name} flows",
            "simulation": {"duration": f"{SECONDS:g} s", "warm_up": "5 s"},
            "wifi": [medium(mac, law, area=[SIDE_M, SIDE_M], routing=DSDV, **controller)],
            "node": [
                {"name": "off", **inside, **off, "count": 1},
                {"name": "m{i}", **inside, "count": MESH_NODES - 1},
                mobile(mobiles, (0.0, 0.0) if speed == 0 else (1.0, speed)),
            ],
            "flow": _flows(scheme, mobiles, traffic),
            **more,
        }
    )


def _of(traffic: Load, mac: str) -> Callable[[str, str], Scenario]:
    """The scenarios of an item: of the building, the heavy load alone has the choices of the meshes."""

    def plain(row: str, column: str) -> Scenario:
        return scenario(column, int(row), traffic, mac)

    return taken(mac, plain) if traffic is HEAVY else plain


def _item(traffic: Load, mac: str) -> Item:
    return Item(
        key=f"fig{traffic.figure}{MACS[mac]}",
        title=f"The building, {traffic.name} flows, MAC of {mac}",
        source=f"Figure {traffic.figure}",
        rows=ROWS if mac == NS2 else ROWS[1:2],
        columns=list(SCHEMES),
        metrics=METRICS,
        scenario=_of(traffic, mac),
        measure=lambda result, _row, _column: measure(result),
        precision=Precision.exactly(3) if traffic is HEAVY and mac == NS2 else RUNS,
        quick=BY_NAME,
        row_label="Mobile nodes",
    )


def _queue(result: Result, _row: str, _column: str) -> dict[str, float]:
    """The queue of the first mobile node, each second, while it sends."""
    table = result["intervals"]
    start = float(_flows("tcp", QUEUE_NODES, HEAVY)[0]["start"].removesuffix(" s"))
    samples = [
        queue
        for flow, end, queue in zip(table["flow"], table["time_s"], table["queue_packets"], strict=True)
        if flow == "f0-0" and start < end <= start + SENDING_S
    ]
    return {
        "queue": float(np.mean(samples)) if samples else math.nan,
        "deviation": float(np.std(samples)) if samples else math.nan,
    }


QUEUE_NODES = 20
FIG16 = Item(
    key="fig16",
    title="Queue of a mobile node in the building with heavy flows, MAC of ns-2",
    source="Figure 16",
    rows=[str(QUEUE_NODES)],
    columns=list(SCHEMES),
    metrics=[
        Metric("queue", "packets", "Mean queue", 1),
        Metric("deviation", "packets", "Deviation", 1, title="Standard deviation of the queue over time"),
    ],
    scenario=lambda row, column: scenario(column, int(row), HEAVY, NS2, record={"interval": "1 s"}),
    measure=_queue,
    precision=RUNS,
    quick=BY_NAME,
    row_label="Mobile nodes",
    note="The queue is sampled each second while the node sends.",
)


def _collisions(figure: str, scheme: str) -> Item:
    def compared_scenario(row: str, column: str) -> Scenario:
        return scenario(scheme, 20, HEAVY, NS2, float(row), is_corrected=column.endswith(CORRECTED))

    return Item(
        key=f"fig{figure}",
        title=f"{NAMES[scheme]} in the building with heavy flows, with and without the collision probability",
        source=f"Figure {figure}",
        rows=["0", "100"],
        columns=[scheme, scheme + CORRECTED],
        metrics=METRICS,
        scenario=compared_scenario,
        measure=lambda result, _row, _column: measure(result),
        precision=RUNS,
        quick=Quick(precision=Precision.exactly(2), rows=["100"], by_name=True),
        row_label="Maximum speed, m/s",
        note="Corrected: the sender's available bandwidth less the share of its backoff, equations 7 to 9.",
    )


GAINS = {"17": ("xcp-winf", 8.5), "18": ("rcp-winf", 6.5)}
ITEMS = [
    *(_item(traffic, mac) for mac in MACS for traffic in LOADS),
    FIG16,
    *(_collisions(figure, scheme) for figure, (scheme, _) in GAINS.items()),
]
_PAIRS = (("xcp-winf", "xcp"), ("rcp-winf", "rcp"))


def _steady(winf: str, plain: str) -> Claim:
    def check(sheets: Mapping[str, Sheet]) -> Verdict:
        value = sheets["fig16"].value
        return below(value(winf, "deviation"), value(plain, "deviation"))

    return Claim(
        f"fig16-{winf}-steady",
        f"{NAMES[plain]} has higher variations of the queue length than {NAMES[winf]}.",
        ("fig16",),
        check,
        "Section 5.1, Figure 16",
    )


def _gain(figure: str) -> list[Claim]:
    key, (scheme, percent) = f"fig{figure}", GAINS[figure]

    def pair(sheets: Mapping[str, Sheet], row: str) -> tuple[Value, Value]:
        value = sheets[key].value
        return value(scheme + CORRECTED, "throughput", row=row), value(scheme, "throughput", row=row)

    low, high = (1 + (percent + side * GAIN_RANGE) / 100 for side in (-1, 1))
    where = f"Section 5.1, Figure {figure}"
    return [
        Claim(
            f"{key}-improves",
            f"At up to 100 m/s the collision probability improves the throughput of {NAMES[scheme]}.",
            (key,),
            lambda sheets: above(*pair(sheets, "100")),
            where,
        ),
        Claim(
            f"{key}-gain",
            f"At up to 100 m/s it improves the throughput of {NAMES[scheme]} by about {percent} % "
            f"(within {GAIN_RANGE} points).",
            (key,),
            lambda sheets: times(*pair(sheets, "100"), low, high),
            where,
        ),
    ]


def _claims(traffic: Load, mac: str) -> list[Claim]:
    key, where = f"fig{traffic.figure}{MACS[mac]}", f"Section 5.1, Figure {traffic.figure}"
    return [
        *(
            compared(key, metric, winf, plain, where)
            for metric in ("throughput", "received", "delay")
            for winf, plain in _PAIRS
        ),
        *(compared(key, "goodput", winf, plain) for winf, plain in _PAIRS),
    ]


CLAIMS = [
    once(claim)
    for claim in (
        *(claim for mac in MACS for traffic in LOADS for claim in _claims(traffic, mac)),
        *(_steady(*pair) for pair in _PAIRS),
        *(claim for figure in GAINS for claim in _gain(figure)),
    )
]
