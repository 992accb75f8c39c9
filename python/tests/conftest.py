"""Settings of the whole test suite, and the toy paper."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from toy_core import HERE, FakeCore

import whimbrel.papers
from whimbrel._base import compiled, paper_folders

# No deadline: the test machines are shared. Derandomised: a failing run fails again.
settings.register_profile("whimbrel", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("whimbrel")

# COLUMNS limits the width of printed tables. Test runners with several processes set it.
os.environ.pop("COLUMNS", None)


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCore]:
    """The fake simulator, and a papers folder with the toy paper alone."""
    papers = tmp_path / "papers"
    shutil.copytree(HERE / "toy", papers / "toy")
    monkeypatch.setattr(whimbrel.papers, "__path__", [str(papers)])
    monkeypatch.setattr(paper_folders, "own", lambda: papers)
    monkeypatch.delitem(sys.modules, "whimbrel.papers.toy.scenarios", raising=False)
    monkeypatch.delitem(sys.modules, "whimbrel.papers.toy", raising=False)
    fake = FakeCore()
    compiled.engine.cache_clear()
    monkeypatch.setattr(compiled, "core", lambda: fake)
    monkeypatch.chdir(tmp_path)
    yield fake
    # The identity of the fake one must not outlive it.
    compiled.engine.cache_clear()
