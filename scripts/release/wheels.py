"""Wheels for manylinux: zig links them against an older glibc than this machine's."""

from __future__ import annotations

from pathlib import Path

from workspace import ROOT, Release, run

GLIBC = "manylinux_2_28"
SYSTEMS = {"x86_64-unknown-linux-gnu": "x86_64-linux", "aarch64-unknown-linux-gnu": "aarch64-linux"}


def make(release: Release) -> None:
    """Builds a wheel for each processor."""
    for target, system in SYSTEMS.items():
        if not release.makes(system):
            continue
        for old in release.files.glob(f"whimbrel-*{target.partition('-')[0]}.whl"):
            old.unlink()
        command: list[str | Path] = [
            release.tools / "bin/maturin",
            "build",
            "--locked",
            "--profile",
            "dist",
            "--target",
            target,
        ]
        command += ["--zig", "--compatibility", GLIBC, "--out", release.files]
        environment = {**release.environment(), "CARGO_TARGET_DIR": str(release.target("wheels"))}
        environment.pop("CONDA_PREFIX", None)
        run(command, environment, cwd=ROOT)


def built(release: Release, processor: str = "") -> list[Path]:
    """The wheels, for a processor if it is given."""
    return sorted(release.files.glob(f"whimbrel-{release.version}-*{processor}.whl"))
