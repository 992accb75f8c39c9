"""Results in notebooks: HTML without further packages, figures by the code of the report."""

import importlib
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from test_paper_folders import write_paper

import whimbrel
from whimbrel._base import paper_folders
from whimbrel._campaigns.campaign import Campaign, Case
from whimbrel._campaigns.outcomes import Outcome, Outcomes
from whimbrel._reproduce import rebuild
from whimbrel._show import display
from whimbrel._show.display import Plot
from whimbrel.errors import MissingExtra, UsageError
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet, value_of
from whimbrel.statistics import Precision

SVG = "{http://www.w3.org/2000/svg}"


def scenario(rate: str, interval: str = "") -> Scenario:
    record = {"record": {"interval": interval}} if interval else {}
    return Scenario(
        {
            "simulation": {"duration": "3 s"},
            "node": [{"name": "a"}, {"name": "b"}],
            "link": [
                {
                    "between": ["a", "b"],
                    "rate": rate,
                    "delay": "5 ms",
                    "queue": "20 packets",
                    "loss": {"model": "bernoulli", "rate": "1 %"},
                }
            ],
            "flow": [
                {"name": name, "from": "a", "to": "b", "transport": "dccp", "packet_size": "1000 B"}
                for name in ("video", "<call>")
            ],
            **record,
        }
    )


def texts(plot: Plot) -> str:
    """The words in a figure."""
    root = ElementTree.fromstring(plot.svg)  # noqa: S314 - drawn here
    return " ".join(text for element in root.iter(f"{SVG}text") for text in element.itertext())


@pytest.fixture
def outcomes(tmp_path: Path) -> Outcomes:
    cases = [
        Case(rate, scenario(rate), lambda result: {"goodput_bps": float(result.flows["goodput_bps"][0])})
        for rate in ("2 Mbit/s", "1 Mbit/s")
    ]
    return Campaign(tmp_path, precision=Precision.exactly(4), jobs=2).execute(cases)


def test_a_run_is_shown_with_its_flows() -> None:
    html = whimbrel.run(scenario("1 Mbit/s", "1 s"))._repr_html_()
    assert "goodput_bps" in html
    assert "&lt;call&gt;" in html
    assert "<call>" not in html
    assert "<b>intervals</b>: 6 rows" in html


def test_a_long_table_is_shown_by_its_ends() -> None:
    html = Result({"packets": {"n": np.arange(100)}})["packets"]._repr_html_()
    assert all(f"<td>{n}</td>" in html for n in (0, 4, 95, 99))
    assert "<td>50</td>" not in html
    assert "90 more rows" in html


def test_a_run_is_drawn_over_time_if_that_was_recorded_and_otherwise_by_flow() -> None:
    recorded = whimbrel.run(scenario("1 Mbit/s", "1 s"))
    over_time = recorded.plot("rtt_s", flows=["video"])
    assert "Time (s)" in texts(over_time)
    assert {value["column"] for value in over_time.chart["data"]["values"]} == {"video"}
    expected = recorded.intervals.where(flow="video")["rtt_s"] * 1e3
    drawn = [value["y"] for value in over_time.chart["data"]["values"]]
    assert drawn == pytest.approx([None if np.isnan(each) else each for each in expected])
    by_flow = whimbrel.run(scenario("1 Mbit/s")).plot()
    assert "video" in texts(by_flow)
    assert "kbit/s" in texts(by_flow)
    for wrong in ({"column": "speed"}, {"column": "scheme"}, {"flows": ["radio"]}):
        with pytest.raises(UsageError, match="expected"):
            recorded.plot(**wrong)


def test_a_campaign_is_shown_drawn_and_compared(outcomes: Outcomes) -> None:
    html = outcomes._repr_html_()
    mean = outcomes["1 Mbit/s"].values["goodput_bps"].mean() / 1e3
    assert f'<span class="ours">{mean:.1f}</span>' in html
    assert "±" in html
    values = outcomes.plot("goodput_bps").chart["data"]["values"]
    assert {value["column"]: round(value["ours"], 6) for value in values}["1 Mbit/s"] == round(mean, 6)
    compared = outcomes.compare("goodput_bps", to="1 Mbit/s")
    ratio = compared.ratios["2 Mbit/s"]
    assert ratio is not None
    assert ratio.mean == pytest.approx(outcomes["2 Mbit/s"].values["goodput_bps"].mean() / mean / 1e3)
    assert ratio.low > 1
    assert compared.verdict("2 Mbit/s") == "higher"
    assert "Ratio to 1 Mbit/s" in texts(compared.plot())
    assert f"{ratio.mean:.3g} ({ratio.low:.3g} to {ratio.high:.3g})" in compared._repr_html_()
    for call in (
        lambda: outcomes.plot("speed"),
        lambda: outcomes.compare("speed", to="1 Mbit/s"),
        lambda: outcomes.compare("goodput_bps", to="3 Mbit/s"),
    ):
        with pytest.raises(UsageError, match="expected one of"):
            call()


