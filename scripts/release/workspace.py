"""The release that is made: its version, its commit, its folders, and the environment of its builds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class ReleaseError(Exception):
    """A stage cannot be done; the message says what is missing."""


@dataclass(frozen=True)
class Release:
    """A release.

    Attributes:
        out: the folder of its files.
        version: as in Cargo.toml.
        commit: the commit, with a mark if the work tree differs from it.
        epoch: the time of the commit, in seconds.
        systems: those that are made, such as `x86_64-linux`; all if there is none.
    """

    out: Path
    version: str
    commit: str
    epoch: int
    systems: tuple[str, ...] = ()

    @classmethod
    def of(cls, out: Path, systems: Sequence[str] = ()) -> Release:
        """The release of the work tree."""
        version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
        commit = output(["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"])
        epoch = os.environ.get("SOURCE_DATE_EPOCH") or output(["git", "log", "-1", "--format=%ct"])
        out = out.resolve()
        out.mkdir(parents=True, exist_ok=True)
        return cls(out, version, commit, int(epoch), tuple(systems))

    @property
    def tools(self) -> Path:
        """The environment with the tools of the builds."""
        return self.out / "tools"

    @property
    def files(self) -> Path:
        """The files to publish."""
        return made(self.out / "files")

    @property
    def work(self) -> Path:
        """Files on the way."""
        return made(self.out / "work")

    def makes(self, system: str) -> bool:
        """True if that system's files are made."""
        return not self.systems or system in self.systems

    def target(self, name: str) -> Path:
        """The build folder of a stage."""
        return ROOT / "target" / "release-builds" / name

    def environment(self) -> dict[str, str]:
        """The environment of builds: the same commit gives the same bytes."""
        cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
        rust = output(["rustc", "--print", "sysroot"])
        places = {str(ROOT): "/whimbrel", cargo: "/cargo", rust: "/rust"}
        prefixes = [f"--remap-path-prefix={real}={shown}" for real, shown in places.items()]
        files = [f"-ffile-prefix-map={real}={shown}" for real, shown in places.items()]
        return {
            **os.environ,
            "PATH": f"{self.tools / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "SOURCE_DATE_EPOCH": str(self.epoch),
            "CARGO_INCREMENTAL": "0",
            "RUSTFLAGS": " ".join(prefixes),
            "CFLAGS": " ".join(files),
            "LC_ALL": "C",
            "TZ": "UTC",
        }

    def has_passed(self, stage: str) -> bool:
        """True if this commit has passed the stage; False for a work tree with changes."""
        mark = self.work / f"{stage}.passed"
        return not self.commit.endswith("-dirty") and mark.exists() and mark.read_text() == self.commit

    def passed(self, stage: str) -> None:
        """Remembers that the stage is done."""
        (self.work / f"{stage}.passed").write_text(self.commit)


def made(folder: Path) -> Path:
    """The folder, which exists now."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def emptied(folder: Path) -> Path:
    """The folder, which is empty now."""
    shutil.rmtree(folder, ignore_errors=True)
    return made(folder)


def output(command: Sequence[str | Path], cwd: Path = ROOT) -> str:
    """The output of a command, without the last line end."""
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout.rstrip("\n")


def run(
    command: Sequence[str | Path], environment: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> None:
    """Runs a command, whose output is shown.

    Raises:
        ReleaseError: it failed.
    """
    words = " ".join(str(word) for word in command)
    print(f"   {words}", flush=True)
    done = subprocess.run(command, cwd=cwd, env=environment, check=False)
    if done.returncode != 0:
        raise ReleaseError(f"{words}: exit status {done.returncode}")


def missing(what: str, how: str) -> None:
    """Says that a part is skipped without a tool; an error under REQUIRE_ALL=1.

    Raises:
        ReleaseError: everything is required.
    """
    message = f"{what}: skipped. It needs: {how}"
    if os.environ.get("REQUIRE_ALL") == "1":
        raise ReleaseError(message)
    print(f"   {message}", file=sys.stderr)
