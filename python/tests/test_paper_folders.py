"""Papers from any folder and from installed packages: reproduced and reported like the package's own."""

import json
import re
import sys
from pathlib import Path

import pytest

from whimbrel import figures
from whimbrel.__main__ import main
from whimbrel._base import paper_folders
from whimbrel._campaigns import worker
from whimbrel._reproduce import paper
from whimbrel.errors import PaperError, UsageError

ROOT = Path(__file__).parents[2]

MODULE = '''
"""The share of a link that a constant stream uses."""

from whimbrel.claims import Claim, Verdict
from whimbrel.paper import Item, Paper, Quick
from whimbrel.papers.KEY import words
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision


def scenario(row, column):
    return Scenario({
        "simulation": {"duration": "2 s"},
        "node": [{"name": "a"}, {"name": "b"}],
        "link": [{"between": ["a", "b"], "rate": "1 Mbit/s", "delay": "5 ms", "queue": "9 packets"}],
        "flow": [{"name": "f", "from": "a", "to": "b", "transport": "udp", "packet_size": "1000 B",
                  "traffic": {"kind": "cbr", "rate": f"{row} kbit/s"}}],
    })


def near(value):
    return Verdict(value.mean > 95, f"{value.mean:.0f} kbit/s of 100")


PAPER = Paper(
    key="KEY",
    title=words.TITLE,
    authors="A. Nother",
    year=2001,
    about="A test.",
    items=[
        Item(
            key="use",
            title="Use of the link",
            source="Table 1",
            rows=["100"],
            columns=["house"],
            metrics=[Metric("goodput", "kbit/s", "Goodput")],
            scenario=scenario,
            measure=lambda result, _row, _column: {"goodput": result.flows["goodput_bps"][0] / 1e3},
            precision=Precision.exactly(1),
            quick=Quick(precision=Precision.exactly(1)),
            is_random=False,
        )
    ],
    claims=[
        Claim("fits", "It fits.", ("use",), lambda sheets: near(sheets["use"].value("house", "goodput"))),
    ],
    headline=["use"],
)
'''


def write_paper(directory: Path, key: str, package: str = "whimbrel.papers") -> Path:
    """A small paper in a folder of its own."""
    folder = directory / key
    folder.mkdir(parents=True)
    module = MODULE.replace("KEY", key).replace("whimbrel.papers", package)
    (folder / "scenarios.py").write_text(module)
    (folder / "words.py").write_text('TITLE = "From elsewhere"\n')
    (folder / "expected.csv").write_text("item,row,column,metric,value\nuse,100,house,goodput,100\n")
    return folder


def _forget() -> None:
    for cached in (paper_folders._of_packages, paper_folders._styles):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def _nothing_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper_folders, "_added", [])
    _forget()


def _reproduced(out: Path, *arguments: str) -> dict[str, object]:
    assert main(["reproduce", *arguments, "--out", str(out), "--json"]) == 0
    (key,) = (path.parent.name for path in out.glob("*/use.csv"))
    line = (out / key / "use.csv").read_text().splitlines()[1]
    assert line.startswith("100,house,goodput,kbit/s,100.0,9")
    about: dict[str, object] = json.loads((out / key / "about.json").read_text())
    return about


@pytest.mark.parametrize("named", ["folder of papers", "folder of the paper"])
def test_a_paper_of_a_folder_is_reproduced_and_reported(named: str, tmp_path: Path) -> None:
    papers = tmp_path / "my papers"
    folder = write_paper(papers, "elsewhere")
    (papers / "style.toml").write_text(
        '[scheme.house]\nname = "House rule"\ncolour = "#123456"\nmarker = "square"\n'
    )
    given = str(papers if named == "folder of papers" else folder)
    out = tmp_path / "out"
    about = _reproduced(out, "elsewhere", "--papers", given)
    assert about["title"] == "From elsewhere"
    assert about["command"] == f"whimbrel reproduce elsewhere --papers '{folder}'"
    assert "House rule" in (out / "elsewhere" / "use-goodput.vl.json").read_text()

    (out / "index.html").unlink()
    paper_folders._added.clear()
    assert main(["report", str(out)]) == 1
    assert main(["report", str(out), "--papers", given]) == 0
    assert "From elsewhere" in (out / "index.html").read_text()
    # The package's own keep their places.
    assert set(paper.known()) == {
        "elsewhere",
        *(path.parent.name for path in ROOT.glob("papers/*/scenarios.py")),
    }


def test_results_of_an_unknown_paper_name_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    papers = tmp_path / "papers"
    write_paper(papers, "lost")
    _reproduced(tmp_path / "out", "lost", "--papers", str(papers))
    paper_folders._added.clear()
    capsys.readouterr()
    assert main(["report", str(tmp_path / "out")]) == 1
    assert "--papers DIR adds those of a folder" in capsys.readouterr().err
    assert main(["reproduce", "lost", "--out", str(tmp_path / "other")]) == 2
    assert re.search(r"no paper 'lost'; there are .*freeze.*--papers DIR", capsys.readouterr().err)


def test_a_folder_without_papers_or_with_a_known_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no paper"):
        paper_folders.add(tmp_path)
    write_paper(tmp_path, "lda")
    with pytest.raises(UsageError, match="two papers are called 'lda'"):
        paper_folders.add(tmp_path)
    assert paper.folder("lda") == ROOT / "python" / "whimbrel" / "papers" / "lda"


def test_two_folders_in_turn_do_not_share_modules(tmp_path: Path) -> None:
    for name in ("first", "second"):
        folder = write_paper(tmp_path / name, "twin")
        (folder / "words.py").write_text(f"TITLE = {name!r}\n")
        paper_folders._added.clear()
        paper_folders.add(tmp_path / name)
        assert paper.load("twin").title == name


def test_a_paper_of_an_installed_package_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    write_paper(site / "strange_lab" / "papers", "packaged", "strange_lab.papers")
    information = site / "strange_lab-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: strange-lab\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[whimbrel.papers]\nlab = strange_lab.papers\n")
    monkeypatch.syspath_prepend(str(site))
    about = _reproduced(tmp_path / "out", "packaged")
    assert about["command"] == "whimbrel reproduce packaged"
    assert "strange_lab.papers.packaged.scenarios" in sys.modules
    # Other machines with the package can make its runs.
    assert worker.name_of(paper.load("packaged").items[0].scenario) == (  # type: ignore[arg-type]
        "strange_lab.papers.packaged.scenarios:scenario"
    )

    (information / "entry_points.txt").write_text("[whimbrel.papers]\nlab = strange_lab.nothing\n")
    _forget()
    with pytest.raises(PaperError, match=r"entry point lab = 'strange_lab.nothing'.*expected a package"):
        paper.known()


def test_functions_of_a_folder_are_not_sent_to_other_machines(tmp_path: Path) -> None:
    write_paper(tmp_path, "here")
    paper_folders.add(tmp_path)
    scenario = paper.load("here").items[0].scenario
    assert worker.name_of(scenario) is None  # type: ignore[arg-type]


def test_styles_of_the_package_take_precedence(tmp_path: Path) -> None:
    known = next(iter(figures.style()))
    folder = write_paper(tmp_path, "vain")
    text = "".join(
        f'[scheme.{key}]\nname = "Mine"\ncolour = "#000000"\nmarker = "square"\n' for key in (known, "mine")
    )
    (folder / "style.toml").write_text(text)
    before = figures.style()[known]
    paper_folders.add(tmp_path)
    assert figures.style()[known] == before
    assert figures.name_of("mine") == "Mine"
