"""Tables 3 and 4: eleven confronts, with packets of 512 and of 1424 bytes."""

from __future__ import annotations

import json
import math

from whimbrel import figures
from whimbrel.figures import Charts
from whimbrel.paper import Derived, Item, Quick
from whimbrel.papers.confront import measures
from whimbrel.papers.confront.measures import METRICS, ROWS
from whimbrel.papers.confront.topology import BED, FIRST, NAMES, OTHERS, Bed, Times, scenario, walk
from whimbrel.sheet import Metric, Sheet
from whimbrel.statistics import Precision

TABLES = {"table3": 512, "table4": 1424}
DECIDING = ("throughput", "transmitted", "load")
"""The metrics that decide the number of repetitions: of the others, few are far from zero."""
PRECISION = Precision(
    absolute_error={metric.key: math.inf for metric in METRICS if metric.key not in DECIDING}, maximum=20
)
"""The paper's: three repetitions, and then as many as five per cent require."""
QUICK_TIMES = Times(total=60.0, await_=4.0, handoffs=(20.0, 40.0))
N = Derived(Metric("n", "", "n, equation 15", 0), measures.papers_n)


def quick_overrides(times: Times = QUICK_TIMES) -> tuple[str, ...]:
    """The changes that make a scenario one with other times."""
    walks = [f"node.tablet{number}.mobility.points={_toml(walk(times, number))}" for number in range(2)]
    starts = [f"flow.{name}.start={times.await_:g} s" for name in OTHERS]
    shaken = [f"flow.{name}.start_jitter=50 ms" for name in (FIRST, *OTHERS)]
    return (f"simulation.duration={times.total:g} s", *walks, *starts, *shaken)


def _toml(points: list[dict[str, object]]) -> str:
    """A list of tables as a TOML value."""
    tables = (", ".join(f"{key} = {json.dumps(value)}" for key, value in point.items()) for point in points)
    return "[" + ", ".join(f"{{ {table} }}" for table in tables) + "]"


QUICK = Quick(precision=Precision.exactly(3), overrides=quick_overrides())


DRAWN = ("throughput", "lost_share", "jitter")


def _charts(sheet: Sheet) -> Charts:
    return {metric.key: figures.dots(sheet, metric) for metric in sheet.metrics if metric.key in DRAWN}


def item(key: str, size: int, bed: Bed = BED) -> Item:
    """One of the tables, on a test bed."""
    return Item(
        key=key,
        title=f"Eleven confronts with packets of {size} bytes and two hand-offs",
        source=key.replace("table", "Table "),
        rows=list(ROWS),
        columns=list(NAMES),
        metrics=METRICS,
        derived=[N],
        has=lambda row, column: column in ROWS[row].schemes,
        scenario=lambda row, _column: scenario(ROWS[row], size, bed=bed),
        measure=lambda result, row, column: measures.measure(result, ROWS[row], size, column),
        precision=PRECISION,
        quick=QUICK,
        is_drawn=False,
        charts=_charts,
        row_label="Confront",
        note="Means of the flows of each scheme, normalised by equations 5 and 8. The printed kbit/s are "
        "those of the authors' tablets and no claim; n is the number of repetitions by equation 15.",
    )


ITEMS = [item(key, size) for key, size in TABLES.items()]
