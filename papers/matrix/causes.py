"""One change each that decides a claim of the matrix which does not hold."""

from __future__ import annotations

from whimbrel.paper import Item, Quick
from whimbrel.papers.matrix.measures import METRICS, measure, pair
from whimbrel.papers.matrix.networks import SECOND, scenario
from whimbrel.papers.matrix.schemes import SCHEMES
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

CUBIC = "tcp-cubic"
"""The first flow, since it comes first among the schemes."""


def _item(key: str, network: str, scheme: str, changed: str, values: tuple[str, ...], label: str) -> Item:
    title = SCHEMES[scheme].title

    def at(row: str, column: str) -> Scenario:
        return scenario(network, *pair(title, column)).changed(f"{changed}={row}")

    return Item(
        key=key,
        title=f"{title} beside {SCHEMES[CUBIC].title}, by the {label.lower()}",
        source="ours",
        rows=list(values),
        columns=[CUBIC],
        metrics=METRICS,
        scenario=at,
        measure=lambda result, _row, column: measure(result, title, column),
        precision=Precision.exactly(5),
        quick=Quick(precision=Precision.exactly(3), by_name=True),
        is_drawn=False,
        row_label=label,
        column_label="Beside",
    )


ITEMS = [
    _item(
        "prague-rate",
        "dualpi2",
        "tcp-prague",
        "link.bottleneck.rate",
        ("6 Mbit/s", "12 Mbit/s", "25 Mbit/s", "100 Mbit/s"),
        "Rate of the link",
    ),
    _item(
        "nada-largest",
        "droptail",
        "nada",
        f"flow.{SECOND}.media.max_rate",
        ("20 Mbit/s", "12 Mbit/s", "6 Mbit/s", "3 Mbit/s"),
        "Largest rate",
    ),
]
"""The claims `prague-coexists` and `media-starve`."""
