"""The instruction counts of the simulator: the comparison with the recorded ones, without valgrind."""

from types import ModuleType

import pytest
import script_modules


@pytest.fixture(scope="module")
def counter() -> ModuleType:
    """The command that counts."""
    return script_modules.load("benches/instructions.py")


def test_growth_beyond_two_percent_is_a_fault_and_a_drop_is_not(counter: ModuleType) -> None:
    recorded = {"F1": {"per_forward": 1000.0, "per_packet": 3000.0}}
    assert counter.check({"F1": {"per_forward": 1019.0, "per_packet": 2000.0}}, recorded) == []
    (fault,) = counter.check({"F1": {"per_forward": 1021.0, "per_packet": 3000.0}}, recorded)
    assert fault == "F1 per_forward: 1021.0 instructions instead of 1000.0 (+2.1%)"


def test_a_count_that_was_never_recorded_is_a_fault(counter: ModuleType) -> None:
    (fault,) = counter.check({"N1": {"per_forward": 700.0}}, {})
    assert fault == "N1 per_forward: nothing is recorded"


def test_without_valgrind_it_is_skipped_unless_everything_is_required(
    counter: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(counter.shutil, "which", lambda _: None)
    monkeypatch.setattr(counter.sys, "argv", ["instructions.py"])
    monkeypatch.setenv("REQUIRE_ALL", "0")
    assert counter.main() == 0
    monkeypatch.setenv("REQUIRE_ALL", "1")
    assert counter.main() == 1
    assert "missing: valgrind is not installed" in capsys.readouterr().err
