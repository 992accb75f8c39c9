"""Makes all that a release has, reproducibly: binaries, wheels, packages, lists of contents.

Usage: python3 scripts/release [STAGE...] [--system SYSTEM] [--again] [--list]   (from the repository's root)

Without stages all of them in order. A stage that this commit has already passed is skipped, so that an
interrupted command continues where it was; --again runs it anew. Each file is a function of the commit and
of the tools: sorted archives, times from the commit (SOURCE_DATE_EPOCH), no paths of this machine, the crates
of Cargo.lock. The results are in out/release/files.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import binaries
import c_library
import consistency
import contents
import crates
import debian
import listing
import recipes
import semver
import source
import toolbox
import trials
import wheels
import wine
from workspace import Release, ReleaseError


@dataclass(frozen=True)
class Stage:
    """A stage: what it makes, and the function that makes it."""

    about: str
    run: Callable[[Release], None]


STAGES = {
    "consistency": Stage("one version everywhere, and recipes without mistakes", consistency.check),
    "semver": Stage("the interface of the crates compared with the previous version's", semver.check),
    "tools": Stage(
        "zig as the linker, in an environment of its own, and the targets of Rust", toolbox.install
    ),
    "source": Stage("the sources as an archive", source.make),
    "relays": Stage("static binaries of the relay alone, for three processors", binaries.relays),
    "commands": Stage("static binaries of the whole command", binaries.commands),
    "windows": Stage("the command for Windows", binaries.windows),
    "windows-tests": Stage("the tests of the crates that Windows has, under wine", wine.tests),
    "wheels": Stage("wheels for manylinux", wheels.make),
    "c-library": Stage("the C library with its header and whimbrel.pc", c_library.make),
    "debian": Stage("Debian packages of the command and of the relay", debian.make),
    "crates": Stage("the packages of crates.io, in the order of their publication", crates.make),
    "recipes": Stage("a Containerfile and a Homebrew formula", recipes.make),
    "contents": Stage("bills of materials, and the licences of everything inside", contents.make),
    "check": Stage("names, sizes and checksums", listing.make),
    "try": Stage("everything in clean roots: chroot, qemu, a fresh environment, wine", trials.try_all),
}


def make(release: Release, names: Sequence[str], again: bool) -> None:
    """Runs the stages, without those that this commit has passed."""
    for name in names:
        if release.has_passed(name) and not again:
            print(f"== {name}: done before")
            continue
        print(f"== {name}: {STAGES[name].about}", flush=True)
        STAGES[name].run(release)
        if not release.systems:
            release.passed(name)


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes all that a release has.")
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"one of {', '.join(STAGES)}")
    parser.add_argument("--out", type=Path, default=Path("out/release"), help="folder of the results")
    parser.add_argument(
        "--system",
        action="append",
        default=[],
        help="make the files of this system only, such as x86_64-linux",
    )
    parser.add_argument("--again", action="store_true", help="also stages that this commit has passed")
    parser.add_argument("--list", action="store_true", help="print the stages")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.stages if name not in STAGES]:
        parser.error(f"no stage {', '.join(unknown)}: expected some of {', '.join(STAGES)}")
    if arguments.list:
        for name, stage in STAGES.items():
            print(f"{name:10} {stage.about}")
        return 0
    release = Release.of(arguments.out, arguments.system)
    try:
        make(release, arguments.stages or list(STAGES), arguments.again)
    except (ReleaseError, subprocess.CalledProcessError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
