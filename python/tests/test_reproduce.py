"""The chain from a paper's folder to a report, with a simulator that only draws numbers."""

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from toy_core import FakeCore, lines, results

from whimbrel.__main__ import main
from whimbrel._reproduce import paper
from whimbrel.errors import PaperError, UsageError


def test_a_paper_yields_numbers_claims_and_a_report(
    core: FakeCore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "toy", "--out", "res", "--seed", "5"]) == 0
    out = tmp_path / "res"
    first = lines(out / "toy/table1.csv")
    assert [(line["column"], line["metric"], line["paper"], line["n"]) for line in first] == [
        ("tcp", "throughput", "58.0", "4"),
        ("tcp", "delay", "", "4"),
        ("zigzag", "throughput", "97.0", "4"),
        ("zigzag", "delay", "", "4"),
    ]
    luck = [np.random.default_rng(seed).standard_normal() for seed in (5, 6, 7, 8)]
    assert float(first[0]["ours"]) == pytest.approx(58 + np.mean(luck))
    # four runs of six scenarios; row 1 of the figure has the table's scenario
    assert len(core.calls) == 24
    claims = json.loads((out / "toy/claims.json").read_text())
    assert [(claim["id"], claim["holds"]) for claim in claims] == [
        ("zigzag-wins", True),
        ("tcp-wins", False),
        ("fewer-is-more", True),
    ]
    assert "difference +39 (identical in 4 runs) %" in claims[0]["evidence"]
    # external scripts read these
    assert set(claims[0]) == {
        "id", "claim", "holds", "verdict", "evidence", "source", "where", "reason", "quick", "items",
    }  # fmt: skip
    assert [(claim["verdict"], claim["source"], claim["where"], claim["reason"]) for claim in claims] == [
        ("holds", "paper", "Section 6", ""),
        ("does not hold", "ours", "", "Trains are faster."),
        ("holds", "ours", "", ""),
    ]
    assert not any(claim["quick"] for claim in claims)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["form"] == "full"
    assert manifest["command"] == "whimbrel reproduce toy --out res --seed 5"
    assert manifest["items"]["toy/table1"]["seed"] == 5
    assert manifest["items"]["toy/fig2"]["runs"] == 24
    assert manifest["machine"]["python"]
    actual = capsys.readouterr().out
    assert "claims of the paper, 1: 1 holds, 0 do not, 0 are undecided" in actual
    assert "claims of our own, 2: 1 holds, 1 does not, 0 are undecided" in actual
    assert "does not hold  TCP moves more than ZigZag. (ours)" in actual
    assert "Trains are faster" in actual
    assert "quick" not in actual
    for name in (
        "table1-throughput",
        "table1-delay",
        "fig2-throughput",
        "fig2-over-time",
        "model-throughput",
    ):
        assert (out / f"toy/{name}.svg").read_text().startswith("<svg")
        assert not (out / f"toy/{name}.png").exists()


def test_the_same_command_produces_the_same_files_and_no_more_runs(core: FakeCore, tmp_path: Path) -> None:
    assert main(["reproduce", "toy", "--out", "a", "--json"]) == 0
    before, calls = results(tmp_path / "a"), len(core.calls)
    assert main(["reproduce", "toy", "--out", "a", "--json", "--jobs", "1"]) == 0
    assert len(core.calls) == calls
    assert results(tmp_path / "a") == before
    assert main(["reproduce", "toy", "--out", "b", "--json", "--jobs", "3"]) == 0
    assert results(tmp_path / "b") == before


def test_a_report_is_rebuilt_from_records_alone(core: FakeCore, tmp_path: Path) -> None:
    assert main(["reproduce", "toy", "--out", "a", "--json"]) == 0
    before, calls = results(tmp_path / "a"), len(core.calls)
    for path in (tmp_path / "a").glob("**/*"):
        if path.is_file() and path.parent.name != "records" and path.name != "manifest.json":
            path.unlink()
    assert main(["report", "a"]) == 0
    assert results(tmp_path / "a") == before
    assert (tmp_path / "a/index.html").is_file()
    assert len(core.calls) == calls
    assert json.loads((tmp_path / "a/manifest.json").read_text())["command"].startswith(
        "whimbrel reproduce toy"
    )


