"""Checks that the repository agrees on its version, and that the recipes are in order. Nothing is built."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import recipes
from workspace import ROOT, Release, ReleaseError

# Workspaces of their own, whose lock files name the crates too.
WORKSPACES = (
    "gst",
    "fuzz",
    "benches/sockets",
    "benches/quic_carry",
    "examples/other_stacks",
    "examples/zenoh",
)


def check(release: Release) -> None:
    """Checks everything that needs no build.

    Raises:
        ReleaseError: it names each offence.
    """
    found = version_offences(release.version) + recipe_offences(release.version)
    if found:
        raise ReleaseError("\n  ".join(["the release is not consistent:", *found]))


def version_offences(version: str) -> list[str]:
    """The places that name another version than Cargo.toml."""
    workspace = _toml(ROOT / "Cargo.toml")["workspace"]
    named = {
        f"Cargo.toml: {name}": needed["version"]
        for name, needed in workspace["dependencies"].items()
        if name.startswith("whimbrel-")
    }
    crates = {_toml(manifest)["package"]["name"] for manifest in ROOT.glob("crates/*/Cargo.toml")}
    for folder in (".", *WORKSPACES):
        packages = _toml(ROOT / folder / "Cargo.lock")["package"]
        named |= {
            f"{folder}/Cargo.lock: {package['name']}": package["version"]
            for package in packages
            if package["name"] in crates and "source" not in package
        }
    named["gst/Cargo.toml"] = _toml(ROOT / "gst/Cargo.toml")["package"]["version"]
    citation = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    named["CITATION.cff"] = citation[1] if citation else "none"
    return [f"{place}: {other}, not {version}" for place, other in named.items() if other != version]


def recipe_offences(version: str) -> list[str]:
    """The faults of the recipes, once they are filled in."""
    values = {"VERSION": version, "COMMIT": "0" * 40, "URL": recipes.URL, "SHA256": "0" * 64}
    texts = {
        name: recipes.filled((ROOT / "packaging" / template).read_text(), values)
        for template, name in recipes.TEMPLATES.items()
    }
    found = recipes.container_offences(texts["Containerfile"])
    formula = texts["whimbrel.rb"]
    found += [
        f"whimbrel.rb: no {place}"
        for place in re.findall(r'"((?:crates|examples)/[\w/]+)"', formula)
        if not (ROOT / place).exists()
    ]
    if shutil.which("ruby"):
        with tempfile.NamedTemporaryFile("w", suffix=".rb") as file:
            file.write(formula)
            file.flush()
            done = subprocess.run(["ruby", "-c", file.name], capture_output=True, text=True, check=False)
            found += [f"whimbrel.rb: {done.stderr}"] if done.returncode != 0 else []
    return found


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())
