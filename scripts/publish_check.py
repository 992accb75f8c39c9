#!/usr/bin/env python3
"""Checks that the library crates can be published: metadata, licences, READMEs, complete packages.

Usage: scripts/publish_check.py [--build]   (from the repository's root; exits 1 and names each offence)

Packs every crate that is to be published with `cargo package`, without network access. --build also compiles
each package from its own files alone, in the order of their dependencies, which takes minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REQUIRED = ("description", "documentation", "license", "readme", "rust_version")
LICENSES = ("LICENSE-APACHE", "LICENSE-MIT")
# A file of another folder, which the package does not have. Doctests are not part of it.
OUTSIDE = re.compile(r'include(?:_str|_bytes)?!\("((?:\.\./)+[^"]*)"\)')


def published() -> list[dict[str, Any]]:
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    return [package for package in found["packages"] if package["publish"] is None]


def metadata_offences(package: dict[str, Any], names: set[str]) -> list[str]:
    name = package["name"]
    found = [f"{name}: no {key}" for key in REQUIRED if not package[key]]
    for key in ("keywords", "categories"):
        if not 1 <= len(package[key]) <= 5:
            found.append(f"{name}: {len(package[key])} {key}: expected 1 to 5")
    found += [f"{name}: the keyword {word} is too long" for word in package["keywords"] if len(word) > 20]
    for dependency in package["dependencies"]:
        ours = dependency["name"].startswith("whimbrel-")
        if ours and dependency["kind"] is None and dependency["name"] not in names:
            found.append(f"{name}: depends on {dependency['name']}, which is not published")
        if ours and dependency["req"] == "*" and dependency["kind"] is None:
            found.append(f"{name}: {dependency['name']} has no version")
    return found


def package_offences(package: dict[str, Any]) -> list[str]:
    name, version = package["name"], package["version"]
    folder = Path(package["manifest_path"]).parent
    found = []
    with tarfile.open(ROOT / "target" / "package" / f"{name}-{version}.crate") as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
        for needed in ("README.md", "src/lib.rs", *LICENSES):
            if needed not in names:
                found.append(f"{name}: the package has no {needed}")
        for license_name in LICENSES:
            member = archive.extractfile(f"{name}-{version}/{license_name}")
            if member is None or member.read() != (ROOT / license_name).read_bytes():
                found.append(f"{name}: {license_name} is not the repository's")
    for source in sorted(folder.glob("src/**/*.rs")):
        lines = source.read_text().splitlines()
        for number, line in enumerate(lines, 1):
            is_test = "test" in source.stem or any(
                "doctest" in above for above in lines[max(0, number - 3) : number]
            )
            for included in OUTSIDE.findall(line):
                target = (source.parent / included).resolve()
                if not is_test and not target.is_relative_to(folder.resolve()):
                    found.append(f"{source.relative_to(ROOT)}:{number}: {included} is outside the package")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks that the library crates can be published.")
    parser.add_argument("--build", action="store_true", help="also compile the packages, which takes minutes")
    arguments = parser.parse_args()
    packages = published()
    names = {package["name"] for package in packages}
    found = [offence for package in packages for offence in metadata_offences(package, names)]
    if not found:
        command = ["cargo", "package", "--quiet", "--offline", "--allow-dirty"]
        command += [] if arguments.build else ["--no-verify"]
        command += [option for name in sorted(names) for option in ("-p", name)]
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            found.append("cargo package failed")
        else:
            found = [offence for package in packages for offence in package_offences(package)]
    for offence in found:
        print(offence, file=sys.stderr)
    print(f"publish: {len(packages)} crates {'ok' if not found else f': {len(found)} offence(s)'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
