"""Programs: static ones for Linux, and those for Windows, each in an archive with its pages and completions.

`whimbrel-relay` has the relay, pipes and keys only, for small devices. It is the same program as `whimbrel`,
without the feature `laboratory`, and its command has the same name.
"""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import archives
import contents
import toolbox
from programs import COMMANDS, RELAYS, WINDOWS, Program
from workspace import ROOT, Release, emptied, made, missing, run

LICENSES = ("LICENSE-APACHE", "LICENSE-MIT")
COMPLETIONS = {
    "bash": "share/bash-completion/completions/whimbrel",
    "zsh": "share/zsh/site-functions/_whimbrel",
    "fish": "share/fish/vendor_completions.d/whimbrel.fish",
}


def relays(release: Release) -> None:
    """Builds and packs the relays."""
    for program in RELAYS:
        _make(release, program, RELAYS[0])


def commands(release: Release) -> None:
    """Builds and packs the whole commands."""
    for program in COMMANDS:
        _make(release, program, COMMANDS[0])


def windows(release: Release) -> None:
    """Builds and packs the command for Windows."""
    if shutil.which("x86_64-w64-mingw32-gcc") is None:
        missing("the command for Windows", "sudo apt-get install gcc-mingw-w64-x86-64")
        return
    for program in WINDOWS:
        _make(release, program, COMMANDS[0])


def _make(release: Release, program: Program, describing: Program) -> None:
    if not release.makes(program.system):
        return
    build(release, program)
    folder = installed(release, program, describing)
    if "windows" in program.target:
        archives.zipped(folder, program.archive(release), release.epoch)
    else:
        archives.tar_gz(folder, program.archive(release), release.epoch)


def build(release: Release, program: Program) -> None:
    """Builds a program."""
    verb = "build" if "windows" in program.target else "zigbuild"
    unstable, environment = toolbox.standard_library(program.target, release.environment())
    command = ["cargo", verb, "--locked", "-p", "whimbrel-cli", *program.options, *unstable]
    command += ["--profile", program.profile, "--target", program.target]
    command += ["--target-dir", str(release.target(program.name))]
    run(command, environment)


def installed(release: Release, program: Program, describing: Program) -> Path:
    """The program in a folder as below a prefix, with the pages and completions that `describing` prints."""
    folder = emptied(program.folder(release))
    documents = folder / "share/doc/whimbrel"
    if "windows" in program.target:
        documents = folder
        shutil.copy2(program.executable(release), folder)
    else:
        shutil.copy2(program.executable(release), made(folder / "bin"))
        described = describing.executable(release)
        subprocess.run([described, "man", "--out", made(folder / "share/man/man1")], check=True)
        for shell, place in COMPLETIONS.items():
            script = subprocess.run([described, "completion", shell], check=True, capture_output=True).stdout
            made((folder / place).parent)
            (folder / place).write_bytes(script)
        for unit in sorted((ROOT / "examples/relay").iterdir()):
            shutil.copy(unit, made(folder / "lib/systemd/system"))
    for name in LICENSES:
        shutil.copy(ROOT / name, made(documents))
    (documents / "THIRD-PARTY.txt").write_text(contents.licences(release, program))
    if program in COMMANDS + WINDOWS:
        examples(documents / "examples")
    return folder


def examples(folder: Path) -> None:
    """Copies the packaged examples, which the pages and the help texts name."""
    for group, files in tomllib.loads((ROOT / "examples/files.toml").read_text()).items():
        for name in files:
            shutil.copy2(ROOT / "examples" / group / name, made((folder / group / name).parent))
