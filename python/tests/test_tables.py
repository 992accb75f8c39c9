"""Tables of pages are filled from results, describe existing items, and still come out of the code."""

import re
from pathlib import Path

import pytest
from toy_core import FakeCore

from whimbrel import tables
from whimbrel.__main__ import main
from whimbrel._reproduce import first_runs, paper
from whimbrel.errors import PaperError

CSV = """row,column,metric,unit,paper,ours,ci_low,ci_high,n
1,a,x,%,3.5,1234.56,1230.56,1238.56,3
2,a,x,%,,2,1,3,3
1,b,x,%,,-0.04,,,1
"""
TABLE = {
    "corner": "N",
    "item": "t",
    "metric": "x",
    "printed": True,
    "rows": ["1", {"head": "both", "row": ["1", "2"], "printed": False}],
    "columns": [{"head": "A", "column": "a"}, {"head": "± A", "column": "a", "interval": True}, "b"],
}


def known(directory: Path) -> tables.Numbers:
    (directory / "t.csv").write_text(CSV)
    return tables.numbers(directory, ["t"])


def test_a_table_quotes_means_intervals_and_printed_numbers(tmp_path: Path) -> None:
    assert tables.render(TABLE, known(tmp_path)).splitlines() == [
        "| N | A | ± A | b |",
        "|---|---|---|---|",
        "| 1 | 1,234.6 (3.5) | 1,234.6 ± 4.0 (3.5) | 0.0 |",
        "| both | 618.3 | 618.3 | 0.0 |",
    ]


def test_the_first_item_with_a_cell_fills_it(tmp_path: Path) -> None:
    table = {"item": ["u", "t"], "metric": "x", "digits": 0, "rows": ["2", "3"], "columns": ["a"]}
    assert tables.render(table, known(tmp_path)).splitlines()[2:] == ["| 2 | 2 |", "| 3 |  |"]


def test_only_tables_whose_items_were_made_are_written(tmp_path: Path) -> None:
    page = "before\n<!-- results p one -->\nold\n<!-- end of results -->\nafter\n"
    described = {("p", "one"): TABLE}
    assert tables.filled(page, described, {}) == page
    filled = tables.filled(page, described, {"p": known(tmp_path)})
    assert "old" not in filled
    assert filled.startswith("before\n<!-- results p one -->\n| N | A |")
    assert filled.endswith("<!-- end of results -->\nafter\n")
    with pytest.raises(PaperError, match="'two'"):
        tables.filled(page.replace("one", "two"), described, {})


def test_a_misspelt_key_is_an_error(tmp_path: Path) -> None:
    (tmp_path / tables.FILE).write_text(
        '[table.t]\nitem = "t"\nmetrik = "x"\nrows = ["1"]\ncolumns = ["a"]\n'
    )
    with pytest.raises(PaperError, match="'metrik'"):
        tables.read(tmp_path)


@pytest.mark.parametrize("key", paper.known())
def test_described_tables_quote_existing_cells(key: str) -> None:
    items = {item.key: item for item in paper.load(key).items}
    for name, table in tables.read(paper.directory() / key).items():
        assert tables.items_of(table) <= set(items), name
        for head, row in tables.cells(table):
            for each in row:
                among = each["item"] if isinstance(each["item"], list) else [each["item"]]
                rows = each["row"] if isinstance(each["row"], list) else [each["row"]]
                found = [
                    item
                    for item in (items[one] for one in among)
                    if set(rows) <= set(item.rows)
                    and each["column"] in item.columns
                    and each["metric"] in {metric.key for metric in item.all_metrics}
                ]
                # If several items share a table, one of them has the column.
                assert found or (len(among) > 1 and each["metric"]), (name, head, each)


def test_every_described_table_is_in_a_page() -> None:
    marks = {
        found
        for page in tables.pages()
        for found in re.findall(r"<!-- results (\S+) (\S+) -->", page.read_text())
    }
    described = {(key, name) for key in paper.known() for name in tables.read(paper.directory() / key)}
    assert marks == described


