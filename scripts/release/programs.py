"""The programs of a release, and the systems that they are for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workspace import Release


@dataclass(frozen=True)
class Program:
    """A program of the release.

    Attributes:
        name: of its archive and its package.
        target: of Rust.
        system: as its archive calls it.
        options: the features, for cargo.
        profile: of Cargo.toml.
    """

    name: str
    target: str
    system: str
    options: tuple[str, ...] = ()
    profile: str = "dist"

    @property
    def file_name(self) -> str:
        """The name of the executable."""
        return "whimbrel.exe" if "windows" in self.target else "whimbrel"

    def executable(self, release: Release) -> Path:
        """The built program."""
        return release.target(self.name) / self.target / self.profile / self.file_name

    def folder(self, release: Release) -> Path:
        """The folder that is packed. Its name is the same for all systems, so that recipes know it."""
        return release.work / self.system / f"{self.name}-{release.version}"

    def archive(self, release: Release) -> Path:
        """The archive."""
        kind = "zip" if "windows" in self.target else "tar.gz"
        return release.files / f"{self.name}-{release.version}-{self.system}.{kind}"


ALONE = ("--no-default-features",)
RELAYS = (
    Program("whimbrel-relay", "x86_64-unknown-linux-musl", "x86_64-linux", ALONE, "small"),
    Program("whimbrel-relay", "aarch64-unknown-linux-musl", "aarch64-linux", ALONE, "small"),
    Program("whimbrel-relay", "armv7-unknown-linux-musleabihf", "armv7-linux", ALONE, "small"),
)
COMMANDS = (
    Program("whimbrel", "x86_64-unknown-linux-musl", "x86_64-linux"),
    Program("whimbrel", "aarch64-unknown-linux-musl", "aarch64-linux"),
)
WINDOWS = (Program("whimbrel", "x86_64-pc-windows-gnu", "x86_64-windows"),)
PROGRAMS = RELAYS + COMMANDS + WINDOWS
