"""Scenarios as values: changes, digests, sweeps."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel._simulate.scenario import toml_value
from whimbrel.errors import ScenarioError
from whimbrel.scenario import Scenario

BASE = {"simulation": {"duration": "5 s"}, "link": [{"rate": "1 Mbit/s"}]}


def test_a_file_is_read_with_its_directory(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text('[simulation]\nduration = "5 s"\n[[link]]\nrate = "1 Mbit/s"\n')
    assert Scenario.of(file).document == BASE
    assert Scenario.of(str(file)).base == tmp_path


def test_a_name_that_ends_in_json_is_json_as_for_the_simulator(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(BASE))
    assert Scenario.of(file).document == BASE
    file.write_text("[1]")
    with pytest.raises(ScenarioError, match=r"a\.json: expected a table"):
        Scenario.from_file(file)


def test_a_missing_file_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as error:
        Scenario.from_file(tmp_path / "none.toml")
    assert str(error.value) == f"{tmp_path / 'none.toml'}: No such file or directory"


@pytest.mark.parametrize("content", ["[simulation", "\xff"])
def test_an_invalid_toml_file_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "a.toml"
    file.write_text(content, encoding="latin-1")
    with pytest.raises(ScenarioError, match=r"a\.toml"):
        Scenario.from_file(file)
    with pytest.raises(ScenarioError, match=r"none\.toml"):
        Scenario.from_file(tmp_path / "none.toml")


def test_the_digest_covers_all_relevant_parts() -> None:
    one = Scenario(BASE)
    reordered = Scenario({"link": [{"rate": "1 Mbit/s"}], "simulation": {"duration": "5 s"}})
    assert one.digest() == reordered.digest()
    assert one.digest() == Scenario({**BASE, "sweep": {"a": [1]}}).digest()
    others = [
        Scenario({**BASE, "title": "x"}),
        one.changed("a=1"),
        one.changed("a=2"),
        one.changed("a=1", "a=2"),
        one.changed("a=2", "a=1"),
    ]
    assert len({each.digest() for each in [one, *others]}) == 6


def test_the_digest_follows_the_content_of_named_files(tmp_path: Path) -> None:
    document = {"flow": [{"traffic": {"kind": "video", "schedule": "video.csv"}}]}
    without = Scenario(document, base=tmp_path).digest()
    (tmp_path / "video.csv").write_text("a")
    first = Scenario(document, base=tmp_path).digest()
    (tmp_path / "video.csv").write_text("b")
    assert len({without, first, Scenario(document, base=tmp_path).digest()}) == 3
    override = Scenario({}, base=tmp_path).changed("flow.v.traffic.schedule='video.csv'")
    before = override.digest()
    (tmp_path / "video.csv").write_text("c")
    assert override.digest() != before


def test_a_change_is_a_key_and_a_value() -> None:
    for wrong in ("rate", "=5", " =5"):
        with pytest.raises(ScenarioError, match="expected key=value"):
            Scenario(BASE).changed(wrong)


def test_a_sweep_is_every_combination() -> None:
    scenario = Scenario({**BASE, "sweep": {"link[0].rate": ["1 Mbit/s", "2 Mbit/s"], "flow.a.ccid": [2, 3]}})
    cases = scenario.sweep()
    assert [list(values.values()) for values, _ in cases] == [
        ["1 Mbit/s", 2],
        ["1 Mbit/s", 3],
        ["2 Mbit/s", 2],
        ["2 Mbit/s", 3],
    ]
    assert cases[1][1].overrides == ('link[0].rate="1 Mbit/s"', "flow.a.ccid=3")
    assert "sweep" not in cases[0][1].text()
    assert Scenario(BASE).sweep() == [({}, Scenario(BASE))]


@pytest.mark.parametrize("wrong", [5, "abc", []])
def test_a_sweep_over_an_invalid_list_is_refused(wrong: object) -> None:
    with pytest.raises(ScenarioError, match=r"sweep\.rate"):
        Scenario({"sweep": {"rate": wrong}}).sweep()


def test_values_that_toml_lacks_are_refused() -> None:
    with pytest.raises(ScenarioError):
        Scenario({"a": float("nan")}).text()
    with pytest.raises(ScenarioError):
        Scenario({"a": object()}).text()
    with pytest.raises(ScenarioError):
        toml_value(None)


plain = (
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@given(values)
def test_values_survive_toml(value: object) -> None:
    try:
        text = toml_value(value)
        text.encode()
    except UnicodeEncodeError:
        return
    assert tomllib.loads(f"value = {text}")["value"] == value


def test_a_combination_of_a_sweep_does_not_depend_on_the_files_of_others(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("0")
    swept = Scenario({"sweep": {"link.radio.trace.file": ["a.csv", "b.csv"]}}, base=tmp_path)
    before = [scenario.digest() for _, scenario in swept.sweep()]
    (tmp_path / "b.csv").write_text("1")
    after = [scenario.digest() for _, scenario in swept.sweep()]
    assert after[0] == before[0]
    assert after[1] != before[1]
