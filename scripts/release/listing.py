"""The files of a release: names, sizes within their limits, and checksums."""

from __future__ import annotations

import hashlib

import debian
import wheels
from programs import COMMANDS, PROGRAMS, RELAYS
from workspace import Release, ReleaseError, missing

MEGABYTE = 1_000_000
# The relay is for routers and single-board computers.
LARGEST_RELAY = 8 * MEGABYTE
LARGEST_WHEEL = 40 * MEGABYTE


def make(release: Release) -> None:
    """Checks the files, prints them, and writes their sums."""
    wanted = [program for program in PROGRAMS if release.makes(program.system)]
    expected = [program.archive(release) for program in wanted]
    expected += [debian.package(release, program) for program in wanted if program in RELAYS + COMMANDS]
    for path in expected:
        if not path.exists():
            missing(path.name, "the stage that makes it")
    found = []
    for program in RELAYS:
        path = program.executable(release)
        if path.exists() and path.stat().st_size >= LARGEST_RELAY:
            found.append(f"{path}: {path.stat().st_size} bytes: expected less than {LARGEST_RELAY}")
    for path in wheels.built(release):
        if path.stat().st_size >= LARGEST_WHEEL:
            found.append(f"{path}: {path.stat().st_size} bytes: expected less than {LARGEST_WHEEL}")
    if found:
        raise ReleaseError("; ".join(found))
    sums = []
    for path in sorted(path for path in release.files.rglob("*") if path.is_file()):
        name = str(path.relative_to(release.files))
        if name == "SHA256SUMS":
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        sums.append(f"{digest}  {name}")
        print(f"   {path.stat().st_size / MEGABYTE:9.3f} MB  {digest[:12]}  {name}")
    (release.files / "SHA256SUMS").write_text("\n".join(sums) + "\n")