TOY_TABLE = """[table.rates]
item = "fig2"
metric = "throughput"
rows = ["1", "2"]
columns = [{ head = "TCP", column = "tcp" }, { head = "ZigZag", column = "zigzag" }]
"""
TOY_PAGE = "<!-- results toy rates -->\n<!-- end of results -->\n"


def toy(tmp_path: Path) -> Path:
    """The folder of the toy paper, with a page whose table is filled from `out`."""
    folder = tmp_path / "papers/toy"
    (folder / "tables.toml").write_text(TOY_TABLE)
    (folder / "README.md").write_text(TOY_PAGE)
    assert main(["reproduce", "toy", "fig2", "--out", "out"]) == 0
    assert tables.main(["out"]) == 0
    return folder


@pytest.mark.usefixtures("core")
def test_a_check_names_the_cells_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = toy(tmp_path)
    page = folder / "README.md"
    capsys.readouterr()
    assert tables.main(["out", "--check"]) == 0
    assert capsys.readouterr().out == ""
    (table,) = tables.blocks(page.read_text())
    was = table.text.splitlines()[-1].split()[-2]
    changed = page.read_text().replace(was, "1.5")
    page.write_text(changed)
    assert tables.main(["out", "--check"]) == 1
    assert capsys.readouterr().out == f"README.md: toy rates: 2, ZigZag: was 1.5, is {was}\n"
    assert page.read_text() == changed


def test_first_runs_of_each_row_and_column_are_recorded_and_repeated(core: FakeCore, tmp_path: Path) -> None:
    folder = toy(tmp_path)
    recorded = first_runs.read(folder)
    assert {run.row for run in recorded} == {"1", "2"}
    assert {run.column for run in recorded} == {"tcp", "zigzag"}
    assert {(run.table, run.item, run.metric, run.seed) for run in recorded} == {
        ("rates", "fig2", "throughput", 1)
    }
    (table,) = tables.blocks((folder / "README.md").read_text())
    assert {run.text for run in recorded} == {first_runs.digest(table.text)}
    calls = len(core.calls)
    assert list(first_runs.again(paper.load("toy"), recorded)) == []
    assert len(core.calls) == calls + len(recorded)
    altered = [recorded[0]._replace(value=recorded[0].value * 1.001), *recorded[1:]]
    assert list(first_runs.again(paper.load("toy"), altered)) == [(altered[0], recorded[0].value)]


@pytest.mark.usefixtures("core")
def test_tables_whose_items_are_not_in_the_results_keep_their_record(tmp_path: Path) -> None:
    folder = toy(tmp_path)
    recorded = (folder / first_runs.FILE).read_text()
    assert main(["reproduce", "toy", "table1", "--out", "other"]) == 0
    assert tables.main(["other"]) == 0
    assert (folder / first_runs.FILE).read_text() == recorded


def test_the_tables_of_pages_are_those_recorded() -> None:
    shown = {
        (block.key, block.name): first_runs.digest(block.text)
        for page in tables.pages()
        for block in tables.blocks(page.read_text(encoding="utf-8"))
    }
    recorded = {
        (key, run.table): run.text
        for key in paper.known()
        for run in first_runs.read(paper.directory() / key)
    }
    changed = [place for place, text in recorded.items() if shown.get(place) != text]
    assert not changed, f"`python -m whimbrel.tables OUT` writes a table and its record: {changed}"
    assert set(shown) == set(recorded)


@pytest.mark.parametrize("key", [key for key in paper.known() if first_runs.read(paper.directory() / key)])
def test_first_runs_of_quoted_cells_come_out_again(key: str) -> None:
    recorded = first_runs.read(paper.directory() / key)
    changed = [
        f"{run.table}: {run.item}, {run.row}, {run.column}, {run.metric}: was {run.value:g}, is {value:g}"
        for run, value in first_runs.again(paper.load(key), recorded)
    ]
    assert not changed, "\n".join(
        [*changed, f"`whimbrel reproduce {key}` and `python -m whimbrel.tables OUT` write these tables anew"]
    )
