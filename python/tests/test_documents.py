"""The examples in README.md and docs/ work as described."""

import itertools
import math
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import choose_figures
import pytest
from shell_blocks import commands

from whimbrel.__main__ import main
from whimbrel._command import verbs

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAPERS = sorted((ROOT / "papers").glob("*/*.md"))
OTHERS = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "crates").glob("*/README.md"))]


def _name(document: Path) -> str:
    return f"{document.parent.name}/{document.name}" if document in [*PAPERS, *OTHERS] else document.name


def _blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)


def _shell_lines(document: Path) -> list[list[str]]:
    return [words for words in (shlex.split(line, comments=True) for line in commands(document)) if words]


def _run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _whimbrel(*arguments: str, cwd: Path) -> str:
    return _run([sys.executable, "-m", "whimbrel", *arguments], cwd)


def test_the_places_that_contributors_are_sent_to_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = {word for word in re.findall(r"`([\w./-]+)`", text) if "/" in word and "NAME" not in word}
    # The key of a paper that does not exist yet.
    named -= {"papers/KEY"}
    assert len(named) > 10
    assert [word for word in sorted(named) if not (ROOT / word).exists()] == []
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z-]+)", text)) <= targets
    crates = {path.name for path in (ROOT / "crates").iterdir()}
    assert set(re.findall(r"-p whimbrel-([a-z-]+)", text)) <= crates


def test_each_network_has_its_figure() -> None:
    page = (ROOT / "docs" / "choose.md").read_text()
    assert [f"images/choose-{key}.svg" for key in choose_figures.NETWORKS] == re.findall(
        r"images/choose-[a-z0-9-]+\.svg", page
    )
    for key in choose_figures.NETWORKS:
        drawn = (ROOT / "docs" / "images" / f"choose-{key}.svg").read_text()
        assert all(title in drawn for title in choose_figures.KEYS), key


def test_labels_keep_the_order_of_the_delays_and_do_not_overlap() -> None:
    values = [{"delay": delay, "rate": 1.0} for delay in (258.0, 22.0, 258.0, 40.0, 257.0)]
    choose_figures.spread(values, 18.0, 300.0)
    ordered = sorted(values, key=lambda point: point["delay"])
    labels = [math.log(point["label_delay"]) for point in ordered]
    step = math.log(300 / 18) / len(values)
    assert all(after - before > 0.999 * step for before, after in itertools.pairwise(labels))
    assert math.log(18) < labels[0]
    assert labels[-1] < math.log(300)


def test_the_hosted_workflow_runs_the_whole_suite() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert "run: .ci/run" in workflow
    assert (ROOT / ".ci" / "run").is_file()


def test_the_guide_to_scenarios_runs(tmp_path: Path) -> None:
    guide = ROOT / "docs" / "scenarios.md"
    scenario, *additions = _blocks(guide, "toml")
    assert [set(tomllib.loads(addition)) for addition in additions] == [
        {"loss"},
        {"discipline"},
        {"trace"},
        {"link", "handover"},
        {"route"},
        {"event"},
    ]
    (tmp_path / "call.toml").write_text(scenario)
    for words in _shell_lines(guide):
        _whimbrel(*words[1:], cwd=tmp_path)
    assert (tmp_path / "out" / "call" / "flows.csv").is_file()
    assert (tmp_path / "call.pcapng").is_file()
    (python,) = _blocks(guide, "python")
    _run([sys.executable, "-c", python], tmp_path)


def test_captures_are_explained(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    # Programs behind a pipe are not part of Whimbrel.
    lines = [
        words[: words.index("|")] if "|" in words else words
        for words in _shell_lines(ROOT / "docs" / "inspect.md")
    ]
    guide = [words[1:] for words in lines]
    _whimbrel(*guide[0], cwd=tmp_path)
    shown = [words[1:] for words in _shell_lines(ROOT / "README.md") if words[:2] == ["whimbrel", "inspect"]]
    assert len(shown) == 1
    for command in [*shown, *guide[1:]]:
        assert "loss" in _whimbrel(*command, cwd=tmp_path)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_shown_exists(document: Path) -> None:
    # The tests of each command's examples check that it answers `--help`.
    named = {words[1] for words in _shell_lines(document) if words[0] == "whimbrel"}
    assert named <= {*verbs.NAMES, "--help"}


@pytest.mark.parametrize("document", [*DOCUMENTS, *PAPERS], ids=_name)
def test_every_command_shown_is_accepted(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    # A file that a page makes by an earlier command.
    (tmp_path / "camera.csv").write_text("time_s,size_bytes\n0,100\n")
    monkeypatch.chdir(tmp_path)
    for words in _shell_lines(document):
        command = [word for word in words if not re.fullmatch(r"[A-Z_]+=.*", word)]
        if command[:1] != ["whimbrel"]:
            continue
        ends = [command.index(word) for word in ("|", "&", "&&", ">", ">>", "--") if word in command]
        # Options and their values are checked before the help is shown.
        arguments = [*command[1 : min(ends, default=len(command))], "--help"]
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        assert code == 0, f"{shlex.join(command)}\n{capfd.readouterr().err}"


@pytest.mark.parametrize("document", [*DOCUMENTS, *PAPERS, *OTHERS], ids=_name)
def test_the_items_of_lists_have_25_words_at_most(document: Path) -> None:
    items = re.findall(r"^ *[-*] (.*(?:\n +(?![-*] ).*)*)", document.read_text(), re.MULTILINE)
    assert [item for item in items if len(item.split()) > 25] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_example_shown_exists(document: Path) -> None:
    lines = [words for words in _shell_lines(document) if words[0] == "whimbrel"]
    for words in lines:
        assert words[1] != "examples" or all(word.startswith("-") for word in words[2:]), words
        files = [word for word in words[2:] if word.startswith("examples/") and "*" not in word]
        assert [file for file in files if not (ROOT / file).exists()] == [], words


@pytest.mark.parametrize("name", ["embed", "media"])
def test_the_programs_of_a_page_run(name: str) -> None:
    programs = _blocks(ROOT / "docs" / f"{name}.md", "python")
    assert programs
    for program in programs:
        assert _run([sys.executable, "-c", program], ROOT)


def test_the_guide_to_losses_runs(tmp_path: Path) -> None:
    guide = ROOT / "docs" / "losses.md"
    (arrivals,) = _blocks(guide, "csv")
    (tmp_path / "arrivals.csv").write_text(arrivals)
    on_lists = [words for words in _shell_lines(guide) if "arrivals.csv" in words]
    plain, _ = (_whimbrel(*words[1:], cwd=tmp_path) for words in on_lists)
    assert "2 packets lost in 2 runs: 1 to the radio, 1 to congestion" in plain
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    on_captures = [words for words in _shell_lines(guide) if words[1] == "classify" and words not in on_lists]
    assert on_captures
    assert all("wireless" in _whimbrel(*words[1:], cwd=tmp_path) for words in on_captures)
    (python,) = _blocks(guide, "python")
    _run([sys.executable, "-c", python], tmp_path)


def test_the_guide_to_quality_runs(tmp_path: Path) -> None:
    guide = ROOT / "docs" / "quality.md"
    (scenario,) = _blocks(guide, "toml")
    (tmp_path / "call.toml").write_text(scenario)
    actual = [_whimbrel(*words[1:], cwd=tmp_path) for words in _shell_lines(guide)]
    assert actual[0] == _blocks(guide, "text")[0]
    assert all("MOS" in each for each in actual[-2:])
    (python,) = _blocks(guide, "python")
    _run([sys.executable, "-c", python], tmp_path)