def test_a_missing_record_is_named(
    core: FakeCore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "toy", "table1", "--out", "a", "--json"]) == 0
    lost = sorted((tmp_path / "a/toy/records").glob("*.record"))[0]
    lost.unlink()
    assert main(["report", "a"]) == 1
    assert f"{lost.name} is missing" in capsys.readouterr().err
    assert main(["reproduce", "toy", "table1", "--out", "a", "--json"]) == 0
    assert lost.exists()


def test_items_are_added_and_claims_wait_for_their_items(core: FakeCore, tmp_path: Path) -> None:
    assert main(["reproduce", "toy", "fig2", "--out", "a", "--json"]) == 0
    assert json.loads((tmp_path / "a/toy/claims.json").read_text()) == []
    assert main(["reproduce", "--out", "a", "--json"]) == 0
    claims = json.loads((tmp_path / "a/toy/claims.json").read_text())
    assert len(claims) == 3
    # the paper's order, not the order of the commands
    assert json.loads((tmp_path / "a/toy/about.json").read_text())["sheets"] == ["table1", "fig2"]
    assert not (tmp_path / "a/toy/model.csv").exists()


def test_reasons_belong_to_claims(core: FakeCore) -> None:
    file = paper.directory() / "toy/reasons.toml"
    file.write_text('[reason]\nnone-wins = "No such claim."\n')
    with pytest.raises(PaperError, match="no claim none-wins"):
        paper.load("toy")
    file.write_text("[reason]\ntcp-wins = 5\n")
    with pytest.raises(PaperError, match=r"reason\.tcp-wins is 5, expected a sentence"):
        paper.load("toy")
    file.write_text("tcp-wins = 5\n")
    with pytest.raises(PaperError, match=r"expected a table \[reason\]"):
        paper.load("toy")
    assert core.calls == []


def test_quick_omits_items_that_must_be_named(core: FakeCore, tmp_path: Path) -> None:
    def made(out: str) -> list[str]:
        return sorted(path.stem for path in (tmp_path / out / "toy").glob("*.csv"))

    assert main(["reproduce", "toy", "--quick", "--out", "a"]) == 0
    assert made("a") == ["fig2", "table1"]
    assert main(["reproduce", "toy", "model", "--quick", "--out", "b"]) == 0
    assert made("b") == ["model"]


def test_the_report_names_the_command_that_repeats_it(core: FakeCore, tmp_path: Path) -> None:
    def command(out: str) -> str:
        return str(json.loads((tmp_path / out / "toy" / "about.json").read_text())["command"])

    for out, options in (
        ("all", ""),
        ("part", "fig2 --quick --seed 5"),
        ("quick", "--quick"),
        ("named", "model --quick"),
    ):
        assert main(["reproduce", "toy", *options.split(), "--out", out]) == 0
        assert command(out) == f"whimbrel reproduce toy {options}".strip()
    # Full results among quick ones are not replaced by quick ones.
    assert main(["reproduce", "toy", "table1", "--out", "part", "--seed", "5"]) == 0
    assert command("part") == "whimbrel reproduce toy table1 fig2 --seed 5"


