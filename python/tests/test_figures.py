"""Charts: every number once, every scheme in its own style, reproducible bytes."""

import json
import math
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from whimbrel import figures
from whimbrel._show import drawing
from whimbrel._show.drawing import Drawing
from whimbrel.errors import WhimbrelError
from whimbrel.sheet import Metric, Sheet, Value, value_of

RATE = Metric("rate", "kbit/s", "Rate")


def sheet(rows: list[str]) -> Sheet:
    made = Sheet("fig", "Rates", rows, ["tcp", "zigzag", "unheard-of"], [RATE], row_label="Flows")
    for index, row in enumerate(rows):
        made.values[row, "tcp", "rate"] = Value(np.array([1.0, 2.0, 3.0]) + index, paper=2.5)
        made.values[row, "zigzag", "rate"] = value_of([7.0])
        made.values[row, "unheard-of", "rate"] = value_of([math.nan], paper=4.0)
    return made


def test_schemes_of_one_paper_never_look_alike() -> None:
    for family in (
        ["tcp", "tfrc", "omniscient", "biaz", "mbiaz", "spike", "zigzag", "zbs", "zbs2", "zbs3"],
        ["tcp-reno", "tcp-cubic", "tcp-veno", "udp", "ccid2", "ccid3"],
        ["xcp", "rcp", "xcp-winf", "rcp-winf", "tcp"],
        ["rt-winf", "idle-gap", "adhoc-probe"],
        ["tfrc", "freeze", "tcp"],
        ["ccid2", "ccid3", "ccid4"],
    ):
        for first, second in combinations(figures.schemes(family), 2):
            assert first.colour != second.colour, (first, second)
            assert first.name != second.name


def test_a_scheme_without_a_style_is_conspicuous() -> None:
    tcp, other, another = figures.schemes(["tcp", "mine", "yours"])
    assert tcp.name == "TCP"
    assert (other.name, another.name) == ("mine", "yours")
    assert other.colour != another.colour
    assert figures.name_of("mine") == "mine"


def test_points_have_the_numbers_of_the_sheet() -> None:
    tcp, zigzag, unheard = figures.points(sheet(["1"]), RATE)
    assert (tcp["column"], tcp["ours"], tcp["paper"], tcp["n"]) == ("TCP", 2.0, 2.5, 3)
    assert tcp["high"] == pytest.approx(2 + 2.484138)
    # a rate cannot be negative: of the interval from -0.48 the possible part is drawn
    assert (tcp["low"], tcp["cut"]) == (0.0, True)
    # one run has no interval: the bar has no length
    assert (zigzag["low"], zigzag["ours"], zigzag["high"], zigzag["paper"]) == (7.0, 7.0, 7.0, None)
    assert unheard["paper"] == 4.0
    assert "ours" not in unheard


def test_rows_that_form_an_axis_are_drawn_as_curves() -> None:
    many = [str(number) for number in range(40)]
    marks = {
        len(rows): [layer["mark"]["type"] for layer in figures.usual_charts(sheet(rows))["rate"]["layer"]]
        for rows in (["1"], ["1", "2", "4"], many)
    }
    assert marks == {
        1: ["rule", "point", "point"],
        3: ["rule", "line", "point", "point"],
        40: ["area", "line", "line", "line", "point", "point"],
    }
    named = figures.usual_charts(sheet(["near", "far"]))["rate"]["layer"]
    assert named[0]["encoding"]["y"]["sort"] == ["near", "far"]


@pytest.mark.parametrize("columns", [["video"], ["video", "audio"]])
def test_a_single_column_has_no_legend(columns: list[str]) -> None:
    sheet = Sheet("t", "T", ["CCID 2", "CCID 3"], columns, [Metric("share", "%", "Share")])
    for row in sheet.rows:
        for column in columns:
            sheet.values[row, column, "share"] = Value(np.array([50.0, 51.0]), name=column)
    chart = figures.usual_charts(sheet)["share"]
    for layer in chart["layer"]:
        assert layer["encoding"]["y"]["field"] == "row"
        assert (layer["encoding"]["color"]["legend"] is None) == (len(columns) == 1)


def test_a_metric_without_numbers_has_no_chart() -> None:
    made = sheet(["1"])
    made.metrics = [RATE, Metric("delay", "ms", "Delay")]
    assert list(figures.usual_charts(made)) == ["rate"]


def test_files_are_reproducible(tmp_path: Path) -> None:
    time = np.arange(5.0)
    gap = np.array([1.0, 2.0, math.nan, 4.0, 5.0])
    charts = {
        **figures.usual_charts(sheet(["1", "2"])),
        "series": figures.series("S", {"tcp": (time, gap)}, "t (s)", "x", marks={"handover": 2.0}),
    }
    for directory in (tmp_path / "a", tmp_path / "b"):
        directory.mkdir()
        for name, chart in charts.items():
            figures.write_chart(chart, directory, name, figures.FORMATS)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == [
        f"{name}.{kind}" for name in ("rate", "series") for kind in ("pdf", "png", "svg", "vl.json")
    ]
    for name in names:
        if name.endswith(".pdf"):
            # The library that writes these numbers their parts at random.
            assert (tmp_path / "a" / name).read_bytes().startswith(b"%PDF")
            continue
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    svg = (tmp_path / "a/series.svg").read_text()
    assert "handover" in svg
    # the missing value breaks the curve: two pieces
    assert json.loads((tmp_path / "a/series.vl.json").read_text())["data"]["values"][2]["y"] is None


def test_charts_drawn_by_processes_equal_those_drawn_here(tmp_path: Path) -> None:
    many = {
        f"chart{number}": figures.series(
            "S", {"tcp": (np.arange(3.0), np.arange(3.0) * number)}, "t (s)", "x"
        )
        for number in range(drawing.FEW + 2)
    }
    here, there = tmp_path / "here", tmp_path / "there"
    for directory in (here, there):
        directory.mkdir()
    for name, chart in many.items():
        figures.write_chart(chart, here, name)
    drawing.draw([Drawing(chart, str(there), name) for name, chart in many.items()])
    files = {path.name: path.read_bytes() for path in here.iterdir()}
    assert len(files) == 2 * len(many)
    assert {path.name: path.read_bytes() for path in there.iterdir()} == files


def test_a_chart_refused_in_another_process_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    fine = figures.series("S", {"tcp": (np.arange(2.0), np.arange(2.0))}, "t (s)", "x")
    # The second of two processes draws every other chart.
    charts = [fine, {"mark": 7}] + [fine] * drawing.FEW
    with pytest.raises(WhimbrelError, match="figure chart1: "):
        drawing.draw([Drawing(chart, str(tmp_path), f"chart{number}") for number, chart in enumerate(charts)])


def test_a_chart_that_vega_refuses_is_named(tmp_path: Path) -> None:
    with pytest.raises(WhimbrelError, match="figure odd"):
        figures.write_chart({"mark": 7}, tmp_path, "odd")
    assert list(tmp_path.iterdir()) == []


def test_a_control_character_in_a_name_leaves_a_picture(tmp_path: Path) -> None:
    made = Sheet("s", "a\x07 title\x1b[2J", ["row\ufffe"], ["a\x00b", "c"], [Metric("x", "ms", "X")])
    for column in made.columns:
        made.values["row\ufffe", column, "x"] = value_of([1.0, 2.0])
    (chart,) = figures.usual_charts(made).values()
    figures.write_chart(chart, tmp_path, "s", formats=("svg", "png"))
    svg = (tmp_path / "s.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(svg)  # noqa: S314 - our own picture
    assert "\ufffd" in svg
    assert (tmp_path / "s.png").stat().st_size > 0
