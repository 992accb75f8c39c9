"""Links of the site's pages to the playground: each contains the scenario of the cell that it names."""

import base64
import html
import json
import re
import tomllib
import zlib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from build_site import pages
from playground_links import MARK, linked, toml

from whimbrel._reproduce import paper
from whimbrel._simulate.simulation import examine
from whimbrel.scenario import Scenario

ROOT = Path(__file__).parents[2]
LINK = re.compile(r'<a href="([^"]*)">Run this in your browser</a>')
MARKS = [
    (path, place, found)
    for path, place in pages().items()
    if path.suffix == ".md"
    for found in MARK.finditer(path.read_text(encoding="utf-8"))
]


def _opened(address: str) -> tuple[str, str]:
    """The text and the seed that the playground reads from an address, as in `page/address.js`."""
    given = parse_qs(urlsplit(html.unescape(address)).fragment, strict_parsing=True)
    packed = given["toml"][0]
    assert re.fullmatch(r"[A-Za-z0-9_-]+", packed)
    content = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    return zlib.decompress(content, -zlib.MAX_WBITS).decode(), given["seed"][0]


@pytest.mark.parametrize(("path", "place", "found"), MARKS, ids=lambda each: getattr(each, "stem", ""))
def test_a_link_has_the_scenario_of_its_cell(path: Path, place: str, found: re.Match[str]) -> None:
    key, item, row, column = found.groups()
    if path.is_relative_to(ROOT / "papers"):
        assert path.parent.name == key
    [address] = LINK.findall(linked(found[0], place))
    folder = (Path("/site") / place).parent
    assert (folder / urlsplit(address).path).resolve() == Path("/site/playground/index.html")
    text, seed = _opened(address)
    [of_key] = [each for each in paper.load(key).items if each.key == item]
    expected = of_key.scenario(row, column)
    assert tomllib.loads(text) == json.loads(expected.whole_text())
    assert seed == "1"
    assert examine(Scenario(tomllib.loads(text))).flows


def test_each_of_the_five_papers_has_a_link() -> None:
    assert {found[1] for _, _, found in MARKS} >= {"lda", "freeze", "reorder", "confront", "winf"}


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("lda | table2 | 1 | zigzagging", "no such cell"),
        ("freeze | fig10 | 8 | tfrc", "not a simulation"),
    ],
)
def test_a_mark_without_a_scenario_is_refused(mark: str, message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        linked(f"<!-- playground {mark} -->", "papers/x.md")


def test_the_text_has_the_values_of_the_scenario() -> None:
    document = {
        "title": 'a "title"',
        "simulation": {"duration": "1 s"},
        "node": [{"name": "a"}, {"name": "b", "points": [{"at": "0 s", "position": [0, 0.5]}]}],
        "sweep": {"link.radio.rate": ["1 Mbit/s"]},
        "empty": [],
    }
    text = toml(document)
    assert tomllib.loads(text) == document
    assert '[[node]]\nname = "b"\npoints = [{ at = "0 s", position = [0, 0.5] }]\n' in text
