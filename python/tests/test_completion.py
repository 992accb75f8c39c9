"""Completion scripts and manual pages cover the commands of both languages."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from whimbrel.__main__ import main
from whimbrel._base import compiled
from whimbrel._command import command_tree, verbs

KNOWN = {name: verbs.python_command(name) for name in verbs.PYTHON}


def _printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capfd.readouterr().out


def test_commands_are_described_by_their_own_parsers() -> None:
    described = {each["name"]: each for each in json.loads(command_tree.described(KNOWN))}
    assert set(described) == set(verbs.PYTHON)
    options = {each["long"]: each for each in described["reproduce"]["arguments"] if each["long"]}
    assert options["out"]["is_path"]
    assert options["papers"]["is_repeated"]
    assert "value_name" not in options["quick"]
    assert options["max-runs"]["help"].endswith("(default: 40)")
    # argparse says of an argument that may be repeated, or be absent, that it is required.
    required = {each["id"]: each["is_required"] for each in described["reproduce"]["arguments"]}
    assert (required["paper"], required["items"]) == (False, False)
    assert {each["name"] for each in described["quality"]["commands"]} == {"voice", "video", "talk", "frames"}


def test_bash_completes_commands_of_both_languages(capfd: pytest.CaptureFixture[str]) -> None:
    script = _printed(capfd, "completion", "bash")

    def offered(*words: str) -> set[str]:
        line = " ".join(words)
        driver = (
            f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; COMPREPLY=()\n"
            f"_whimbrel whimbrel {words[-1]} {words[-2]}\n"
            "printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        command = ["bash", "--norc", "-c", driver]
        return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())

    # The list holds the commands of both languages, and the compiled part names the missing ones.
    assert {word for word in offered("whimbrel", "''") if not word.startswith("-")} - {"help"} == verbs.NAMES
    assert offered("whimbrel", "re") == {"record", "relay", "reproduce", "report"}
    assert offered("whimbrel", "sc") == {"schedule", "schema"}
    assert "--max-runs" in offered("whimbrel", "sweep", "--")
    assert "--resolution" in offered("whimbrel", "quality", "video", "--")
    assert offered("whimbrel", "quality", "voice", "--sender", "c") == {"client"}


def test_the_compiled_part_names_the_commands_that_it_lacks(capfd: pytest.CaptureFixture[str]) -> None:
    assert compiled.core().cli(["--help"]) == 0
    words = " ".join(capfd.readouterr().out.split())
    named = words.partition("The Python package adds: ")[2].partition(".")[0]
    assert sorted(named.split(", ")) == sorted(verbs.PYTHON)


def test_every_command_has_a_manual_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["man", "--out", str(tmp_path)]) == 0
    pages = {path.name for path in tmp_path.iterdir()}
    for command in (*verbs.NAMES, "perf-client", "quality-video"):
        assert f"whimbrel-{command}.1" in pages
    for page in tmp_path.iterdir():
        # Every page ends with an example of its command.
        assert re.search(r"^[Ee]xamples?:\n.*\bwhimbrel\b", page.read_text(), re.MULTILINE), page.name
    text = _printed(capfd, "man", "sweep")
    assert ".SH NAME" in text
    assert "\\-\\-precision" in text
    assert "whimbrel sweep examples" in text
