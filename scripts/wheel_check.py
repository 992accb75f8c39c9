#!/usr/bin/env python3
"""Installs a wheel into a fresh environment and uses it there: no compiler, no source, no network access.

Usage: scripts/wheel_check.py WHEEL   (exits 1 and names each offence)

Checks the tags (one wheel for all versions of Python from 3.11 on; on Linux, a manylinux tag: maturin gives
it only if the compiled part needs no other libraries than PEP 600 allows), the files, and some commands. The
required packages, numpy and rich, are taken from the environment that runs this script.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Each is the end of a name in the wheel.
NEEDED = (
    "whimbrel/_core.abi3.so",
    "whimbrel/_core.pyi",
    "whimbrel/py.typed",
    "whimbrel/aio/__init__.py",
    "whimbrel/examples/files.toml",
    "whimbrel/examples/aio/telemetry.py",
    "licenses/LICENSE-APACHE",
    "licenses/LICENSE-MIT",
)
# The end of the name of the bill of materials, and crates that it must have.
SBOM = ".cyclonedx.json"
SBOM_CRATES = {"whimbrel-net", "whimbrel-dtls", "tokio"}
COMMANDS = (
    ("whimbrel", "--version"),
    ("whimbrel", "examples", "--copy"),
    ("whimbrel", "run", "examples/scenarios/video_wb.toml", "--seed", "1"),
    ("python", "examples/aio/telemetry.py"),
)


def content_offences(wheel: Path) -> list[str]:
    found = []
    tags = wheel.stem.split("-")[-3:]
    if tags[:2] != ["cp311", "abi3"]:
        found.append(f"{wheel.name}: expected a wheel for the stable interface of Python 3.11 (cp311-abi3)")
    if sys.platform == "linux" and not tags[2].startswith("manylinux_"):
        found.append(
            f"{wheel.name}: expected a manylinux tag: the system's own libraries are too new or not allowed"
        )
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    found += [
        f"{wheel.name}: no {needed}" for needed in NEEDED if not any(name.endswith(needed) for name in names)
    ]
    papers = {path.parent.name for path in ROOT.glob("papers/*/README.md")}
    packaged = {
        name.split("/")[2] for name in names if name.startswith("whimbrel/papers/") and name.count("/") > 2
    }
    found += [f"{wheel.name}: no paper {paper}" for paper in sorted(papers - packaged)]
    return found


def sbom_offences(wheel: Path) -> list[str]:
    """Checks the bill of materials in the wheel, and writes it next to the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        bills = [name for name in archive.namelist() if "/sboms/" in name and name.endswith(SBOM)]
        if len(bills) != 1:
            return [f"{wheel.name}: {len(bills)} bills of materials (*{SBOM}): expected one"]
        text = archive.read(bills[0])
    crates = {component["name"] for component in json.loads(text)["components"]}
    wheel.with_name(wheel.name + SBOM).write_bytes(text)
    return [f"{wheel.name}: the bill of materials has no {name}" for name in sorted(SBOM_CRATES - crates)]


def use_offences(wheel: Path, folder: Path) -> list[str]:
    venv.create(folder / "environment", with_pip=True)
    scripts = folder / "environment" / "bin"
    install = [scripts / "python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.run(install, check=True, env={"PATH": str(scripts), "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    paths = {"base": str(folder / "environment"), "platbase": str(folder / "environment")}
    packages = Path(sysconfig.get_path("purelib", "posix_prefix", paths))
    # Behind the new environment's own packages: whimbrel comes from the wheel.
    (packages / "required.pth").write_text(sysconfig.get_path("purelib") + "\n")
    work = folder / "work"
    work.mkdir()
    found = []
    for command in COMMANDS:
        done = subprocess.run(
            [scripts / command[0], *command[1:]],
            cwd=work,
            # Neither a compiler nor the source is found.
            env={"PATH": str(scripts), "HOME": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            found.append(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Installs a wheel into a fresh environment and uses it there."
    )
    parser.add_argument(
        "wheel", type=Path, help="such as out/wheels/whimbrel-0.2.0-cp311-abi3-manylinux_2_34_x86_64.whl"
    )
    wheel: Path = parser.parse_args().wheel.resolve()
    found = content_offences(wheel) + sbom_offences(wheel)
    if not found:
        with tempfile.TemporaryDirectory() as folder:
            found = use_offences(wheel, Path(os.path.realpath(folder)))
    for offence in found:
        print(offence, file=sys.stderr)
    print(f"wheel: {'ok' if not found else f'{len(found)} offence(s)'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
