"""Compares the interface of the library crates with the previous version's, by cargo-semver-checks."""

from __future__ import annotations

import re
import shutil
import subprocess

import crates
from workspace import ROOT, Release, ReleaseError, missing, output

# Version 0.1.0 has no tag.
FIRST = ("0.1.0", "18451437fcae991d4d59d96b64efc354b6144981")
# The status of cargo-semver-checks if it has finished and found breaking changes.
BREAKING = 100


def check(release: Release) -> None:
    """Lists the breaking changes since the previous version.

    Raises:
        ReleaseError: this version may have none, or the comparison failed.
    """
    if not shutil.which("cargo-semver-checks"):
        missing("the comparison of interfaces", "cargo install cargo-semver-checks --locked")
        return
    previous, revision = baseline(output(["git", "tag", "--list"]).split(), release.version)
    before, now = published(revision), crates.published().keys()
    gone, new = sorted(before - now), sorted(now - before)
    print(f"   since {previous} ({revision}): removed crates: {gone}; new crates: {new}", flush=True)
    command = ["cargo", "semver-checks", "--baseline-rev", revision, "--release-type", "minor"]
    command += [f"--package={name}" for name in sorted(before & now)]
    environment = release.environment() | {"CARGO_TARGET_DIR": str(release.target("semver"))}
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if status not in (0, BREAKING):
        raise ReleaseError(f"cargo semver-checks: exit status {status}")
    if (gone or status == BREAKING) and not may_break(previous, release.version):
        raise ReleaseError(f"{release.version} breaks what {previous} has: it needs another minor version")


def published(revision: str) -> set[str]:
    """The crates that a revision publishes."""
    found = output(["git", "grep", "-l", "^publish = true", revision, "--", "crates/*/Cargo.toml"])
    return {f"whimbrel-{name}" for name in re.findall(r"crates/([^/]+)/Cargo.toml", found)}


def baseline(tags: list[str], version: str) -> tuple[str, str]:
    """The previous version and its revision: the newest tag before `version`, or else the first version."""
    earlier = [
        tag for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+", tag) and _numbers(tag[1:]) < _numbers(version)
    ]
    newest = max(earlier, key=lambda tag: _numbers(tag[1:]), default=None)
    return (newest[1:], newest) if newest else FIRST


def may_break(previous: str, version: str) -> bool:
    """True if a version may break the previous one: before 1.0 a minor version may, later a major one."""
    old, new = _numbers(previous), _numbers(version)
    return old[:2] != new[:2] if new[0] == 0 else old[0] != new[0]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))
