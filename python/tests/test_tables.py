"""Tables of pages are filled from results, and describe existing items."""

import re
from pathlib import Path

import pytest

from whimbrel import tables
from whimbrel._reproduce import paper
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