def test_a_table_need_not_be_drawn(core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = paper.load("toy")
    plain = replace(toy, items=[replace(item, is_drawn=False) for item in toy.items])
    monkeypatch.setattr(paper, "load", lambda _key: plain)
    assert main(["reproduce", "toy", "--out", "a"]) == 0
    # The chart created by the item itself is separate.
    assert [path.name for path in (tmp_path / "a/toy").glob("*.vl.json")] == ["fig2-over-time.vl.json"]
    assert "58" in (tmp_path / "a/index.html").read_text()


def test_quick_is_a_smaller_experiment_marked_as_such(
    core: FakeCore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "toy", "table1", "fig2", "--quick", "--out", "a"]) == 0
    assert "toy (quick pass" in capsys.readouterr().out
    claims = json.loads((tmp_path / "a/toy/claims.json").read_text())
    assert all(claim["quick"] for claim in claims)
    # one run at four flows decides nothing, and a quick pass makes no more
    assert [claim["verdict"] for claim in claims] == ["holds", "does not hold", "undecided"]
    assert json.loads((tmp_path / "a/manifest.json").read_text())["form"] == "quick"
    for chart in (tmp_path / "a/toy").glob("*.vl.json"):
        assert "quick pass" in chart.read_text()
    assert "quick pass" in json.loads((tmp_path / "a/toy/table1.json").read_text())["pictures"][0]["caption"]
    shutil.rmtree(tmp_path / "a")
    core.calls.clear()
    assert main(["reproduce", "toy", "fig2", "--quick", "--out", "a", "--json"]) == 0
    assert [(line["row"], line["column"], line["n"]) for line in lines(tmp_path / "a/toy/fig2.csv")] == [
        ("1", "tcp", "1"),
        ("4", "tcp", "1"),
    ]
    assert {tuple(overrides) for _, _, overrides in core.calls} == {("spread=0",)}
    assert "--quick" in (tmp_path / "a/index.html").read_text()
    assert lines(tmp_path / "a/toy/fig2.csv")[1]["ours"] == "14.5"


