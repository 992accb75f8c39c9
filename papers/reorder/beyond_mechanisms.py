"""CCID 3 on each path that reorders, by the receiver's loss detection."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import beyond_paths, beyond_schemes
from whimbrel.papers.reorder.beyond_paths import END_S, PATHS, WARM_UP_S, Path
from whimbrel.papers.reorder.beyond_schemes import SCHEMES
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

METRICS = [
    Metric("throughput", "%", "To the application, of the path's rate"),
    Metric("p", "%", "Loss event rate", 2),
    Metric("lost", "%", "Lost by queues", 2),
    Metric("late", "%", "Too late for the application", 2),
]


def scenario(row: str, column: str) -> Scenario:
    """One flow over one of the paths."""
    return over(PATHS[row], column, f"{row}, {column}")


def over(path: Path, column: str, title: str) -> Scenario:
    """One flow over a path.

    Args:
        path: to use.
        column: one of `SCHEMES`.
        title: of the scenario.
    """
    return Scenario(
        {
            "title": title,
            "simulation": {"duration": f"{END_S:g} s", "warm_up": f"{WARM_UP_S:g} s"},
            **beyond_paths.network(path),
            "flow": [beyond_schemes.flow(SCHEMES[column])],
        }
    )


def measure(result: Result, row: str, _column: str) -> Mapping[str, float]:
    """The rate delivered to the application, and the sender's estimates."""
    return seen(result, PATHS[row].rate_bps)


def seen(result: Result, rate_bps: float) -> Mapping[str, float]:
    """The metrics of a flow alone on a path of that rate."""
    flow = result.flows
    return {
        "throughput": 100 * float(flow["goodput_bps"][0]) / (beyond_schemes.DATA_SHARE * rate_bps),
        "p": 100 * float(flow["loss_event_rate_mean"][0]),
        "lost": 100 * float(flow["lost_queue"][0]) / float(flow["sent_packets"][0]),
        "late": beyond_schemes.late_share(flow),
    }


ITEM = Item(
    key="beyond-mechanisms",
    title="CCID 3 on paths that reorder",
    source="not in the paper",
    rows=list(PATHS),
    columns=list(SCHEMES),
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(3)),
    is_drawn=False,
    row_label="Path",
    note=f"{beyond_schemes.ABOUT} " + " ".join(f"{key}: {path.about}." for key, path in PATHS.items()),
)
