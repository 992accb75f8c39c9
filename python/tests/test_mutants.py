"""tests/mutants.toml fits the code."""

from pathlib import Path

import pytest
import script_modules

ROOT = Path(__file__).parents[2]


def test_every_listed_mutant_changes_one_place() -> None:
    script = script_modules.load("scripts/mutants.py")
    listed, _ = script.read(ROOT)
    for mutant in listed:
        text = (ROOT / mutant.file).read_text(encoding="utf-8")
        assert mutant.apply(text) != text


def test_a_mutant_of_a_line_that_is_gone_is_refused() -> None:
    script = script_modules.load("scripts/mutants.py")
    with pytest.raises(SystemExit, match="expected once in the file, not 0 times"):
        script.Mutant("crates/proto/src/lib.rs", 0, "gone", "new").apply("fn here() {}")


@pytest.mark.parametrize("crate", ["proto", "control", "repair", "wifi", "netsim", "lab"])
def test_mutants_of_every_crate_of_the_protocols_and_the_simulator_are_generated(crate: str) -> None:
    script = script_modules.load("scripts/mutants.py")
    assert any(mutant.package == f"whimbrel-{crate}" for mutant in script.generated(ROOT))


def test_a_file_is_counted_again_when_it_has_changed(tmp_path: Path) -> None:
    script = script_modules.load("scripts/mutants.py")
    (tmp_path / "tests").mkdir()
    source = tmp_path / "lib.rs"
    source.write_text("a < b")
    counts = script.Counts(tmp_path, 1)
    assert counts.wants("lib.rs")
    counts.add("lib.rs", "dead")
    counts.write()
    assert not script.Counts(tmp_path, 1).wants("lib.rs")
    source.write_text("a <= b")
    assert not script.Counts(tmp_path, 0).wants("lib.rs")
    again = script.Counts(tmp_path, 1)
    assert again.wants("lib.rs")
    again.add("lib.rs", "SURVIVES")
    again.write()
    assert [*script.Counts(tmp_path, 1).files["lib.rs"]] == ["file", "SURVIVES"]
