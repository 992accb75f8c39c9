"""Figures 10 and 11: mesh nodes in a grid and 3 to 7 mobile nodes, FTP and CBR, and the smaller grids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whimbrel.claims import Claim, Verdict, above
from whimbrel.paper import Item, Quick
from whimbrel.papers.winf.choices import taken
from whimbrel.papers.winf.measures import METRICS, NAMES, compared, measure
from whimbrel.papers.winf.topology import MACS, NS2, SCHEMES, mesh
from whimbrel.scenario import Scenario
from whimbrel.sheet import Sheet
from whimbrel.statistics import Precision

ROWS = ["3", "4", "5", "6", "7"]
FEW, MANY = ROWS[:2], ROWS[-2:]
GRIDS = ["5", "9", "12", "16"]
SECONDS = 70.0
PRECISION = Precision.exactly(10)
QUICK = Quick(precision=Precision.exactly(8), overrides=("simulation.duration=40 s",), rows=["5"])
FEWER = replace(QUICK, precision=Precision.exactly(6))
CBR_QUICK = Quick(precision=Precision.exactly(5), overrides=("simulation.duration=25 s",), rows=["3", "7"])


def _item(figure: str, mac: str, cbr: str | None) -> Item:
    def scenario(row: str, column: str) -> Scenario:
        return mesh(column, 16, int(row), mac, SECONDS, cbr)

    load = f"CBR of {cbr}" if cbr else "FTP"
    return Item(
        key=f"fig{figure}{MACS[mac]}",
        title=f"16 mesh nodes, mobile nodes with {load}, MAC of {mac}",
        source=f"Figure {figure}",
        rows=ROWS,
        columns=list(SCHEMES),
        metrics=METRICS,
        scenario=taken(mac, scenario),
        measure=lambda result, _row, _column: measure(result),
        precision=PRECISION,
        quick=(QUICK if mac == NS2 else FEWER) if cbr is None else replace(CBR_QUICK, by_name=mac != NS2),
        row_label="Mobile nodes",
    )


def _grids(mac: str) -> Item:
    def scenario(row: str, column: str) -> Scenario:
        return mesh(column, int(row), 5, mac, SECONDS)

    return replace(
        _item("10", mac, None),
        key=f"grids{MACS[mac]}",
        title=f"5 mobile nodes with FTP among 5 to 16 mesh nodes, MAC of {mac}",
        source="Section 5.1",
        rows=GRIDS,
        scenario=taken(mac, scenario),
        quick=replace(FEWER, rows=["9"], by_name=mac != NS2),
        row_label="Mesh nodes",
    )


def _given(row: str, column: str) -> Scenario:
    controller = {"law": column, "capacity": f"{row} Mbit/s"}
    return mesh(column, 16, 5, NS2, SECONDS, controller=controller)


GIVEN = Item(
    key="given-capacity",
    title="5 mobile nodes with FTP, XCP and RCP with a given capacity, MAC of ns-2",
    source="not in the paper",
    rows=["0.5", "1", "2", "4.5", "11"],
    columns=["xcp", "rcp"],
    metrics=METRICS,
    scenario=_given,
    measure=lambda result, _row, _column: measure(result),
    precision=PRECISION,
    quick=replace(QUICK, by_name=True),
    row_label="Capacity, Mbit/s",
    note="No inference: the routers assume the capacity of the row. Otherwise as with 5 mobile nodes in "
    "Figure 10, where they assume the rate of data frames, 11 Mbit/s.",
)

READINGS: Mapping[str, tuple[str, str]] = {
    "xcp-winf": ("xcp-winf", "sensible"),
    "xcp-winf-literal": ("xcp-winf", "literal"),
    "rcp-winf": ("rcp-winf", "sensible"),
    "rcp-winf-literal": ("rcp-winf", "literal"),
    "rcp-winf-undivided": ("rcp-winf", "undivided"),
}
"""Scheme and reading of a column."""


def _reading(_row: str, column: str) -> Scenario:
    scheme, reading = READINGS[column]
    return mesh(scheme, 16, 5, NS2, SECONDS, reading=reading)


OTHERS = Item(
    key="readings",
    title="5 mobile nodes with FTP, readings of the printed algorithms, MAC of ns-2",
    source="Section 4",
    rows=["5"],
    columns=list(READINGS),
    metrics=METRICS,
    scenario=_reading,
    measure=lambda result, _row, _column: measure(result),
    precision=PRECISION,
    quick=replace(QUICK, by_name=True),
    row_label="Mobile nodes",
)

ITEMS = [
    make(mac)
    for make in (lambda mac: _item("10", mac, None), lambda mac: _item("11", mac, "64 kbit/s"), _grids)
    for mac in MACS
]
ITEMS += [GIVEN, OTHERS]

_WITH = (("xcp-winf", "xcp"), ("rcp-winf", "rcp"))


def _ftp(key: str, where: str) -> list[Claim]:
    papers = [
        compared(key, metric, winf, plain, where)
        for metric in ("throughput", "received", "delay")
        for winf, plain in _WITH
    ]
    tcp = [compared(key, "throughput", winf, "tcp", "Abstract") for winf, _ in _WITH]
    ours = [compared(key, "goodput", a, b) for a, b in (*_WITH, ("xcp-winf", "tcp"), ("rcp-winf", "tcp"))]
    return [*papers, *tcp, *ours]


def _cbr(key: str) -> list[Claim]:
    where = "Section 5.1, Figure 11"
    return [
        *(compared(key, "throughput", winf, plain, where) for winf, plain in _WITH),
        replace(
            compared(key, "throughput", "xcp", "rcp", where, FEW, "-few"),
            claim="Without rt-Winf, XCP has a higher throughput than RCP for 3 and 4 mobile nodes.",
        ),
        replace(
            compared(key, "throughput", "rcp-winf", "xcp-winf", where, MANY, "-many"),
            claim="With 6 and 7 mobile nodes, the bursts of traffic let RCP-Winf have the higher throughput.",
        ),
        *(compared(key, "goodput", winf, plain) for winf, plain in _WITH),
    ]


def _claims(mac: str) -> list[Claim]:
    end = MACS[mac]
    grids = f"grids{end}"
    return [
        *_ftp(f"fig10{end}", "Section 5.1, Figure 10"),
        *_cbr(f"fig11{end}"),
        *(compared(grids, "throughput", winf, plain, "Section 5.1") for winf, plain in _WITH),
        *(compared(grids, "goodput", winf, plain) for winf, plain in _WITH),
    ]


def _overestimate(column: str, lower: str) -> Claim:
    def check(sheets: Mapping[str, Sheet]) -> Verdict:
        value = sheets[GIVEN.key].value
        return above(value(column, "goodput", row=lower), value(column, "goodput", row="11"))

    return Claim(
        f"given-capacity-{column}-{lower}",
        f"{NAMES[column]} with a given capacity of {lower} Mbit/s has a higher goodput than with 11 Mbit/s.",
        (GIVEN.key,),
        check,
    )


CLAIMS = [claim for mac in MACS for claim in _claims(mac)]
CLAIMS += [compared("readings", metric, "xcp-winf-literal", "xcp-winf") for metric in ("goodput", "delay")]
CLAIMS += [_overestimate(column, lower) for column in GIVEN.columns for lower in ("4.5", "1")]
