"""Runs repeated while a claim is undecided, and only for its cells."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_core import FakeCore, lines, results

from whimbrel.__main__ import main
from whimbrel._reproduce import paper
from whimbrel.claims import Claim, Verdict, at_most
from whimbrel.sheet import Sheet


def undecided_toy(*, limit: float) -> paper.Paper:
    """The toy paper with a claim that its four runs do not decide, as its spread is 1."""

    def check(sheets: Mapping[str, Sheet]) -> Verdict:
        return at_most(sheets["fig2"].value("tcp", "throughput", row="4"), limit)

    toy = paper.load("toy")
    return replace(toy, claims=[Claim("slow", "Four flows are slow.", ("fig2",), check, "Section 7")])


def test_undecided_claims_are_repeated_up_to_a_limit(
    core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def repetitions(out: str) -> dict[tuple[str, str], str]:
        return {(line["row"], line["column"]): line["n"] for line in lines(tmp_path / out / "toy/fig2.csv")}

    def verdict(out: str) -> object:
        (claim,) = json.loads((tmp_path / out / "toy/claims.json").read_text())
        return claim["holds"]

    # 14.5 with a spread of 1: four runs leave 15 open, twice as many or more do not
    toy = undecided_toy(limit=15.4)
    monkeypatch.setattr(paper, "load", lambda _key: toy)
    assert main(["reproduce", "toy", "fig2", "--out", "one", "--json", "--max-runs", "4"]) == 0
    assert verdict("one") is None
    assert set(repetitions("one").values()) == {"4"}
    assert main(["reproduce", "toy", "fig2", "--out", "one", "--json"]) == 0
    assert verdict("one") is True
    made = repetitions("one")
    assert made.pop(("4", "tcp")) in ("8", "16", "32", "40")
    # no other cell matters to the claim
    assert set(made.values()) == {"4"}
    # repeating makes no run, and starting over yields the same
    calls, before = len(core.calls), results(tmp_path / "one")
    assert main(["reproduce", "toy", "fig2", "--out", "one", "--json"]) == 0
    assert (len(core.calls), results(tmp_path / "one")) == (calls, before)
    assert main(["reproduce", "toy", "fig2", "--out", "two", "--json"]) == 0
    assert results(tmp_path / "two") == before
    # a quick pass leaves it open
    assert main(["reproduce", "toy", "fig2", "--quick", "--out", "three", "--json"]) == 0
    assert verdict("three") is None


def test_a_claim_at_its_bound_stays_undecided(
    core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    luck = [np.random.default_rng(seed).standard_normal() for seed in range(1, 41)]
    toy = undecided_toy(limit=14.5 + float(np.mean(luck)))
    monkeypatch.setattr(paper, "load", lambda _key: toy)
    assert main(["reproduce", "toy", "fig2", "--out", "a", "--json"]) == 0
    (claim,) = json.loads((tmp_path / "a/toy/claims.json").read_text())
    assert (claim["holds"], claim["verdict"]) == (None, "undecided")
    (line,) = (x for x in lines(tmp_path / "a/toy/fig2.csv") if (x["row"], x["column"]) == ("4", "tcp"))
    assert line["n"] == "40"
    assert "undecided" in (tmp_path / "a/index.html").read_text()
    assert len(core.calls) == 6 * 4 + 36


def test_an_interrupted_repetition_resumes(
    core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = undecided_toy(limit=15.4)
    monkeypatch.setattr(paper, "load", lambda _key: toy)
    assert main(["reproduce", "toy", "fig2", "--out", "whole", "--json", "--jobs", "1"]) == 0
    whole = len(core.calls)
    core.calls.clear()
    made = core.run

    def breaks(*given: Any) -> dict[str, Any]:
        if len(core.calls) == 26:
            raise OSError("no space left")
        return made(*given)

    monkeypatch.setattr(core, "run", breaks)
    assert main(["reproduce", "toy", "fig2", "--out", "again", "--json", "--jobs", "1"]) != 0
    monkeypatch.setattr(core, "run", made)
    assert main(["reproduce", "toy", "fig2", "--out", "again", "--json", "--jobs", "1"]) == 0
    assert len(core.calls) == whole
    assert results(tmp_path / "again") == results(tmp_path / "whole")
