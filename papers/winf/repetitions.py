"""The packets that arrive by scheme: new data, repetitions, and data behind holes (not in the paper).

Throughput counts every packet that arrives, goodput the bytes in order. The difference has two parts: packets
that had arrived before, and packets behind one that has not arrived yet. RCP runs on TCP's reliability and
without a window, so that it sends far ahead of what was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import whimbrel
from whimbrel.claims import Claim, Verdict, above, at_least
from whimbrel.paper import Item, Quick
from whimbrel.papers.winf import building
from whimbrel.papers.winf.measures import measure
from whimbrel.papers.winf.topology import NS2, SCHEMES, mesh
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet
from whimbrel.statistics import Precision

MESH, CBR, BUILDING = "mesh, FTP", "mesh, CBR", "building, heavy"
ROWS: Mapping[str, Callable[[str], Scenario]] = {
    MESH: lambda scheme: mesh(scheme, 16, 5, NS2, 70.0),
    CBR: lambda scheme: mesh(scheme, 16, 5, NS2, 70.0, "64 kbit/s"),
    BUILDING: lambda scheme: building.scenario(scheme, 10, building.HEAVY, NS2),
}
"""The scenario of a scheme."""
METRICS = [
    Metric("throughput", "kbit/s", "Throughput", 0, title="Throughput of all flows, repetitions included"),
    Metric("fresh", "kbit/s", "New", 0, title="Packets that had not arrived before"),
    Metric("goodput", "kbit/s", "Goodput", 0, title="Bytes in order"),
    Metric("new", "%", "New, of what arrives", 1),
    Metric("repeated", "%", "Repetitions, of what is sent", 1),
]


def arrived(packets: Mapping[str, np.ndarray], start_s: float) -> tuple[int, int]:
    """The numbers of packets received from a time on: all, and those that had not arrived before."""
    has = packets["fate"] == "received"
    flow, sequence, time = (packets[key][has] for key in ("flow", "sequence", "received_s"))
    names = np.unique(flow, return_inverse=True)[1]
    order = np.argsort(time, kind="stable")
    places = np.stack([names[order], sequence[order].astype(np.int64)])
    _, first = np.unique(places, axis=1, return_index=True)
    counts = time[order] >= start_s
    return int(np.count_nonzero(counts)), int(np.count_nonzero(counts[first]))


def run(given: Scenario, seed: int) -> Result:
    """Simulates, and keeps the sums instead of the packets."""
    start_s = float(given.document["simulation"]["warm_up"].removesuffix(" s"))
    result = whimbrel.run(given, seed, packets=True)
    flows, found = result.flows, measure(result)
    total, fresh = arrived(result.packets, start_s)
    share = fresh / total
    sums = {
        "throughput": found["throughput"],
        "fresh": found["throughput"] * share,
        "goodput": found["goodput"],
        "new": share * 100,
        "repeated": float(sum(flows["retransmitted_packets"]) / sum(flows["sent_packets"])) * 100,
    }
    return Result({"sums": {key: [value] for key, value in sums.items()}})


ITEM = Item(
    key="repetitions",
    title="New data and repetitions among what arrives, MAC of ns-2",
    source="not in the paper",
    rows=list(ROWS),
    columns=list(SCHEMES),
    metrics=METRICS,
    scenario=lambda row, column: ROWS[row](column),
    measure=lambda result, _row, _column: {
        metric.key: float(result["sums"][metric.key][0]) for metric in METRICS
    },
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(3), rows=[MESH]),
    run=run,
    is_drawn=False,
    row_label="Network",
    note="5 mobile nodes among 16 mesh nodes, and 10 in the building.",
)
MOST = 60.0
"""Per cent of what arrives that is at least new of RCP: "most"."""


def _mostly_new(sheets: Mapping[str, Sheet]) -> Verdict:
    return at_least(sheets[ITEM.key].value("rcp", "new", row=MESH), MOST)


def _behind_holes(sheets: Mapping[str, Sheet]) -> Verdict:
    value = sheets[ITEM.key].value
    return above(value("rcp", "fresh", row=MESH), value("rcp", "goodput", row=MESH), by=1000.0)


CLAIMS = [
    Claim(
        "rcp-mostly-new",
        f"At least {MOST:g} % of the packets of RCP that arrive in the mesh had not arrived before.",
        (ITEM.key,),
        _mostly_new,
    ),
    Claim(
        "rcp-behind-holes",
        "RCP delivers at least 1,000 kbit/s of new data in the mesh that its goodput does not count.",
        (ITEM.key,),
        _behind_holes,
    ),
]
