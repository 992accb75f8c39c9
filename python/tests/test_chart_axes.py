"""Charts as they are seen: contrast, axes of shares, the wheel, titles, descriptions, marks."""

import json
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import numpy as np
import pytest
import vl_convert

from whimbrel import figures
from whimbrel._reproduce import paper
from whimbrel.figures import Chart
from whimbrel.sheet import POSITIVE, UNBOUNDED, Metric, Sheet, Value

SHARE = Metric("share", "%", "Share", title="Share of the capacity")
FEW = [str(number) for number in range(1, 6)]
MANY = [str(number) for number in range(0, 80, 2)]
SAMPLES = {
    "near all": [99.0, 100.0, 100.0, 98.0],
    "near none": [0.0, 0.3, 0.0, 2.0],
    "between": [40.0, 60.0, 55.0, 70.0],
    "all": [100.0, 100.0, 100.0, 100.0],
    "none": [0.0, 0.0, 0.0, 0.0],
    "wide": [0.0, 100.0, 100.0, 0.0],
}


def sheet(rows: list[str], *samples: list[float], metric: Metric = SHARE) -> Sheet:
    columns = ["tcp", "zigzag", "freeze"][: len(samples)]
    made = Sheet("fig", "Who gets how much", rows, columns, [metric], "Figure 1", row_label="Time in s")
    for row in rows:
        for column, sample in zip(columns, samples, strict=True):
            made.values[row, column, metric.key] = Value(np.array(sample), paper=sample[1])
    return made


def drawn(rows: list[str], *samples: list[float], metric: Metric = SHARE) -> Chart:
    return figures.usual_charts(sheet(rows, *samples, metric=metric))[metric.key]


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """WCAG 2 contrast ratio of two colours."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def blended(colour: str, opacity: float, background: str) -> str:
    pairs = [(int(colour[i : i + 2], 16), int(background[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(opacity * front + (1 - opacity) * back):02x}" for front, back in pairs)


def palettes() -> dict[str, dict[str, str]]:
    """The colours of the page's style sheet, light and dark."""
    text = resources.files("whimbrel").joinpath("assets", "report.css").read_text()
    blocks = re.findall(r"\{([^{}]*--page:[^{}]*)\}", text)
    light, *dark = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in blocks]
    assert dark[0] == dark[1]
    return {"light": light, "dark": dark[0]}


def layers(chart: Chart) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for layer in chart["layer"]:
        yield layer["mark"], layer["encoding"]


def opacity(mark: Mapping[str, Any], encoding: Mapping[str, Any]) -> float:
    """Of what is not faded out by the reader's choice."""
    value = encoding.get("opacity", {}).get("condition", {}).get("value", 1)
    return float(value) * float(mark.get("opacity", 1))


def labels(chart: Chart) -> list[float]:
    """The numbers at the axes, as drawn."""
    svg = vl_convert.vegalite_to_svg(dict(chart))
    groups = re.findall(r'role-axis-label".*?</g>', svg)
    texts = [text for group in groups for text in re.findall(r">([^<>]+)</text>", group)]
    return [float(text.replace("\u2212", "-").replace(",", "")) for text in texts if not text[0].isalpha()]


def test_schemes_have_three_to_one_on_every_background() -> None:
    colours = {key: scheme.colour for key, scheme in figures.style().items()}
    colours |= {colour: colour for colour in figures.SPARE_COLOURS}
    backgrounds = {"file": "#ffffff"} | {name: colours["panel"] for name, colours in palettes().items()}
    assert len(backgrounds) == 3
    for key, colour in colours.items():
        for name, background in backgrounds.items():
            assert contrast(colour, background) >= 3, (key, name)


def test_text_has_four_and_a_half_to_one() -> None:
    for name, colours in palettes().items():
        for text in ("ink", "soft", "faint", "accent"):
            for back in ("page", "panel"):
                assert contrast(colours[text], colours[back]) >= 4.5, (name, text, back)
        for verdict in ("yes", "no", "warn"):
            for back in (f"{verdict}-back", "page", "panel"):
                assert contrast(colours[verdict], colours[back]) >= 4.5, (name, verdict, back)