class Page(HTMLParser):
    """Collects links that a browser would fetch or jump to, and unbalanced tags."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in ("meta", "img", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data


def test_the_page_is_complete_and_needs_no_network(core: FakeCore, tmp_path: Path) -> None:
    assert main(["reproduce", "toy", "--out", "a", "--json"]) == 0
    text = (tmp_path / "a/index.html").read_text()
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        else:
            assert not re.match(r"[a-z]+:|//", link), link
            assert (tmp_path / "a" / link).is_file(), link
    assert not re.search(r"@import|url\(|https?://[^\"']*\.(?:js|css|woff2?)\b", text.split("<script>")[0])
    assert "On <Toys> & Trains" in page.text
    assert "A <toy> & its picture" in page.text
    assert "Claims of the paper 1 holds, 0 do not, 0 are undecided" in page.text
    assert "Claims of our own 1 holds, 1 does not, 0 are undecided" in page.text
    assert "Why: Trains are faster." in page.text
    assert "printed numbers within our intervals" in page.text
    # 58 and 97 by the four seeds: both printed numbers lie inside
    assert "2 of 2 printed numbers lie within our 95 % intervals; the median difference is" in page.text
    assert "2 of 3 claims on it hold, 1 does not; 2 of 2 printed numbers lie within" in page.text
    assert "quick pass" not in page.text
    assert "Reason, in the full form" not in page.text
    listed = page.text[page.text.index("Claims of the paper 1 holds") :]
    assert listed.index("ZigZag moves more than TCP.") < listed.index("TCP moves more than ZigZag.")
    assert listed.index("TCP moves more than ZigZag.") < listed.index("One flow moves more than four.")
    assert "paper 97" in page.text
    charts = json.loads(text.split('id="charts">')[1].split("</script>")[0])
    assert set(charts) == {
        f"toy/{name}"
        for name in (
            "table1-throughput",
            "table1-delay",
            "fig2-throughput",
            "fig2-over-time",
            "model-throughput",
        )
    }
    # the drawing libraries are embedded, once
    assert text.count("window.vegaEmbed=") == 1


def test_wrong_names_are_answered_with_the_right_ones(
    core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "tyo"]) == 2
    assert "no paper 'tyo'; there are toy" in capsys.readouterr().err
    assert main(["reproduce", "toy", "table9"]) == 2
    assert "it has table1, fig2, model" in capsys.readouterr().err
    assert main(["report", "nowhere"]) == 1
    assert core.calls == []


def test_the_list_has_papers_and_items(core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    actual = capsys.readouterr().out
    assert re.search(r"\* table1 +Table 1: One flow", actual)
    assert re.search(r"  fig2 +Figure 2: Several flows", actual)
    assert main(["reproduce", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["toy"]["items"]["model"] == "A model without packets"
    assert core.calls == []


def test_printed_numbers_must_have_a_place(core: FakeCore) -> None:
    toy = paper.load("toy")
    file = paper.directory() / "toy/expected.csv"
    for wrong in ("table1,2,tcp,throughput,5", "table1,1,tcp,speed,5", "table7,1,tcp,throughput,5"):
        file.write_text(f"item,row,column,metric,value\n{wrong}\n")
        with pytest.raises(PaperError, match="has no place"):
            paper.expected(toy)
    file.write_text("item,row,column,metric,value\ntable1,1,tcp,throughput,many\n")
    with pytest.raises(PaperError, match="many"):
        paper.expected(toy)
    file.unlink()
    assert paper.expected(toy) == {"table1": {}, "fig2": {}, "model": {}}
    assert core.calls == []


def test_a_folder_without_a_paper_is_an_error(core: FakeCore) -> None:
    (paper.directory() / "empty").mkdir()
    (paper.directory() / "empty/scenarios.py").write_text("")
    with pytest.raises(PaperError, match="does not define PAPER"):
        paper.load("empty")
    with pytest.raises(UsageError, match="there are empty, toy"):
        paper.load("none")
    assert core.calls == []


SWEEP = """
title = "Means"
spread = 1.0
two = true
[sweep]
mean = ["20 kbit", "40 kbit"]
"""


def test_a_sweep_is_a_table_of_combinations_by_flows(
    core: FakeCore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "means.toml").write_text(SWEEP)
    command = [
        "sweep",
        "means.toml",
        "--metric",
        "goodput_bps",
        "--precision",
        "0.03",
        "--out",
        "s",
        "--json",
    ]
    assert main(command) == 0
    actual = json.loads(capsys.readouterr().out)
    assert (len(actual.pop("results")) > 1, actual.pop("note")) == (True, "")
    assert actual == {
        "table": "s/means/sweep.csv",
        "runs": "s/means/sweep-runs.csv",
        "figures": ["s/means/sweep-goodput.svg"],
        "report": "s/index.html",
        "wide": 0,
    }
    found = lines(tmp_path / "s/means/sweep.csv")
    assert [(line["row"], line["column"], line["metric"], line["unit"]) for line in found] == [
        (row, column, "goodput", "kbit/s") for row in ("20", "40") for column in ("a", "b")
    ]
    assert int(found[0]["n"]) > int(found[2]["n"]) >= 3
    assert float(found[0]["ours"]) == pytest.approx(0.020, rel=0.05)
    about = json.loads((tmp_path / "s/means/sweep.json").read_text())
    assert (about["title"], about["row_label"], about["column_label"]) == ("Means", "mean (kbit)", "Flow")
    calls = len(core.calls)
    assert main(command) == 0
    assert len(core.calls) == calls
    before = results(tmp_path / "s")
    assert main(["report", "s", "--json"]) == 0
    assert results(tmp_path / "s") == before


def test_a_sweep_of_an_unknown_metric_lists_the_known(
    core: FakeCore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "means.toml").write_text(SWEEP)
    assert main(["sweep", "means.toml", "--metric", "speed", "--out", "s", "--json"]) == 2
    actual = capsys.readouterr().err
    assert "flows have no metric 'speed' with 20 kbit; they have goodput_bps, lost" in actual
    # Before any run.
    assert not core.calls


def test_a_wrong_scenario_says_what_was_expected(
    core: FakeCore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.toml").write_text("wrong = true\nmean = 1\nspread = 1\n")
    assert main(["sweep", "bad.toml", "--out", "s", "--json", "--jobs", "1"]) == 1
    assert "whimbrel: bad.toml: wrong is true, expected false" in capsys.readouterr().err
    assert not core.calls


def test_results_of_an_unknown_paper_are_not_discarded(
    core: FakeCore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "toy", "table1", "--out", "a", "--json"]) == 0
    shutil.rmtree(paper.directory() / "toy")
    assert main(["report", "a"]) == 1
    assert "a paper that this version does not know" in capsys.readouterr().err
    assert (tmp_path / "a/toy/table1.csv").is_file()
    assert core.calls
