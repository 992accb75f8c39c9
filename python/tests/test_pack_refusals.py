"""Errors of `whimbrel pack` and `whimbrel report` before they write files."""

from pathlib import Path
from typing import Any

import pytest
from toy_core import FakeCore

from whimbrel.__main__ import main

FIRST_BUILD = "this first build is without; `make extension` makes the whole one"


def test_a_build_without_parquet_packs_nothing(
    core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str, columns: dict[str, Any]) -> bytes:
        raise ValueError(FIRST_BUILD)

    assert main(["reproduce", "toy", "--quick", "--out", "res"]) == 0
    monkeypatch.setattr(core, "parquet", missing)
    before = sorted(tmp_path.rglob("*"))
    capsys.readouterr()
    assert main(["pack", "res", "--to", "new/toy.pack.zip"]) == 2
    assert capsys.readouterr().err == f"whimbrel: whimbrel pack needs Parquet: {FIRST_BUILD}\n"
    assert sorted(tmp_path.rglob("*")) == before
    # The check comes before the results are read.
    assert main(["pack", "elsewhere"]) == 2


@pytest.mark.parametrize("command", ["pack", "report"])
@pytest.mark.parametrize(
    ("there", "part", "whole"), [("", "res/toy", "res"), ("res", "toy", "."), ("res/toy", ".", "..")]
)
def test_the_folder_of_one_paper_names_the_folder_of_the_results(
    core: FakeCore,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    command: str,
    there: str,
    part: str,
    whole: str,
) -> None:
    assert main(["reproduce", "toy", "--quick", "--out", "res"]) == 0
    monkeypatch.chdir(tmp_path / there)
    before = sorted(tmp_path.rglob("*"))
    capsys.readouterr()
    assert main([command, part]) == 1
    expected = f"whimbrel: {part} is a part of the results in {whole}: whimbrel {command} {whole}\n"
    assert capsys.readouterr().err == expected
    assert sorted(tmp_path.rglob("*")) == before
