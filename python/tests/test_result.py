"""Tables, and the input they refuse."""

import pickle

import numpy as np
import pandas
import polars
import pytest

from whimbrel.errors import WhimbrelError
from whimbrel.result import Result, Table, arrivals


def flows() -> Table:
    return Table(
        {
            "flow": (np.array([1, 0, 1], dtype=np.uint32), ["tcp", "video"]),
            "goodput_bps": np.array([3.0, 1.0, 2.0]),
            "lost": np.array([5, 6, 7], dtype=np.uint64),
        }
    )


def test_strings_are_given_as_codes_or_lists() -> None:
    assert flows()["flow"].tolist() == ["video", "tcp", "video"]
    assert Table({"a": ["x", "yy"]})["a"].dtype.kind == "U"
    assert Table({"a": (np.empty(0, dtype=np.uint32), [])}).rows == 0


def test_where_and_one() -> None:
    assert flows().where(flow="video")["lost"].tolist() == [5, 7]
    assert flows().where(flow="video", lost=7)["goodput_bps"].tolist() == [2.0]
    assert flows().one("goodput_bps", flow="tcp") == 1.0
    with pytest.raises(WhimbrelError, match="2 rows"):
        flows().one("goodput_bps", flow="video")
    with pytest.raises(WhimbrelError, match="0 rows"):
        flows().one("goodput_bps", flow="udp")


def test_a_wrong_name_lists_the_right_ones() -> None:
    with pytest.raises(KeyError, match="flow, goodput_bps, lost"):
        flows()["rate"]
    with pytest.raises(KeyError, match=r"there are flows \(a scenario's \[record\] requests more\)"):
        _ = Result({"flows": flows()}).packets


@pytest.mark.parametrize("columns", [{"a": [1, 2], "b": [1]}, {"a": [[1, 2]]}])
def test_ragged_columns_are_refused(columns: dict[str, list[int]]) -> None:
    with pytest.raises(WhimbrelError, match="one length"):
        Table(columns)


def test_data_frames_have_the_same_columns() -> None:
    result = Result({"flows": flows()})
    for frame in (result.to_pandas()["flows"], result.to_polars()["flows"]):
        assert list(frame.columns) == ["flow", "goodput_bps", "lost"]
        assert list(frame["flow"]) == ["video", "tcp", "video"]
        assert list(frame["lost"]) == [5, 6, 7]


def test_a_table_is_a_data_frame_to_others() -> None:
    table = flows()
    assert len(table) == 3
    assert list(table) == ["flow", "goodput_bps", "lost"]
    for frame in (pandas.DataFrame(table), polars.DataFrame(table)):
        assert frame.shape == (3, 3)
        assert list(frame["lost"]) == [5, 6, 7]

    class Stream:
        """Anything but a dict: only the protocol remains."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table.__arrow_c_stream__(requested_schema)

    read = polars.DataFrame(Stream())
    assert read.schema == {"flow": polars.String, "goodput_bps": polars.Float64, "lost": polars.UInt64}
    assert read.rows() == [("video", 3.0, 5), ("tcp", 1.0, 6), ("video", 2.0, 7)]
    assert pickle.loads(pickle.dumps(table)).where(flow="tcp").rows == 1  # noqa: S301


def test_the_representation_has_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    text = repr(flows())
    assert [line.split() for line in text.splitlines()[:4]] == [
        ["flow", "goodput_bps", "lost"],
        ["video", "3", "5"],
        ["tcp", "1", "6"],
        ["video", "2", "7"],
    ]
    assert text.endswith("3 rows")
    wide = repr(Table({f"column{number}": np.arange(100.0) for number in range(9)}))
    assert all(len(line) <= 30 for line in wide.splitlines())
    assert "90 more rows" in wide
    assert "6 more columns: column3" in " ".join(wide.split())


def test_arrivals_are_in_the_order_of_the_schedule() -> None:
    packets = Table(
        {
            "flow": ["v", "v", "other", "v", "v", "v"],
            "tag": [2, 0, 1, 1, 2, 9],
            "received_s": [11.5, 11.0, 0.5, np.nan, 11.2, 12.0],
        }
    )
    found = arrivals(packets, "v", 4, start_s=10.0)
    np.testing.assert_allclose(found, [1.0, np.nan, 1.2, np.nan])