@pytest.mark.parametrize("rows", [["1"], ["near", "far"], FEW, MANY], ids=["one", "named", "few", "many"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_ends_of_an_interval_have_three_to_one(rows: list[str], theme: str) -> None:
    chart = drawn(rows, SAMPLES["between"], SAMPLES["near none"])
    background = palettes()[theme]["panel"]
    found = set()
    for mark, encoding in layers(chart):
        ends = {each.get("field") for each in encoding.values() if isinstance(each, dict)} & {"low", "high"}
        seen = [
            blended(scheme.colour, opacity(mark, encoding), background)
            for scheme in figures.schemes(["tcp", "zigzag"])
        ]
        if ends and all(contrast(colour, background) >= 3 for colour in seen):
            assert mark["type"] in ("rule", "line")
            found |= ends
    assert found == {"low", "high"}


@pytest.mark.parametrize("rows", [["1"], ["near", "far"], FEW, MANY], ids=["one", "named", "few", "many"])
@pytest.mark.parametrize("name", SAMPLES)
def test_shares_are_drawn_from_0_to_100(rows: list[str], name: str) -> None:
    chart = drawn(rows, SAMPLES[name], SAMPLES["between"])
    for record in chart["data"]["values"]:
        assert 0 <= record["low"] <= record["ours"] <= record["high"] <= 100
    numbers = labels(chart)
    assert numbers
    assert min(numbers) >= 0
    assert max(numbers) <= 100
    (axis,) = {
        tuple(each["scale"]["domain"])
        for _, encoding in layers(chart)
        for each in encoding.values()
        if isinstance(each, dict) and each.get("title") == "Share (%)"
    }
    assert 0 <= axis[0] < axis[1] <= 100


def test_an_interval_that_is_cut_says_so_and_keeps_its_number() -> None:
    cut = drawn(FEW, SAMPLES["near all"])
    assert "intervals end at 0 and 100 %" in json.dumps(cut["title"])
    assert {record["ours"] for record in cut["data"]["values"]} == {99.25}
    assert "intervals end" not in json.dumps(drawn(FEW, SAMPLES["between"])["title"])


def test_what_can_leave_the_range_is_drawn_outside_of_it() -> None:
    # a difference, and percents of something that is no whole
    apart = Metric("apart", "%", "Difference", bounds=UNBOUNDED)
    for metric, sample in ((apart, [-5.0, 3.0, 1.0]), (SHARE, [101.0, 140.0, 120.0])):
        record = drawn(["1"], sample, metric=metric)["data"]["values"][0]
        mean, half = np.mean(sample), 4.302653 * np.std(sample, ddof=1) / np.sqrt(3)
        assert (record["low"], record["high"]) == (pytest.approx(mean - half), pytest.approx(mean + half))
    fair = drawn(["1"], [90.0, 120.0, 100.0], metric=Metric("fair", "%", "Of its share", bounds=POSITIVE))
    assert fair["data"]["values"][0]["high"] > 120


@pytest.mark.parametrize("key", paper.known())
def test_printed_numbers_lie_within_the_bounds_of_their_metrics(key: str) -> None:
    loaded = paper.load(key)
    for item, numbers in paper.expected(loaded).items():
        described = loaded.item(item)
        metrics = [*described.metrics, *(each.metric for each in described.derived)]
        limits = {metric.key: metric.limits for metric in metrics}
        for place, number in numbers.items():
            low, high = limits[place[2]]
            assert low is None or number >= low, (item, place)
            assert high is None or number <= high, (item, place)


@pytest.mark.parametrize("rows", [FEW, MANY], ids=["few", "many"])
def test_the_wheel_is_the_pages_and_zoom_stays_in_the_range_of_the_data(rows: list[str]) -> None:
    time = np.arange(0.0, 60.0)
    for chart, low, high in (
        (drawn(rows, SAMPLES["between"]), float(rows[0]), float(rows[-1])),
        (figures.series("S", {"tcp": (time, time)}, "t (s)", "x", marks={"lost": 20.0}), 0.0, 59.0),
    ):
        vega = vl_convert.vegalite_to_vega(dict(chart))
        assert "wheel" not in json.dumps(vega)
        # bound scales are panned and zoomed without limits
        assert '"bind": "scales"' not in json.dumps(chart)
        (scale,) = (each for each in vega["scales"] if each["name"] == "x")
        space = 0.02 * (high - low)
        assert max(low - space, min(low, 0)) - 1e-9 <= scale["domain"][0] <= low
        assert high <= scale["domain"][1] <= high + space + 1e-9
        assert scale["domainRaw"] == {"signal": "zoomed"}
        assert scale["nice"] is False


def test_titles_stand_alone() -> None:
    chart = drawn(FEW, SAMPLES["between"])
    assert figures.plain_title(chart) == "Share of the capacity, by time"
    assert figures.plain_subtitle(chart)[0] == "Figure 1: Who gets how much"
    assert (
        figures.plain_title(drawn(["1"], SAMPLES["all"], SAMPLES["none"]))
        == "Share of the capacity, by scheme"
    )
    named = drawn(["near", "far"], SAMPLES["all"], SAMPLES["none"])
    assert figures.plain_title(named) == "Share of the capacity, by time and scheme"
    (item,) = (each for each in paper.load("reorder").items if each.key == "fig2")
    made = Sheet(item.key, item.title, item.rows, item.columns, item.metrics, row_label=item.row_label)
    for row in item.rows:
        made.values[row, item.columns[0], "ratio"] = Value(np.array([0.5, 0.6]))
    assert figures.plain_title(figures.curves(made, item.metrics[0])) == (
        "Throughput ratio with buffer, by buffer size"
    )


def test_long_titles_have_several_lines() -> None:
    long = Metric("long", "s", "Long", title=" ".join(["word"] * 30))
    text = drawn(["1"], [1.0, 2.0], metric=long)["title"]["text"]
    assert len(text) > 1
    assert max(map(len, text)) <= 70


def test_descriptions_are_made_from_the_data() -> None:
    few = drawn(["1"], SAMPLES["all"], [40.0, 60.0])
    assert few["description"] == (
        "Dot chart. Share of the capacity, by scheme in %. TCP: 100.0; ZigZag: 50.0 (0.0 to 100.0). "
        "The paper prints 2 of the numbers; 2 lie within our 95 % intervals."
    )
    rows = drawn(MANY, SAMPLES["all"], SAMPLES["none"])
    assert "2 curves (TCP, ZigZag) over Time in s from 0 to 78." in rows["description"]
    assert "80 values, the lowest 0.0 (ZigZag at 0), the highest 100.0 (TCP at 0)." in rows["description"]
    marked = figures.curves(sheet(MANY, SAMPLES["all"]), SHARE, marks={"link lost": 20, "back": 22.5})
    assert "Marked: link lost at 20, back at 22.5." in marked["description"]
    series = figures.series("Rates", {"tcp": ([0.0, 5.0], [1.0, np.nan])}, "t (s)", "x", marks={"up": 3})
    assert series["description"] == (
        "Line chart. Rates. 1 curve (TCP). x from 0 to 0, y from 1 to 1. Marked: up at 3."
    )


def test_labels_of_marks_do_not_overlap() -> None:
    marks = {"link lost": 0.0, "back": 2.0, "far away": 40.0, "at the very end": 59.0}
    drawn_ = figures.vertical_marks(marks, [0.0, 60.0])
    assert drawn_[0]["mark"]["type"] == "rule"
    texts = {
        record["label"]: (layer["mark"]["y"], layer["mark"]["align"])
        for layer in drawn_[1:]
        for record in layer["data"]["values"]
    }
    assert set(texts) == set(marks)
    assert texts["link lost"][0] != texts["back"][0]
    assert texts["at the very end"][1] == "right"
    # above the plot, where no curve passes
    assert all(y < 0 for y, _ in texts.values())
    assert figures.vertical_marks({}) == []


def test_time_charts_of_handovers_are_marked() -> None:
    items = {item.key: item for item in paper.load("freeze").items}
    over_time = [key for key, item in items.items() if item.row_label.startswith("Time")]
    assert len(over_time) >= 7
    for key in over_time:
        item = items[key]
        made = Sheet(key, item.title, item.rows, item.columns, item.metrics, row_label=item.row_label)
        for row in item.rows:
            for metric in item.metrics:
                made.values[row, item.columns[0], metric.key] = Value(np.array([1.0]))
        assert item.charts is not None
        for chart in item.charts(made).values():
            rules = [layer for layer in chart["layer"] if layer["mark"].get("strokeDash")]
            assert rules, key
            positions = [record["x"] for record in rules[0]["data"]["values"]]
            (domain,) = {
                tuple(encoding["x"]["scale"]["domain"])
                for _, encoding in layers(chart)
                if "scale" in encoding.get("x", {})
            }
            assert domain[0] <= min(positions) <= max(positions) <= domain[1]
