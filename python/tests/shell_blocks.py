"""Runs the shell blocks of the documentation as they are printed, in a folder with the copied examples.

The tests name the commands that are left out, and shorten those that would run for long.
"""

import os
import re
import shlex
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT_S = 120


def blocks(document: Path, language: str) -> list[str]:
    """The code blocks of a document, also those within lists."""
    pattern = rf"^( *)```{language}\n(.*?)^ *```"
    found = re.findall(pattern, document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(text) for _, text in found]


def commands(document: Path) -> list[str]:
    """The commands of a document's shell blocks, with continued lines joined."""
    text = "\n".join(blocks(document, "sh")).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


@dataclass
class Shell:
    """A folder in which commands run one after the other.

    Attributes:
        folder: the current directory.
        left_out: regular expressions of commands that are not run.
        shortened: replacements that keep a command's form and shorten its run.
        run: the commands that were run.
        printed: the output of each.
    """

    folder: Path
    left_out: tuple[str, ...] = ()
    shortened: dict[str, str] = field(default_factory=dict)
    run: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        programs = self.folder / "bin"
        programs.mkdir()
        for name, words in (("whimbrel", "-m whimbrel"), ("python3", "")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
            program.chmod(0o755)
        self._bash("whimbrel examples --copy")

    def all_of(self, document: Path) -> None:
        """Runs a document's commands in order."""
        for command in commands(document):
            if any(re.search(pattern, command) for pattern in self.left_out):
                continue
            for long, short in self.shortened.items():
                command = re.sub(long, short, command)
            self.printed.append(self._bash(command))
            self.run.append(command)

    def _bash(self, command: str) -> str:
        done = subprocess.run(
            ["/bin/bash", "-euc", f'PATH="$PWD/bin:$PATH"\n{command}'],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "100"},
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout
