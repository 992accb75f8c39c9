"""Sheets on disk: the format that external scripts read."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from whimbrel._values.sheet import COLUMNS
from whimbrel.errors import WhimbrelError
from whimbrel.sheet import Metric, Picture, Sheet, Value, read_sheet, value_of


def sheet() -> Sheet:
    made = Sheet(
        key="table2",
        title="One flow",
        rows=["1"],
        columns=["tcp", "zigzag"],
        metrics=[Metric("throughput", "%", "Throughput"), Metric("m_c", "%", "M_c", 2)],
        source="Table 2",
        note="A note, with a comma",
        row_label="Flows",
        pictures=[Picture("a.png", "what to see")],
    )
    made.values["1", "tcp", "throughput"] = Value(np.array([57.0, 58.0, 59.0]), paper=58.0, seeds=(1, 2, 3))
    made.values["1", "zigzag", "throughput"] = value_of([97.25], paper=97.0)
    made.values["1", "zigzag", "m_c"] = value_of([math.nan, math.nan])
    return made


def test_the_file_has_the_documented_format() -> None:
    # 57, 58, 59: mean 58, s = 1, half width 4.302653 / sqrt(3) = 2.484138
    lines = list(csv.reader(sheet().csv().splitlines()))
    assert (
        lines[0]
        == list(COLUMNS)
        == ["row", "column", "metric", "unit", "paper", "ours", "ci_low", "ci_high", "n"]
    )
    assert lines[1][:6] == ["1", "tcp", "throughput", "%", "58.0", "58.0"]
    assert [round(float(x), 5) for x in lines[1][6:8]] == [55.51586, 60.48414]
    assert lines[1][8] == "3"
    assert lines[2] == ["1", "zigzag", "throughput", "%", "97.0", "97.25", "", "", "1"]
    assert lines[3] == ["1", "zigzag", "m_c", "%", "", "", "", "", "0"]
    assert len(lines) == 4


def test_a_written_sheet_is_read_back(tmp_path: Path) -> None:
    made = sheet()
    made.write(tmp_path / "lda", {"quick": True})
    stored = read_sheet(tmp_path / "lda", "table2")
    assert stored.about["quick"] is True
    for name in ("key", "title", "rows", "columns", "metrics", "source", "note", "row_label", "pictures"):
        assert getattr(stored.sheet, name) == getattr(made, name)
    entry = stored.entries["1", "tcp", "throughput"]
    interval = made.value("tcp", "throughput").interval
    assert interval is not None
    assert (entry.paper, entry.ours, entry.low, entry.high, entry.n) == (
        58.0,
        58.0,
        interval.low,
        interval.high,
        3,
    )
    assert math.isnan(stored.entries["1", "zigzag", "m_c"].ours)


def test_a_damaged_sheet_is_named(tmp_path: Path) -> None:
    sheet().write(tmp_path)
    (tmp_path / "table2.csv").write_text("row,column\n1,2\n")
    with pytest.raises(WhimbrelError, match=r"table2\.csv: not a sheet"):
        read_sheet(tmp_path, "table2")
    (tmp_path / "table2.json").write_text("{}")
    with pytest.raises(WhimbrelError, match=r"table2\.json: not a sheet"):
        read_sheet(tmp_path, "table2")


def test_a_place_without_a_number_is_an_error() -> None:
    with pytest.raises(WhimbrelError, match="no number at '1', 'tcp', 'm_c'"):
        sheet().value("tcp", "m_c")
    two_rows = sheet()
    two_rows.rows = ["1", "2"]
    with pytest.raises(WhimbrelError, match="2 rows: expected one of them"):
        two_rows.value("tcp", "throughput")
    assert two_rows.value("tcp", "throughput", row="1").mean == 58.0


def test_numeric_rows_form_an_axis() -> None:
    made = sheet()
    for rows, numbers in (
        (["1", "2", "16"], [1.0, 2.0, 16.0]),
        (["0.5", "2"], [0.5, 2.0]),
        (["2", "1"], None),
        (["1"], None),
        (["WLH", "WB"], None),
    ):
        made.rows = rows
        assert made.row_numbers == numbers
