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


@pytest.mark.parametrize("crate", ["proto", "control", "wifi", "netsim", "lab"])
def test_mutants_of_every_crate_of_the_protocols_and_the_simulator_are_generated(crate: str) -> None:
    script = script_modules.load("scripts/mutants.py")
    assert any(mutant.package == f"whimbrel-{crate}" for mutant in script.generated(ROOT))
