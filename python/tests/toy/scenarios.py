"""A fictitious paper in the form of a real one."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from whimbrel.claims import Claim, above, below
from whimbrel.figures import Charts, series
from whimbrel.paper import Item, Paper, Quick
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Picture, Sheet
from whimbrel.statistics import Precision

MEANS = {"tcp": 58.0, "zigzag": 97.0}
METRICS = [Metric("throughput", "%", "Throughput"), Metric("delay", "ms", "Delay", 2)]


def _scenario(row: str, column: str) -> Scenario:
    return Scenario({"mean": MEANS[column] / float(row), "spread": 1.0})


def _measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    value = float(result.flows["goodput_bps"][0])
    return {"throughput": value, "delay": 1000 / value}


def _charts(_: Sheet) -> Charts:
    return {"over-time": series("Over time", {"tcp": ([0.0, 1.0], [1.0, 2.0])}, "time (s)", "rate (kbit/s)")}


def _pictures(result: Callable[[str, str], Result], directory: Path) -> Sequence[Picture]:
    value = result("1", "tcp").flows["goodput_bps"][0]
    (directory / "toy.svg").write_text(f"<svg xmlns='http://www.w3.org/2000/svg'><text>{value}</text></svg>")
    return [Picture("toy.svg", "A <toy> & its picture")]


def _model(scenario: Scenario, _: int) -> Result:
    return Result({"flows": {"goodput_bps": [float(scenario.document["mean"])]}})


PAPER = Paper(
    key="toy",
    title="On <Toys> & Trains",
    authors="A. Author and B. Writer",
    year=2003,
    about="States that trains beat toys.",
    items=[
        Item(
            key="table1",
            title="One flow",
            source="Table 1",
            rows=["1"],
            columns=["tcp", "zigzag"],
            metrics=METRICS,
            scenario=_scenario,
            measure=_measure,
            precision=Precision.exactly(4),
            quick=Quick(precision=Precision.exactly(2)),
            pictures=_pictures,
        ),
        Item(
            key="fig2",
            title="Several flows",
            source="Figure 2",
            rows=["1", "2", "4"],
            columns=["tcp", "zigzag"],
            metrics=METRICS[:1],
            scenario=_scenario,
            measure=lambda result, _row, _column: {"throughput": float(result.flows["goodput_bps"][0])},
            precision=Precision.exactly(4),
            quick=Quick(
                precision=Precision.exactly(1), overrides=("spread=0",), rows=["1", "4"], columns=["tcp"]
            ),
            charts=_charts,
            row_label="Flows",
        ),
        Item(
            key="model",
            title="A model without packets",
            source="Equation 3",
            rows=["1"],
            columns=["tcp"],
            metrics=METRICS[:1],
            scenario=_scenario,
            measure=lambda result, _row, _column: {"throughput": float(result.flows["goodput_bps"][0])},
            precision=Precision.exactly(1),
            quick=Quick(by_name=True),
            run=_model,
        ),
    ],
    claims=[
        Claim(
            "zigzag-wins",
            "ZigZag moves more than TCP.",
            ("table1",),
            lambda sheets: above(
                sheets["table1"].value("zigzag", "throughput"), sheets["table1"].value("tcp", "throughput")
            ),
            "Section 6",
        ),
        Claim(
            "tcp-wins",
            "TCP moves more than ZigZag.",
            ("table1",),
            lambda sheets: below(
                sheets["table1"].value("zigzag", "throughput"), sheets["table1"].value("tcp", "throughput")
            ),
        ),
        Claim(
            "fewer-is-more",
            "One flow moves more than four.",
            ("table1", "fig2"),
            lambda sheets: above(
                sheets["fig2"].value("tcp", "throughput", row="1"),
                sheets["fig2"].value("tcp", "throughput", row="4"),
            ),
        ),
    ],
    headline=["table1"],
)
