"""The library crates as for crates.io, and the order in which they are published: dependencies first."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

from workspace import ROOT, Release, emptied, output, run


def published() -> dict[str, set[str]]:
    """The published crates, each with its dependencies among them."""
    found = json.loads(output(["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]))
    packages: list[dict[str, Any]] = [package for package in found["packages"] if package["publish"] is None]
    names = {package["name"] for package in packages}
    # A dependency without a version, of tests only, is left out of a package.
    return {
        package["name"]: names
        & {needed["name"] for needed in package["dependencies"] if needed["req"] != "*"}
        for package in packages
    }


def order(needs: dict[str, set[str]]) -> list[str]:
    """The crates, each after those that it depends on."""
    done: list[str] = []
    while len(done) < len(needs):
        ready = sorted(name for name in needs if name not in done and needs[name] <= set(done))
        if not ready:
            raise ValueError("the crates depend on each other in a ring")
        done += ready
    return done


def make(release: Release) -> None:
    """Packs the crates, and writes the commands that publish them."""
    names = order(published())
    run([sys.executable, "scripts/publish_check.py"], release.environment())
    folder = emptied(release.files / "crates")
    for name in names:
        shutil.copy(ROOT / "target/package" / f"{name}-{release.version}.crate", folder)
    lines = [f"cargo publish --locked -p {name}" for name in names]
    (folder / "order.txt").write_text("\n".join(lines) + "\n")
