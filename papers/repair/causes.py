"""One change each that decides a claim on repair which does not hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from whimbrel.paper import Item, Quick
from whimbrel.papers.repair import elsewhere, recorded
from whimbrel.papers.repair.measures import METRICS, OTHERS, measure
from whimbrel.papers.repair.networks import scenario
from whimbrel.papers.repair.schemes import DIFFERENTIATED, GUARDED, OURS, SCHEMES, UNREPAIRED, Scheme
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

BUDGET_MS = 150.0
DIFFERENCES: Mapping[str, Scheme] = {
    scheme.title: scheme
    for scheme in (
        SCHEMES[OURS],
        GUARDED["no guard"],
        GUARDED["truth"],
        DIFFERENTIATED["none"],
        Scheme("CCID 3, no repair", "none", UNREPAIRED["standing"].keys),
        SCHEMES["none"],
    )
}
"""The first has everything; each of the others changes one thing, the last two congestion control as well."""
LATER = "Whimbrel, after 30 s"
LAST_HOP = ("WLH", "WLH, a TCP")
HEADERS: Mapping[str, Scheme] = {
    scheme.title: scheme
    for scheme in (
        SCHEMES[OURS],
        Scheme("Whimbrel's headers", "external", SCHEMES[OURS].keys),
        Scheme("CCID 3, no repair", "none", UNREPAIRED["standing"].keys),
        SCHEMES["none"],
    )
}
"""Headers alone are repair as a program sets it that asks for nothing."""
REPEATS: Mapping[str, Scheme] = {SCHEMES["nack"].title: SCHEMES["nack"]}
HAIRPIN: Mapping[str, Scheme] = {SCHEMES["hairpin"].title: SCHEMES["hairpin"]}


def _item(
    key: str,
    title: str,
    schemes: Mapping[str, Scheme],
    columns: Sequence[str],
    at: Callable[[Scheme, str], Scenario],
    column_label: str,
    measured: Callable[[Result, str, str], Mapping[str, float]] = measure,
    metrics: Sequence[Metric] = METRICS,
    runs: int = 6,
) -> Item:
    return Item(
        key=key,
        title=title,
        source="ours",
        rows=list(schemes),
        columns=list(columns),
        metrics=list(metrics),
        scenario=lambda row, column: at(schemes[row], column),
        measure=measured,
        precision=Precision.exactly(runs),
        quick=Quick(precision=Precision.exactly(2), by_name=True),
        is_drawn=False,
        row_label="Scheme",
        column_label=column_label,
    )


def _round_trip(scheme: Scheme, column: str) -> Scenario:
    return scenario(scheme, "8 %", float(column), BUDGET_MS)


def _last_hop(scheme: Scheme, column: str) -> Scenario:
    made = elsewhere.scenario(scheme, column)
    return made.changed("simulation.warm_up=30 s") if scheme.title == LATER else made


def _fades(scheme: Scheme, column: str) -> Scenario:
    return scenario(scheme, "fades", 50.0, float(column)).changed("simulation.duration=300 s")


ITEMS = [
    _item(
        "networks-causes",
        "The last hop of paper lda: repair, loss differentiation, congestion control, and the start",
        {**DIFFERENCES, LATER: replace(SCHEMES[OURS], title=LATER)},
        LAST_HOP,
        _last_hop,
        "Network",
        elsewhere.measured,
        [*METRICS, OTHERS],
        runs=20,
    ),
    _item(
        "recorded-causes",
        "Recorded cellular network, walking: headers, congestion control",
        HEADERS,
        ["cellular, walking"],
        recorded.scenario,
        "Network",
        runs=40,
    ),
    _item(
        "budget-edge",
        "Round-trip times near the budget of 150 ms: 8 % random loss",
        REPEATS,
        ["148", "150", "152", "160"],
        _round_trip,
        "RTT, ms",
    ),
    _item(
        "fades-budget",
        "Fades of 200 ms over 300 s, RTT 50 ms, by the budget",
        HAIRPIN,
        ["100", "150", "250", "350"],
        _fades,
        "Budget, ms",
    ),
]
"""The claims `networks-not-more-late`, `recorded-not-more-late`, `no-round-no-repeat`, `fades-remain`."""
