"""The documentation site: its navigation, its links and its reference follow the sources."""

import runpy
from pathlib import Path

import pytest
from browser import dom, needs_chromium
from build_site import broken, groups, pages, pictures, relinked
from pygments.styles import get_style_by_name
from site_reference import write_reference

import whimbrel
from whimbrel import tables

ROOT = Path(__file__).parents[2]


def test_the_navigation_is_that_of_the_index() -> None:
    text = "Use it:\n\n- [A](a.md), [E](e.md).\n- [B](b.md#x)\n\n## Then\n\n1. [C](c.md)\n\n[D](d.md)\n"
    assert groups(text) == [("Use it", ["a.md", "e.md", "b.md"]), ("Then", ["c.md"])]
    named = {entry for _, entries in groups((ROOT / "docs" / "index.md").read_text()) for entry in entries}
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - named == {"index.md"}


def test_pictures_are_shown_where_pages_have_them() -> None:
    places = pages() | pictures()
    text = "![A chart](../../docs/images/lda-table3-throughput.svg)\n"
    changed = relinked(text, ROOT / "papers" / "lda" / "README.md", places)
    assert changed == "![A chart](../images/lda-table3-throughput.svg)\n"


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


def test_every_page_of_a_paper_has_a_place() -> None:
    places = pages()
    folder = ROOT / "papers" / "winf"
    assert places[folder / "README.md"] == "papers/winf.md"
    assert places[folder / "beyond.md"] == "papers/winf-beyond.md"
    assert set(ROOT.glob("papers/*/*.md")) <= set(places) & set(tables.pages())


def test_links_of_built_pages_without_a_target_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">x</a> <a href="b.html#gone">y</a> <img src="no.png">'
    )
    (tmp_path / "b.html").write_text('<h1 id="there"><a href="https://example.org">z</a></h1>')
    assert broken(tmp_path) == ["a.html: b.html#gone: no such anchor", "a.html: no.png: no such file"]


def test_the_scenario_in_an_address_of_the_playground_is_no_anchor(tmp_path: Path) -> None:
    (tmp_path / "playground").mkdir()
    (tmp_path / "playground" / "index.html").write_text("<h1>Playground</h1>")
    (tmp_path / "a.html").write_text('<a href="playground/index.html#toml=abc&amp;seed=1">x</a>')
    assert broken(tmp_path) == []


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


def luminance(colour: str) -> float:
    """Relative luminance of a colour such as `00ff7f` (WCAG 2.2)."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["pygments_style", "pygments_dark_style"])
def test_code_has_a_contrast_of_at_least_four_and_a_half(scheme: str) -> None:
    style = get_style_by_name(runpy.run_path(str(ROOT / "site" / "conf.py"))[scheme])
    background = luminance(style.background_color.removeprefix("#"))
    for token, look in style:
        if look["color"]:
            low, high = sorted((luminance(look["color"]), background))
            assert (high + 0.05) / (low + 0.05) >= 4.5, token


@needs_chromium
def test_names_in_tables_of_small_screens_are_not_broken_to_slivers(tmp_path: Path) -> None:
    cells = "".join(f'<td><code class="literal">{name}</code></td>' for name in ("rate_control", "x" * 80))
    page = tmp_path / "page.html"
    page.write_text(
        f"<style>{(ROOT / 'site' / 'static' / 'site.css').read_text()}</style>"
        '<article style="width: 360px"><table class="docutils"><tr>'
        f"{cells}<td>a text of several words that takes several lines of a small screen</td>"
        "</tr></table></article>"
        "<p></p><script>const [short, long] = document.querySelectorAll('code');"
        "const table = document.querySelector('table');"
        "document.querySelector('p').textContent = [short.getClientRects().length, short.offsetHeight < 30,"
        "long.offsetWidth > 150, long.offsetWidth < 300, table.offsetWidth <= 360].join()</script>"
    )
    assert "<p>1,true,true,true,true</p>" in dom(page, "--window-size=600,800")
