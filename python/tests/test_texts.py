"""Text files in other encodings, and terminals of other encodings."""

import io
import sys
from pathlib import Path

import pytest

from whimbrel._base import texts
from whimbrel.comparing import samples
from whimbrel.errors import InputError, ScenarioError
from whimbrel.scenario import Scenario


def test_an_encoding_is_named_with_the_remedy(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes('title = "x"'.encode("utf-16"))
    with pytest.raises(ScenarioError, match=r"s\.toml: it is in UTF-16.*save it as UTF-8"):
        Scenario.from_file(file)
    file.write_bytes('a = 1\ntitle = "é"'.encode("latin-1"))
    with pytest.raises(ScenarioError, match=r"not in UTF-8 \(byte 15, in line 2\)"):
        Scenario.from_file(file)
    file.write_bytes(b"\xef\xbb\xbftitle = 'x'\r\n")
    assert Scenario.from_file(file).document == {"title": "x"}
    table = tmp_path / "sweep-runs.csv"
    table.write_bytes("seed,flow\n".encode("utf-16"))
    with pytest.raises(InputError, match="it is in UTF-16"):
        samples.read(table)


def test_a_scenario_file_has_a_bound(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(b"#" * ((16 << 20) + 1))
    with pytest.raises(ScenarioError, match="more than 16777216 bytes") as error:
        Scenario.from_file(file)
    assert len(str(error.value)) < 300


def test_a_sweep_has_a_bound() -> None:
    with pytest.raises(ScenarioError, match="sweep has 12250000 combinations"):
        Scenario({"sweep": {"a.b": list(range(3500)), "a.c": list(range(3500))}}).sweep()
    assert len(Scenario({"sweep": {"a.b": list(range(20_000))}}).sweep()) == 20_000


def test_signs_that_an_encoding_lacks_are_written_with_others(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    with texts.printable_streams():
        print("1 ± 2 × 3 Gespräch")
        sys.stdout.flush()
    assert written.getvalue() == b"1 +- 2 x 3 Gespr?ch\n"
