"""The report's page as a page to read: order, contents, filters, collapsed tables, alternative texts."""

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import dom, needs_chromium

from whimbrel import figures
from whimbrel._show import page, report
from whimbrel._values import printed
from whimbrel.errors import WhimbrelError
from whimbrel.sheet import Metric, Picture, Sheet, Value

SHARE = Metric("share", "%", "Share")
TIMES = [str(2 * number) for number in range(79)]


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: "Element | None" = None
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def every(self, tag: str, **attributes: str) -> list["Element"]:
        """Descendants in order, by tag and attributes; `class_` is one of the classes."""
        wanted = attributes.pop("class_", "")
        found = []
        for child in self.children:
            matches = child.tag == tag and (not wanted or wanted in child.attributes.get("class", "").split())
            if matches and all(child.attributes.get(key) == value for key, value in attributes.items()):
                found.append(child)
            found += child.every(tag, **attributes, class_=wanted)
        return found

    def one(self, tag: str, **attributes: str) -> "Element":
        (found,) = self.every(tag, **attributes)
        return found

    def words(self) -> str:
        return " ".join([self.text, *(child.words() for child in self.children)])

    def order(self) -> list["Element"]:
        return [each for child in self.children for each in [child, *child.order()]]


class Tree(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = self.at = Element("", {})
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {key: value or "" for key, value in attrs}, self.at)
        self.at.children.append(made)
        if tag not in ("meta", "img", "link", "input"):
            self.at = made

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.at.children.append(Element(tag, {key: value or "" for key, value in attrs}, self.at))

    def handle_endtag(self, tag: str) -> None:
        assert self.at.tag == tag
        assert self.at.parent is not None
        self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        if self.at.tag not in ("script", "style"):
            self.at.text += data


def claim(name: str, holds: bool | None, *items: str, source: str = "paper") -> dict[str, Any]:
    return {
        "id": name,
        "claim": f"Sentence {name}.",
        "holds": holds,
        "evidence": f"evidence of {name}",
        "where": "Section 2" if source == "paper" else "",
        "source": source,
        "reason": "" if holds or name == "odd" else f"Reason of {name}.",
        "quick": False,
        "items": list(items),
    }


CLAIMS = [
    claim("good", True, "table1"),
    claim("bad", False, "table1", "fig10"),
    claim("odd", False, "fig10"),
    claim("open", None, "fig10"),
    claim("own", True, "table1", source="ours"),
]


