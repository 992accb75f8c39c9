"""Transferred scenarios: every file is found again, and no other."""

import pickle
from pathlib import Path
from types import MappingProxyType

import pytest

from whimbrel._campaigns.travel import pack, unpack
from whimbrel._simulate.scenario import override_value
from whimbrel.scenario import Scenario


def found(scenario: Scenario) -> dict[str, str]:
    """The paths that the simulator would read: names joined to the base, by the operating system's rules."""
    return {name: (scenario.base / name).read_text() for name in scenario.files()}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for name in ("one/two/near.txt", "one/up.txt", "top.txt", "one/two/sub/deep.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}")
    return tmp_path / "one" / "two"


def test_files_are_found_under_their_names(base: Path, tmp_path: Path) -> None:
    names = ["near.txt", "../up.txt", "../../top.txt", "sub/deep.txt", "sub/../near.txt", "./near.txt"]
    scenario = Scenario(
        {"a": [{"file": name} for name in names], "node": "near", "none": "missing.txt"},
        ("b.file=near.txt", 'c={ file = "../up.txt" }'),
        base,
    )
    packed, contents = pack(scenario)
    assert pickle.loads(pickle.dumps(packed)) == packed  # noqa: S301 - our own
    there = unpack(packed, contents, tmp_path / "elsewhere")
    assert there.text() == scenario.text()
    assert there.overrides == scenario.overrides
    assert set(found(there)) == set(names)
    assert found(there) == found(scenario)
    assert there.digest() == scenario.digest()


def test_strings_that_happen_to_name_files_are_no_files_of_a_scenario(base: Path) -> None:
    secret = str(base / "near.txt")
    scenario = Scenario(
        {"title": secret, "node": [{"name": "near.txt"}], "sweep": {"title": [secret], "rate": [secret]}},
        (f"title={secret}",),
        base,
    )
    assert pack(scenario)[1] == {}
    scenario = Scenario(
        {"sweep": {"link.one.trace.file": ["near.txt"], "pair": [{"name": "top", "a.light": "../up.txt"}]}},
        ("b.schedule=../../top.txt",),
        base,
    )
    assert list(scenario.files()) == ["near.txt", "../up.txt", "../../top.txt"]


def test_a_variable_is_a_file_where_a_key_of_files_uses_it(base: Path) -> None:
    variables = {"walk": "near.txt", "file": str(base / "sub/deep.txt"), "road": {"file": "../up.txt"}}
    scenario = Scenario(
        {"variables": variables, "title": "$file", "a": {"file": "$walk"}, "b": "$road"}, base=base
    )
    assert list(scenario.files()) == ["near.txt", "../up.txt"]
    swept = scenario.changed("variables.walk=../../top.txt")
    assert list(swept.files()) == ["near.txt", "../up.txt", "../../top.txt"]


def test_absolute_names_are_changed_everywhere(base: Path, tmp_path: Path) -> None:
    name = str(base / "near.txt")
    scenario = Scenario(
        {"a": [{"file": name}], "title": f"about {name}"},
        (f"b.file={name}", f'c={{ file = "{name}", n = 1 }}', "d=2 Mbit/s"),
        base,
    )
    packed, contents = pack(scenario)
    assert len(contents) == 1
    there = unpack(packed, contents, tmp_path / "elsewhere")
    moved = f"{tmp_path}/elsewhere{name}"
    assert there.document == {"a": [{"file": moved}], "title": f"about {name}"}
    assert [override_value(each) for each in there.overrides] == [
        moved,
        {"file": moved, "n": 1},
        "2 Mbit/s",
    ]
    assert Path(moved).read_text() == "content of one/two/near.txt"


def test_a_scenario_without_files_finds_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario(MappingProxyType({"loss": {"file": "lost.txt"}, "x": (1, 2.5)}))
    packed, contents = pack(scenario)
    assert contents == {}
    # the worker's own directory has a file of that name
    (tmp_path / "lost.txt").write_text("not this one")
    monkeypatch.chdir(tmp_path)
    there = unpack(packed, contents, tmp_path / "elsewhere")
    assert found(there) == {}
    assert there.text() == scenario.text()


def test_a_change_of_a_file_in_an_inline_table_is_another_scenario(base: Path) -> None:
    scenario = Scenario({}, ('link.trace={ file = "near.txt" }',), base)
    before = scenario.digest()
    (base / "near.txt").write_text("changed")
    assert scenario.digest() != before


@pytest.mark.parametrize(
    ("override", "value"),
    [("a=2 Mbit/s", "2 Mbit/s"), ("a = 3", 3), ('a="x"', "x"), ("a=[1, 2]", [1, 2]), ("a=1\nb=2", "1\nb=2")],
)
def test_the_value_of_a_change_is_read_as_the_simulator_does(override: str, value: object) -> None:
    assert override_value(override) == value
