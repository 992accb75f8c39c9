"""The packaged examples: listed, copied, and named by the help texts."""

import gzip
import json
import re
import shlex
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from whimbrel.__main__ import main
from whimbrel._command import example_files
from whimbrel.errors import UsageError

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "scenarios", "rfc8867", "rfc8869", "teaching", "traces", "captures", "carry", "relay", "aio", "notebooks",
    "contest", "contest_repair", "networks", "ci",
)  # fmt: skip
Run = Callable[..., tuple[int, str, str]]


def _commands() -> list[list[str]]:
    """Every command, which has a manual page."""
    with tempfile.TemporaryDirectory() as folder:
        assert main(["man", "--out", folder]) == 0
        pages = [page.read_text(encoding="utf-8") for page in Path(folder).iterdir()]
    synopses = [page.split(".SH SYNOPSIS\n\\fB", 1)[1].split("\\fR", 1)[0] for page in pages]
    return sorted(synopsis.replace("\\-", "-").split()[1:] for synopsis in synopses)


COMMANDS = _commands()


@pytest.fixture(name="run")
def _run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A command in this process: the exit code, and what it printed."""
    # Lines that are not wrapped.
    monkeypatch.setenv("COLUMNS", "300")

    def run(*arguments: str, cwd: Path = ROOT) -> tuple[int, str, str]:
        monkeypatch.chdir(cwd)
        try:
            code = main(arguments)
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        return (code, *capfd.readouterr())

    return run


def _shown(run: Run, command: list[str]) -> list[list[str]]:
    """The lines of a help text's examples that begin with `whimbrel`."""
    code, text, _ = run(*command, "--help")
    assert code == 0
    examples = re.split(r"^(?:examples?:|for example)\n", text, flags=re.MULTILINE | re.IGNORECASE)[-1]
    lines = [line.strip() for line in examples.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("whimbrel ")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command) or "whimbrel")
def test_the_examples_of_a_help_text_work_beside_the_copied_files(
    command: list[str], run: Run, tmp_path: Path
) -> None:
    lines = _shown(run, command)
    example_files.copy(tmp_path / "examples")
    for words in lines:
        assert not [
            word for word in words if word.startswith("examples/") and not (tmp_path / word).is_file()
        ]
        # These need another host, network namespaces, minutes, or what another example has made.
        beyond = ("perf", "carry", "relay", "pipe", "emulate", "record", "reproduce", "testbed")
        later = (["key", "show"], ["key", "forget"])
        recorded = {"lte/scenario.toml", "lte/down.delays.csv"}
        if words[1] in beyond or words[1:3] in later or recorded & set(words):
            continue
        # Commands behind these signs are not part of Whimbrel.
        ends = [words.index(sign) for sign in ("|", ">", "&&") if sign in words]
        code, _, error = run(*words[1 : min(ends, default=None)], cwd=tmp_path)
        assert code == 0, f"{shlex.join(words)}\n{error}"


def test_every_command_of_the_overview_is_checked(run: Run) -> None:
    overview = run("--help")[1].partition("options\n")[0]
    named = {words[0] for line in overview.splitlines() if line.startswith("  ") and (words := line.split())}
    assert named - {"whimbrel"} == {command[0] for command in COMMANDS if command}


def test_the_list_names_every_file() -> None:
    listed = {each.name for each in example_files.known()}
    present = {
        str(path.relative_to(example_files.directory()))
        for folder in FOLDERS
        for path in (example_files.directory() / folder).iterdir()
    }
    assert listed == present
    assert all(each.about for each in example_files.known())


def test_the_wheel_contains_every_example() -> None:
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["include"]
    files = {path for entry in included for path in ROOT.glob(entry["path"])}
    for each in example_files.known():
        assert ROOT / "python/whimbrel/examples" / each.name in files
    assert ROOT / "python/whimbrel/examples" / example_files.INDEX in files
    examples = {path for path in files if "examples" in path.parts}
    assert len(examples) == len(example_files.known()) + 1


@pytest.mark.parametrize("file", sorted(ROOT.glob("examples/*/*.toml")), ids=lambda path: path.stem)
def test_every_scenario_is_valid(file: Path) -> None:
    from whimbrel._simulate.simulation import examine
    from whimbrel.scenario import Scenario

    if file.parent.name in FOLDERS:
        assert all(examine(each).flows for _, each in Scenario.of(file).sweep())


def test_copying_twice_changes_nothing_and_an_edited_file_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "examples"
    assert len(example_files.copy(target)) == len(example_files.known())
    assert example_files.copy(target) == []
    edited = target / "scenarios" / "wb.toml"
    edited.write_text("mine")
    (target / "scenarios" / "wlh.toml").unlink()
    with pytest.raises(UsageError, match=r"wb\.toml exists and differs"):
        example_files.copy(target)
    assert edited.read_text() == "mine"
    assert not (target / "scenarios" / "wlh.toml").exists()
    assert len(example_files.copy(target, force=True)) == 2
    assert edited.read_text() != "mine"


def test_a_folder_that_cannot_be_written_is_a_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("")
    assert main(["examples", "--copy", "--to", str(tmp_path / "taken" / "here")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_list_fits_into_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["examples"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if not line.startswith("In ")) <= 80
    shown = " ".join(lines)
    assert all(word in shown for each in example_files.known() for word in each.about.split())


def test_the_list_is_also_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {each.name: each.about for each in example_files.known()}


def test_the_made_up_recordings_can_be_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import make_examples

    traces = ROOT / "examples" / "traces"
    assert make_examples.losses() == (traces / "drive_losses.csv").read_text()
    assert make_examples.rate() == gzip.decompress((traces / "drive.mahimahi.gz").read_bytes()).decode()


def test_the_computed_cell_can_be_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import make_cell

    case = make_cell.CASES[-1]
    rates, calls = make_cell.simulate(case)
    packed = (ROOT / "examples" / "traces" / f"cell_{case.key}.tsv.gz").read_bytes()
    stored = gzip.decompress(packed).decode().splitlines()
    made = make_cell.trace(case, rates).splitlines()
    assert made[0] == stored[0]
    assert len(made) == len(stored)
    # The last digit depends on the rounding of the platform's functions.
    for line, other in zip(made[1:], stored[1:], strict=True):
        (time, rate), (stored_time, stored_rate) = line.split("\t"), other.split("\t")
        assert time == stored_time
        assert abs(float(rate) - float(stored_rate)) < 0.02
    scenario = (ROOT / "examples" / "rfc8869" / f"{case.key}.toml").read_text()
    assert make_cell.scenario(case, calls) == scenario
