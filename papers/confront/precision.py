"""The repetitions and intervals of Section 3.6 and today's, for the throughputs of Tables 3 and 4."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from whimbrel.paper import Derived, Item
from whimbrel.papers.confront import measures
from whimbrel.papers.confront.measures import ROWS
from whimbrel.papers.confront.tables import PRECISION, QUICK, TABLES
from whimbrel.papers.confront.topology import NAMES, scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import FloatArray, defined
from whimbrel.summaries import Summary, summarise


def _derived(key: str, unit: str, label: str, digits: int, of: Callable[[Summary], float]) -> Derived:
    def compute(samples: Mapping[str, FloatArray]) -> float:
        sample = defined(samples["throughput"])
        return of(summarise(sample)) if sample.size > 1 else float("nan")

    return Derived(Metric(key, unit, label, digits), compute)


DERIVED = [
    _derived("n", "", "n, equation 15", 0, lambda found: found.first_n),
    _derived("n_student", "", "n, Student", 0, lambda found: found.student_n),
    _derived("normal", "kbit/s", "normal, ±", 1, lambda found: found.normal.half_width),
    _derived("student", "kbit/s", "Student, ±", 1, lambda found: found.student.half_width),
    _derived("bootstrap", "kbit/s", "bootstrap, ±", 1, lambda found: found.bootstrap.half_width),
]


def _item(key: str, size: int) -> Item:
    return Item(
        key=f"{key}-precision",
        title=f"Repetitions and 95 % intervals of the throughput, packets of {size} bytes",
        source=f"Section 3.6, {key.replace('table', 'Table ')}",
        rows=list(ROWS),
        columns=list(NAMES),
        metrics=[measures.METRICS[0]],
        derived=DERIVED,
        has=lambda row, column: column in ROWS[row].schemes,
        scenario=lambda row, _column: scenario(ROWS[row], size),
        measure=lambda result, row, column: {
            "throughput": measures.measure(result, ROWS[row], size, column)["throughput"]
        },
        precision=PRECISION,
        quick=QUICK,
        is_drawn=False,
        row_label="Confront",
        note="n by equation 15 is from the first three repetitions, n for Student's interval from all. With "
        "so few values, normal intervals are too narrow: Student's is 120 % wider for 3, 15 % for 10.",
    )


ITEMS = [_item(key, size) for key, size in TABLES.items()]
