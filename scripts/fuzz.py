#!/usr/bin/env python3
"""Runs the fuzz targets under libFuzzer, and keeps what they find.

Usage: scripts/fuzz.py [--seconds 60] [--jobs 1] [TARGET ...]

A slice of some seconds of each target, which begins with the inputs of all slices before. Afterwards the
inputs that reach new code, minimised, are in fuzz/corpora/TARGET.zip, and the executions of all slices are
counted in tests/lasting/fuzz.json: commit both. An input that fails is kept in fuzz/artifacts, and the slice
is an offence. The programs have assertions and checks of overflows, and no sanitizer: the targets have no
unsafe code of their own.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
COUNTS = ROOT / "tests" / "lasting" / "fuzz.json"
CARGO = ("cargo", "+nightly", "fuzz")
# Inputs of libFuzzer may be longer than any datagram: they need not be.
LONGEST = 4096
EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
# Of an archive of the same inputs, the same bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)


def targets() -> list[str]:
    """The names of all targets."""
    return sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs"))


def build() -> Path:
    """Builds all targets; returns the folder of the programs.

    Raises:
        SystemExit: cargo-fuzz is missing.
        CalledProcessError: the build fails.
    """
    if shutil.which("cargo-fuzz") is None:
        raise SystemExit(
            "missing: cargo-fuzz. Install it with: cargo install cargo-fuzz --locked "
            "(and: rustup toolchain install nightly)"
        )
    subprocess.run([*CARGO, "build", "--fuzz-dir", ".", "--sanitizer", "none"], cwd=FUZZ, check=True)
    host = subprocess.run(["rustc", "-vV"], check=True, text=True, stdout=subprocess.PIPE).stdout
    triple = next(line.removeprefix("host: ") for line in host.splitlines() if line.startswith("host: "))
    return FUZZ / "target" / triple / "release"


def unpack(target: str, folder: Path) -> None:
    """Puts the inputs of earlier slices into a folder."""
    archive = FUZZ / "corpora" / f"{target}.zip"
    if archive.exists():
        with zipfile.ZipFile(archive) as inputs:
            inputs.extractall(folder)


def pack(target: str, folder: Path) -> None:
    """Keeps the inputs of a folder that are not in the written corpus."""
    written = {path.read_bytes() for path in (FUZZ / "corpus" / target).iterdir()}
    with zipfile.ZipFile(
        FUZZ / "corpora" / f"{target}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9
    ) as out:
        for path in sorted(folder.iterdir()):
            if (data := path.read_bytes()) not in written:
                info = zipfile.ZipInfo(path.name, EPOCH)
                info.compress_type = zipfile.ZIP_DEFLATED
                out.writestr(info, data)


def run_slice(program: Path, seconds: int) -> int | None:
    """Runs a target, and keeps its inputs minimised; returns the executions, or None if an input fails."""
    target = program.name
    written = str(FUZZ / "corpus" / target)
    common = [f"-max_len={LONGEST}", "-verbosity=0"]
    with tempfile.TemporaryDirectory() as name:
        grown, least = Path(name) / "grown", Path(name) / "least"
        grown.mkdir()
        least.mkdir()
        unpack(target, grown)
        artifacts = FUZZ / "artifacts" / target
        artifacts.mkdir(parents=True, exist_ok=True)
        command = [str(program), str(grown), written, *common, f"-artifact_prefix={artifacts}/"]
        command += [f"-max_total_time={seconds}", "-print_final_stats=1"]
        done = subprocess.run(command, check=False, text=True, stderr=subprocess.PIPE)
        if done.returncode != 0:
            print(done.stderr[-4000:])
            return None
        merge = [str(program), "-merge=1", str(least), written, str(grown), *common]
        subprocess.run(merge, check=True, stderr=subprocess.DEVNULL)
        pack(target, least)
    found = EXECUTED.search(done.stderr)
    return int(found[1]) if found else 0


def main() -> int:
    """Runs a slice of each target; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", nargs="*", help="by default, all")
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--jobs", type=int, default=1, help="targets at the same time")
    given = parser.parse_args()
    for name in given.target:
        if name not in targets():
            parser.error(f"{name}: no target, expected one of {', '.join(targets())}")
    programs = build()
    (FUZZ / "corpora").mkdir(exist_ok=True)
    counts: dict[str, int] = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    failed = []
    chosen = given.target or targets()
    with ThreadPoolExecutor(given.jobs) as pool:
        slices = pool.map(lambda name: run_slice(programs / name, given.seconds), chosen)
        for name, executions in zip(chosen, slices, strict=True):
            if executions is None:
                failed.append(name)
                print(f"{name}: an input fails, see fuzz/artifacts/{name}", flush=True)
                continue
            counts[name] = counts.get(name, 0) + executions
            COUNTS.write_text(json.dumps(dict(sorted(counts.items())), indent=2) + "\n")
            print(f"{name:20} {executions:12,}, in all slices {counts[name]:14,}", flush=True)
    print(f"{'all targets':20} {sum(counts.values()):14,} executions so far")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