def test_one_outcome_is_shown_and_drawn_alone(outcomes: Outcomes) -> None:
    outcome = outcomes["1 Mbit/s"]
    assert "Goodput" in outcome._repr_html_()
    assert "all runs" in texts(outcome.plot())


def test_a_comparison_without_a_difference_or_a_mean_is_undecided() -> None:
    def outcome(*values: float) -> Outcome:
        return Outcome(tuple(range(len(values))), ("",) * len(values), {"p": np.array(values)})

    made = Outcomes(
        base=outcome(1.0, 1.1, 0.9),
        same=outcome(0.9, 1.1, 1.05),
        low=outcome(0.1, 0.12, 0.11),
        none=outcome(np.nan),
    )
    compared = made.compare("p", to="base")
    verdicts = {case: compared.verdict(case) for case in compared.ratios}
    assert verdicts == {"same": "undecided", "low": "lower", "none": "undecided"}
    assert "Dot chart. P as a ratio to base." in compared.plot().chart["description"]


def test_an_unbounded_interval_is_drawn_to_the_edge() -> None:
    made = Outcomes(
        a=Outcome((1, 2), ("", ""), {"p": np.array([-1.0, 1.5])}),
        b=Outcome((1, 2), ("", ""), {"p": np.array([1.0, 1.1])}),
    )
    plot = made.compare("p", to="a").plot()
    assert all(np.isfinite(value["high"]) for value in plot.chart["data"]["values"])
    assert plot.svg.startswith("<svg")


def test_a_reproduced_paper_is_shown_with_its_figures_and_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_folders, "_added", [])
    papers = tmp_path / "papers"
    write_paper(papers, "shown")
    out = tmp_path / "out"
    made = whimbrel.reproduce_paper("shown", ["use"], out=out, quick=True, papers=[papers])
    assert list(made.sheets) == ["use"]
    html = made._repr_html_()
    assert made.paper.title in html
    assert '<span class="printed">paper 100' in html
    assert made.plot().chart["title"]["subtitle"][0] == "quick pass: fewer and shorter runs"
    # The report has the same figures and numbers.
    rebuild.rebuild(out)
    drawn = json.loads((out / "shown" / "use-goodput.vl.json").read_text())
    assert made.plot("use", "goodput").chart == drawn
    assert whimbrel.read_reproduction("shown", out)._repr_html_() == html
    assert made.verdict("fits").holds
    assert "<td>holds</td><td>97 kbit/s of 100</td>" in html
    with pytest.raises(UsageError, match="expected one of use"):
        made["table9"]
    with pytest.raises(UsageError, match="was not checked"):
        made.verdict("nothing")
    with pytest.raises(UsageError, match="nothing of lda has been reproduced"):
        whimbrel.read_reproduction("lda", out)


def test_a_figure_is_saved_by_its_suffix(tmp_path: Path) -> None:
    sheet = Sheet("s", "", ["r"], ["c"], [Metric("m", "", "M")])
    sheet.values["r", "c", "m"] = value_of([1.0, 2.0])
    plot = sheet.plot()
    heads = {"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG"}
    for kind, head in heads.items():
        assert plot.save(tmp_path / f"figure.{kind}").read_bytes().startswith(head)
    assert plot._repr_html_().startswith("<div")
    assert "M" in repr(plot)
    with pytest.raises(UsageError, match=r"ends with \.svg, \.pdf, \.png"):
        plot.save(tmp_path / "figure.gif")
    with pytest.raises(UsageError, match="has no figure 'x': expected one of m"):
        sheet.plot("x")
    with pytest.raises(UsageError, match="no numbers to draw"):
        Sheet("empty", "", ["r"], ["c"], [Metric("m", "", "M")]).plot()


def test_without_the_drawing_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    result = whimbrel.run(scenario("1 Mbit/s"))
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr(importlib, "import_module", _without_drawing)
    # Tables need no drawing.
    assert "goodput_bps" in result._repr_html_()
    with pytest.raises(MissingExtra, match=r"pip install 'whimbrel\[charts\]'"):
        _ = result.plot().svg


def _without_drawing(name: str) -> object:
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_html_of_results_needs_no_drawing_module() -> None:
    assert "vl_convert" not in vars(display)
