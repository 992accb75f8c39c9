"""The documentation site: its navigation, its links and its reference follow the sources."""

from pathlib import Path

import pytest
from build_site import broken, groups, pages, relinked
from site_reference import write_reference

import whimbrel

ROOT = Path(__file__).parents[2]


def test_the_navigation_is_that_of_the_index() -> None:
    text = "Use it:\n\n- [A](a.md), [E](e.md).\n- [B](b.md#x)\n\n## Then\n\n1. [C](c.md)\n\n[D](d.md)\n"
    assert groups(text) == [("Use it", ["a.md", "e.md", "b.md"]), ("Then", ["c.md"])]
    named = {entry for _, entries in groups((ROOT / "docs" / "index.md").read_text()) for entry in entries}
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - named == {"index.md"}


def test_links_follow_the_pages_to_their_places() -> None:
    places = pages()
    source = ROOT / "papers" / "lda" / "README.md"
    text = (
        "[a](../../docs/losses.md#use) [b](https://example.org/x.md) [c](scenarios.py)\n```\n[d](x.md)\n```\n"
    )
    changed = relinked(text, source, places)
    assert changed.startswith(
        "[a](../losses.md#use) [b](https://example.org/x.md) c (`papers/lda/scenarios.py`)"
    )
    assert "[d](x.md)" in changed
    with pytest.raises(SystemExit, match=r"nothing\.md does not exist"):
        relinked("[a](nothing.md)", source, places)


def test_links_of_built_pages_without_a_target_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">x</a> <a href="b.html#gone">y</a> <img src="no.png">'
    )
    (tmp_path / "b.html").write_text('<h1 id="there"><a href="https://example.org">z</a></h1>')
    assert broken(tmp_path) == ["a.html: b.html#gone: no such anchor", "a.html: no.png: no such file"]


def test_the_reference_has_every_public_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = write_reference(ROOT / "python", tmp_path)
    # Docstrings whose sections cannot be read are reported.
    assert caplog.records == []
    text = (tmp_path / "whimbrel.md").read_text()
    for name in whimbrel.__all__:
        assert f"`whimbrel.{name}`" in text or f"`{name}`" in text
    assert "- `overrides`: changes to the scenario" in text
    assert "`ScenarioError`: the scenario is invalid" in text
    everything = "".join((tmp_path / Path(file).name).read_text() for file in files)
    for name in (
        "whimbrel.paper.Item",
        "whimbrel.claims.times",
        "whimbrel.quality.emodel",
        "whimbrel.statistics",
    ):
        assert f"`{name}" in everything