def results(out: Path, *, formats: tuple[str, ...] = ("svg",)) -> None:
    """A folder with a short table, a long figure with its rows, and a table without a figure."""
    directory = out / "p"
    short = Sheet("table1", "A short one", ["1"], ["tcp", "zigzag"], [SHARE], "Table 1")
    long = Sheet("fig10", "A long one", TIMES, ["tcp"], [SHARE], "Figure 10", row_label="Time in s")
    bare = Sheet("bare", "No figure", ["a", "b"], ["tcp", "zigzag"], [SHARE], note="A note.")
    short.pictures = [Picture("strip.png", "Frames side by side.")]
    for sheet in (short, long, bare):
        for index, row in enumerate(sheet.rows):
            for column in sheet.columns:
                sample = np.array([50.0, 60.0, 61.0]) + index / 10 + (column == "zigzag")
                printed_ = 57.0 if row == "1" else None
                sheet.values[row, column, "share"] = Value(sample, paper=printed_, name=column)
        charts = {} if sheet is bare else figures.usual_charts(sheet)
        names = {name: f"{sheet.key}-{name}" for name in charts}
        about = {"charts": list(names.values()), "quick": False, "runs": 3, "printed": printed.about(sheet)}
        sheet.write(directory, about)
        for name, chart in charts.items():
            figures.write_chart(chart, directory, names[name], formats)
    (directory / "claims.json").write_text(json.dumps(CLAIMS))
    report.write_group(
        directory, report.Group("Title", "Authors, 2000", "About.", ("table1", "fig10", "bare"), "whimbrel x")
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Element:
    out = tmp_path_factory.mktemp("out")
    results(out)
    return Tree(report.build(out).read_text()).root


def test_figures_come_before_numbers_and_these_before_claims_and_evidence(tree: Element) -> None:
    first = tree.one("article", id="p-fig10").order()
    kinds = [
        "figure" if each.tag == "figure" else each.attributes["class"].split()[0]
        for each in first
        if each.tag == "figure" or each.attributes.get("class") in ("conclusion", "numbers", "tally")
    ]
    assert kinds == ["conclusion", "figure", "numbers", "tally"]
    order = tree.order()
    evidence = min(order.index(each) for each in tree.every("details", class_="evidence"))
    assert max(order.index(each) for each in tree.every("figure")) < evidence
    assert max(order.index(each) for each in tree.every("article")) < evidence
    # evidence is there, on demand
    assert all("open" not in each.attributes for each in tree.every("details", class_="evidence"))
    assert "evidence of bad" in tree.words()


def test_every_claim_stands_there_once_and_failed_ones_first_with_their_reason(tree: Element) -> None:
    listed = tree.every("ul", class_="claims")
    entries = [entry for each in listed for entry in each.every("li")]
    assert [entry.attributes["id"] for entry in entries] == [
        f"p-claim-{name}" for name in ("bad", "odd", "open", "good", "own")
    ]
    assert [entry.attributes["data-verdict"] for entry in entries] == ["no", "no", "open", "yes", "yes"]
    assert "Why: Reason of bad." in entries[0].words()
    assert "Why: not known." in entries[1].words()
    groups = tree.every("details", class_="group")
    assert ["open" in group.attributes for group in groups] == [True, True, False, False]
    assert "does not hold" in entries[0].words()


def test_what_an_item_shows_comes_before_whether_it_matches(tree: Element) -> None:
    def sentence(kind: str) -> dict[str, str]:
        articles = tree.every("article")
        return {each.attributes["id"]: each.one("p", class_=kind).text for each in articles}

    shown = {
        "p-table1": "Share: highest for ZigZag with 58.0 %, lowest for TCP with 57.0 %.",
        "p-fig10": "Share: highest at Time in s 156 with 64.8 %, lowest at Time in s 0 with 57.0 %.",
        "p-bare": "Share, mean over 2 rows: highest for ZigZag with 58.0 %, lowest for TCP with 57.0 %.",
    }
    assert sentence("conclusion") == shown
    assert sentence("agreement") == {
        "p-table1": "2 of 3 claims on it hold, 1 does not; 2 of 2 printed numbers lie within our 95 %"
        " intervals; the median difference is 0.88 %, the largest 1.8 % (zigzag, Share).",
        "p-fig10": "0 of 3 claims on it hold, 2 do not, 1 is undecided.",
        "p-bare": "No claim rests on it, and it has no printed number.",
    }
    # The same at the head of the page, before the counts.
    hero = tree.one("section", id="top")
    learnt = hero.one("ul", class_="learnt").every("li")
    assert [each.text.removeprefix(": ") for each in learnt] == list(shown.values())
    order = hero.order()
    assert order.index(learnt[-1]) < order.index(hero.one("ul", class_="cards"))


def test_the_conclusion_of_a_sweep_compares_its_rows_and_speaks_of_no_claims(tmp_path: Path) -> None:
    for name, rows in (("two", ["CCID 2", "CCID 3"]), ("alone", ["CCID 2"])):
        sheet = Sheet(name, "Sweep", rows, ["video"], [SHARE])
        for index, row in enumerate(rows):
            sheet.values[row, "video", "share"] = Value(np.array([50.0, 51.0]) + index, name="video")
        sheet.write(tmp_path / "s", {"charts": [], "quick": False, "runs": 2})
    report.write_group(tmp_path / "s", report.Group("Sweep", "", "", ("two", "alone")))
    two, alone = Tree(report.build(tmp_path).read_text()).root.every("article")
    assert two.one("p", class_="conclusion").text == (
        "Share: highest for CCID 3 with 51.5 %, lowest for CCID 2 with 50.5 %."
    )
    assert alone.every("p", class_="conclusion") == []


def test_long_tables_are_collapsed_behind_their_figure(tree: Element) -> None:
    def open_(item: str) -> list[bool]:
        article = tree.one("article", id=item)
        return ["open" in each.attributes for each in article.every("details", class_="numbers")]

    assert open_("p-fig10") == [False]
    assert open_("p-table1") == [True]
    assert open_("p-bare") == [True]
    rows = tree.one("article", id="p-fig10").one("tbody").every("tr")
    assert len(rows) == 79
    assert "79 rows" in tree.one("article", id="p-fig10").one("details", class_="numbers").words()


def test_contents_lead_to_every_section_item_and_kind_of_claim(tree: Element) -> None:
    links = [each.attributes["href"] for each in tree.one("nav", class_="contents").every("a")]
    assert links == ["#p", "#p-table1", "#p-fig10", "#p-bare", "#p-claims-paper", "#p-claims-ours"]
    ids = {each.attributes["id"] for each in tree.order() if "id" in each.attributes}
    assert {link[1:] for link in links} <= ids
    chips = tree.one("li", **{"data-item": "p-fig10"}).every("span", class_="chip")
    assert [chip.attributes["title"] for chip in chips] == ["2 does not hold", "1 undecided"]


def test_filters_by_verdict_source_item_and_words(tree: Element) -> None:
    form = tree.one("form", id="filters")
    boxes = form.every("input", name="verdict")
    assert [box.attributes["value"] for box in boxes] == ["no", "open", "yes"]
    assert [label.words().split("(")[1].split(")")[0] for label in form.every("label")[:3]] == ["2", "1", "2"]
    choices = [option.attributes["value"] for option in form.one("select", name="item").every("option")]
    assert choices == ["", "p-table1", "p-fig10", "p-bare"]
    sources = [option.attributes["value"] for option in form.one("select", name="source").every("option")]
    assert sources == ["", "paper", "ours"]
    assert form.one("input", name="words").attributes["type"] == "search"
    # what they go by stands at the claims, and each item names its own
    ids = {article.attributes["id"] for article in tree.every("article")}
    for entry in (entry for each in tree.every("ul", class_="claims") for entry in each.every("li")):
        assert set(entry.attributes["data-items"].split()) <= ids
        assert entry.attributes["data-source"] in sources
    named = [
        each.attributes["data-claim"] for each in tree.one("article", id="p-fig10").one("ul").every("li")
    ]
    assert named == ["p-claim-bad", "p-claim-odd", "p-claim-open"]


def test_every_item_can_be_collapsed(tree: Element) -> None:
    for article in tree.every("article"):
        fold = article.one("details", class_="fold")
        assert "open" in fold.attributes
        assert fold.children[0].tag == "summary"
        assert fold.children[0].one("h3")


def test_every_picture_has_an_alternative_text_and_every_chart_a_title(tree: Element) -> None:
    pictures = tree.every("img")
    assert len(pictures) == 3
    for picture in pictures:
        assert len(picture.attributes["alt"]) > 30, picture.attributes
    plots = tree.every("div", class_="plot")
    assert [plot.attributes["aria-label"].split(".")[0] for plot in plots] == ["Dot chart", "Line chart"]
    for plot in plots:
        assert plot.attributes["role"] == "img"
        assert plot.attributes["aria-label"] == plot.one("img").attributes["alt"]
    titles = [figure.one("figcaption").one("strong").text for figure in tree.every("figure", class_="chart")]
    assert titles == ["Share, by scheme", "Share, by time"]


def test_a_chart_of_another_hand_is_named_by_its_title(tmp_path: Path) -> None:
    results(tmp_path)
    chart = tmp_path / "p/table1-share.vl.json"
    other = {**json.loads(chart.read_text()), "title": "By hand"}
    del other["description"]
    chart.write_text(json.dumps(other))
    tree = Tree(report.build(tmp_path).read_text()).root
    assert tree.every("div", class_="plot")[0].attributes["aria-label"] == "By hand"


def test_headings_descend_without_gaps_and_heads_of_tables_have_a_scope(tree: Element) -> None:
    levels = [int(each.tag[1]) for each in tree.order() if re.fullmatch(r"h[1-6]", each.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    heads = tree.every("th")
    assert heads
    assert all(head.attributes.get("scope") in ("row", "col") for head in heads)
    assert all(head.words().strip() for head in heads)
    assert len(tree.every("caption")) == len(tree.every("table"))


def test_controls_have_names_and_tables_that_scroll_take_the_focus(tree: Element) -> None:
    for control in [*tree.every("select"), *tree.every("input")]:
        parents = control.parent
        assert parents is not None
        assert parents.tag == "label"
        assert parents.words().strip()
    for button in tree.every("button"):
        assert button.attributes.get("aria-label") or button.words().strip()
    for region in tree.every("div", class_="scroll"):
        assert region.attributes["tabindex"] == "0"
        assert region.attributes["aria-label"]


def test_without_scripts_everything_is_there_and_filters_are_not(tree: Element) -> None:
    assert "hidden" in tree.one("form", id="filters").attributes
    hidden = [each for each in tree.order() if "hidden" in each.attributes]
    assert [each.attributes.get("id") for each in hidden] == ["filters"]


def test_figures_are_offered_in_the_formats_that_are_there(tmp_path: Path) -> None:
    results(tmp_path, formats=figures.FORMATS)
    plot = Tree(report.build(tmp_path).read_text()).root.every("figure", class_="chart")[0]
    links = [link.attributes["href"] for link in plot.every("a")]
    assert links == [f"p/table1-share.{kind}" for kind in ("svg", "pdf", "png")]
    assert all((tmp_path / link).is_file() for link in links)
    # requested no more, they would show older numbers
    results(tmp_path)
    plot = Tree(report.build(tmp_path).read_text()).root.every("figure", class_="chart")[0]
    assert [link.attributes["href"] for link in plot.every("a")] == ["p/table1-share.svg"]
    assert not list(tmp_path.glob("p/*.png"))


def test_a_damaged_chart_is_named(tmp_path: Path) -> None:
    results(tmp_path)
    (tmp_path / "p/table1-share.vl.json").write_text("{")
    with pytest.raises(WhimbrelError, match="table1-share"):
        report.build(tmp_path)


def test_a_page_of_tables_alone_has_no_filters_of_claims() -> None:
    text = page.render([page.Section("s", "Sweep", "", "", "", [], [])], {})
    assert "checkbox" not in text
    assert 'id="filters"' in text


PRESS = """<p id="after"></p><script>
addEventListener("load", async () => {
  const button = (how) => document.querySelector(`[data-zoom=${how}]`);
  const pause = () => new Promise((done) => setTimeout(done, 100));
  document.querySelector("#p-fig10").scrollIntoView();
  while (!button("whole")?.hasAttribute("aria-disabled")) await pause(); // drawn
  const off = () => button("whole").getAttribute("aria-disabled");
  const states = [off()];
  for (const how of ["in", "whole"]) {
    button(how).focus();
    button(how).click();
    await pause();
    states.push(off(), document.activeElement.dataset.zoom);
  }
  document.querySelector("#after").textContent = states.join();
});</script>"""


@needs_chromium
def test_a_button_of_a_chart_keeps_the_focus_when_it_has_no_effect_any_more(tmp_path: Path) -> None:
    results(tmp_path)
    index = report.build(tmp_path)
    index.write_text(index.read_text() + PRESS)
    assert '<p id="after">true,false,in,true,whole</p>' in dom(index, "--virtual-time-budget=5000")


HEIGHTS = """<p id="after"></p><script>
const heights = () => [...document.querySelectorAll("figure.chart")].map((each) => each.offsetHeight).join();
const before = heights();
let shifted = 0;
const add = (list) => list.getEntries().forEach((each) => { shifted += each.value; });
new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
addEventListener("load", async () => {
  for (const plot of document.querySelectorAll(".plot")) {
    plot.scrollIntoView();
    while (!plot.querySelector("svg")) await new Promise((done) => setTimeout(done, 100)); // it is drawn
  }
  document.querySelector("#after").textContent = [shifted < 0.01, heights() === before].join();
});</script>"""


@needs_chromium
@pytest.mark.parametrize("width", [1400, 500])
def test_heights_do_not_jump_while_charts_are_drawn(tmp_path: Path, width: int) -> None:
    results(tmp_path)
    index = report.build(tmp_path)
    index.write_text(index.read_text() + HEIGHTS)
    shown = dom(index, f"--window-size={width},900", "--virtual-time-budget=15000")
    assert '<p id="after">true,true</p>' in shown
