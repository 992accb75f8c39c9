#!/usr/bin/env python3
"""Tests Whimbrel's MP-DCCP against Deutsche Telekom's Linux kernel with MP-DCCP, of March 2024.

Usage: interop/multipath/multipath.py [--kernel FILE] [--out out/multipath] [--only TEXT] [--captures FOLDER]

The kernel speaks the drafts of 2024, which precede RFC 9897 (docs/multipath-errata.md). Its image is built by
build_multipath_kernel.sh; it is read from target/interop/mp-dccp, or from --kernel or MP_DCCP_KERNEL.
Prints a table and writes results.json; the exit code is 1 if a requirement fails. If the image or a package
is missing, it prints its name and exits with 0, or with 1 under REQUIRE_ALL=1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import machine
from multipath_cases import Case, cases
from multipath_checks import check, report

ROOT = Path(__file__).resolve().parents[2]
IMAGE = machine.CACHE / "mp-dccp" / "bzImage"
LIMIT_S = 180.0


def prepare(image: Path, whimbrel: Path | None) -> Path | str:
    """Builds the guest's parts. Returns its root file system, or the reason if that is impossible."""
    if missing := machine.missing_packages():
        return f"packages are missing: apt-get install {' '.join(missing)}"
    if os.uname().machine != "x86_64":
        return "the kernel and the peers are for x86_64"
    if not image.exists():
        return f"no kernel image {image}: interop/multipath/build_multipath_kernel.sh builds one"
    try:
        linux = machine.build_c(machine.HERE / "guest" / "multipath.c", machine.CACHE / "linux_multipath")
        ours = machine.CACHE / "whimbrel_multipath"
        if whimbrel:
            shutil.copy2(whimbrel, ours)
        else:
            machine.build_peer("interop_multipath", ours)
        return machine.initramfs(kernel(image), [linux, ours])
    except machine.MachineError as error:
        return str(error)


def kernel(image: Path) -> machine.Kernel:
    """The kernel, which has no modules."""
    return machine.Kernel("mp-dccp", image, image.parent / "modules")


def run(case: Case, number: int, image: Path, archive: Path, out: Path) -> list[str]:
    """Runs one connection in a guest of its own. Returns the differences from the expected outcome."""
    meanwhile = out / f"{number}.meanwhile" / "meanwhile"
    meanwhile.parent.mkdir(parents=True, exist_ok=True)
    meanwhile.write_text(case.meanwhile + "\n")
    files = [machine.HERE / "guest" / "multipath.sh", meanwhile]
    folder = out / f"{number}"
    try:
        machine.boot(kernel(image), archive, case.job(), folder, LIMIT_S, f"multipath-{number}", files=files)
        return check(case, folder)
    except machine.MachineError as error:
        return [str(error)]
    finally:
        shutil.rmtree(meanwhile.parent)


def main() -> int:
    """Runs the connections; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kernel", type=Path, default=os.environ.get("MP_DCCP_KERNEL", IMAGE), metavar="FILE"
    )
    parser.add_argument(
        "--whimbrel", type=Path, metavar="FILE", help="the program interop_multipath, if built"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "multipath")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only connections whose name contains this text"
    )
    parser.add_argument("--captures", type=Path, metavar="FOLDER", help="copies the captures for tests there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of simultaneous guests")
    arguments = parser.parse_args()
    image = Path(arguments.kernel)
    archive = prepare(image, arguments.whimbrel)
    if isinstance(archive, str):
        required = os.environ.get("REQUIRE_ALL") == "1"
        print(f"multipath: {'cannot run' if required else 'skipped'}: {archive}", file=sys.stderr)
        return 1 if required else 0
    out: Path = arguments.out
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    chosen = [(number, case) for number, case in enumerate(cases()) if arguments.only in case.name]
    started = time.monotonic()
    results = []
    with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:
        found = pool.map(lambda one: run(one[1], one[0], image, archive, out), chosen)
        for (number, case), problems in zip(chosen, found, strict=True):
            print(f"{number:3} {case.name:50} {'FAILED' if problems else 'ok'}", flush=True)
            for problem in problems:
                print(f"      {problem}")
            ends = {name: report(out / str(number) / f"run.{name}") for name in ("kernel", "whimbrel")}
            results.append({"name": case.name, "problems": problems, **ends})
            if arguments.captures and case.capture and not problems:
                shutil.copy(out / str(number) / "run.pcap", arguments.captures / case.capture)
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    failed = sum(bool(result["problems"]) for result in results)
    print(f"{len(results)} connections, {failed} failed; {time.monotonic() - started:.0f} s")
    if failed:
        print(f"multipath: a requirement fails; captures and reports are in {out}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
