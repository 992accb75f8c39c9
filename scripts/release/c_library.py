"""The C library for Linux, with its header and a whimbrel.pc that works wherever it is unpacked."""

from __future__ import annotations

import shutil
from pathlib import Path

import archives
from workspace import ROOT, Release, emptied, made, run

# Of Debian 10, RHEL 8 and later systems.
GLIBC = "2.28"
SYSTEMS = {"x86_64-unknown-linux-gnu": "x86_64-linux", "aarch64-unknown-linux-gnu": "aarch64-linux"}


def archive(release: Release, system: str) -> Path:
    """The archive for a system."""
    return release.files / f"whimbrel-c-{release.version}-{system}.tar.gz"


def make(release: Release) -> None:
    """Builds and packs the library for each processor."""
    # Before 1.0 a minor version may change the interface.
    shared = f"libwhimbrel.so.{release.version.rpartition('.')[0]}"
    for target, system in SYSTEMS.items():
        if not release.makes(system):
            continue
        environment = release.environment()
        environment["RUSTFLAGS"] += f" -C link-arg=-Wl,-soname,{shared}"
        place = release.target("c-library")
        command = ["cargo", "zigbuild", "--locked", "--profile", "dist", "--target", f"{target}.{GLIBC}"]
        run([*command, "-p", "whimbrel-capi", "--target-dir", place], environment)
        folder = emptied(release.work / system / f"whimbrel-c-{release.version}")
        shutil.copy(ROOT / "crates/capi/include/whimbrel.h", made(folder / "include"))
        libraries = made(folder / "lib")
        built = place / target / "dist"
        shutil.copy2(built / "libwhimbrel.so", libraries / shared)
        (libraries / "libwhimbrel.so").symlink_to(shared)
        shutil.copy(built / "libwhimbrel.a", libraries)
        template = (ROOT / "crates/capi/whimbrel.pc.in").read_text()
        text = template.replace("@PREFIX@", "${pcfiledir}/../..").replace("@VERSION@", release.version)
        (made(libraries / "pkgconfig") / "whimbrel.pc").write_text(text)
        for name in ("LICENSE-APACHE", "LICENSE-MIT"):
            shutil.copy(ROOT / name, made(folder / "share/doc/whimbrel"))
        archives.tar_gz(folder, archive(release, system), release.epoch)
