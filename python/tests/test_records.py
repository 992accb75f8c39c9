"""Records: stored runs are read back, and nothing else is."""

import errno
import io
import json
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel._simulate.record_format import decode, encode
from whimbrel._simulate.records import Records
from whimbrel.errors import CampaignError, RecordError
from whimbrel.result import Result

RESULT = Result(
    {
        "flows": {
            "flow": ["tcp", "vidéo"],
            "goodput_bps": np.array([1.5, np.nan]),
            "lost": np.array([3, 2**63], "u8"),
        },
        "empty": {"time_s": np.empty(0)},
    }
)


def same(a: Result, b: Result) -> bool:
    return list(a.tables) == list(b.tables) and all(
        list(a[name]) == list(b[name])
        and all(
            a[name][column].dtype == b[name][column].dtype
            and a[name][column].tobytes() == b[name][column].tobytes()
            for column in a[name]
        )
        for name in a.tables
    )


def test_a_record_is_read_back_bit_by_bit(tmp_path: Path) -> None:
    records = Records(tmp_path / "deep" / "down")
    assert records.load("a") is None
    assert records.keys() == []
    records.save("a", encode("a", RESULT.tables, {"seed": 1}))
    found = records.load("a")
    assert found is not None
    assert same(found, RESULT)
    assert records.keys() == ["a"]
    assert [path.name for path in records.directory.iterdir()] == ["a.record"]


def test_the_same_result_produces_the_same_bytes(tmp_path: Path) -> None:
    for directory in ("x", "y"):
        Records(tmp_path / directory).save("a", encode("a", RESULT.tables, {"seed": 1, "case": "b"}))
    assert (tmp_path / "x/a.record").read_bytes() == (tmp_path / "y/a.record").read_bytes()


def test_any_zip_tool_reads_it(tmp_path: Path) -> None:
    Records(tmp_path).save("a", encode("a", RESULT.tables, {"seed": 7}))
    with zipfile.ZipFile(tmp_path / "a.record") as archive:
        assert archive.testzip() is None
        head = json.loads(archive.read("record.json"))
        values = archive.read("columns")
    assert head["about"] == {"seed": 7}
    # the layout described in the file itself suffices to read it
    ((name, rows, columns), _) = head["tables"]
    assert (name, rows) == ("flows", 2)
    assert columns == [["flow", "<U5"], ["goodput_bps", "<f8"], ["lost", "<u8"]]
    # two words of five characters of four bytes, two floats, then 3 and 2^63
    assert values[40:48] == struct.pack("<d", 1.5)
    assert values[56:72] == struct.pack("<QQ", 3, 2**63)
    assert len(values) == 72


def test_a_renamed_record_is_not_another_run(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.save("a", encode("a", RESULT.tables, {}))
    records.path("a").rename(records.path("b"))
    with pytest.raises(RecordError, match="the record of a"):
        records.load("b")


def test_a_small_file_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel._simulate.record_format._LEAST_ROOM", 1 << 16)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("record.json", '{"key": "a", "tables": []}')
        archive.writestr("columns", bytes(1 << 20))
    with pytest.raises(RecordError, match="columns has 1048576 bytes"):
        decode(buffer.getvalue(), "a")


@given(st.data())
def test_damage_is_detected_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    records = Records(tmp_path_factory.mktemp("damage"))
    records.save("a", encode("a", RESULT.tables, {"seed": 1}))
    content = bytearray(records.path("a").read_bytes())
    if data.draw(st.booleans(), label="truncate"):
        damaged = bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        damaged = bytes(content)
    records.path("a").write_bytes(damaged)
    try:
        found = records.load("a")
    except RecordError:
        return
    # A flipped date or attribute in the zip's directory does not change the stored data.
    assert found is not None
    assert same(found, RESULT)


def test_every_truncation_is_detected(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.save("a", encode("a", RESULT.tables, {}))
    content = records.path("a").read_bytes()
    for length in range(0, len(content), 7):
        records.path("a").write_bytes(content[:length])
        with pytest.raises(RecordError):
            records.load("a")


def test_a_full_disk_leaves_no_partial_file_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = Records(tmp_path)
    records.save("a", encode("a", RESULT.tables, {}))

    class Full(io.FileIO):
        def write(self, content: Any) -> int:
            super().write(content[:100])
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", lambda path, mode: Full(path, mode))
    for key in ("a", "b"):
        with pytest.raises(CampaignError, match=r"disk is full: .* keeps 1 finished runs"):
            records.save(key, encode(key, {}, {}))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["a.record"]
    found = records.load("a")
    assert found is not None
    assert same(found, RESULT)


def test_a_read_only_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CampaignError, match=r"cannot write to .*file"):
        Records(tmp_path / "file").save("a", encode("a", RESULT.tables, {}))


def test_partial_files_of_dead_writers_are_removed(tmp_path: Path) -> None:
    dead = tmp_path / ".partial-999999999-1-a"
    alive = tmp_path / f".partial-{os.getpid()}-1-b"
    for path in (dead, alive):
        path.write_bytes(b"half")
    Records(tmp_path).sweep_partial()
    assert not dead.exists()
    assert alive.exists()
    assert Records(tmp_path).keys() == []
