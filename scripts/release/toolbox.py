"""The tools of the builds: zig, which links for other processors and older systems; Rust's targets."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

from workspace import Release, ReleaseError, missing, output, run

# Of one version each: they are a part of what makes the same bytes again.
PACKAGES = ("ziglang==0.17.1", "cargo-zigbuild==0.24.1", "maturin==1.16.0")
TARGETS = (
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "armv7-unknown-linux-musleabihf",
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-pc-windows-gnu",
)


def install(release: Release) -> None:
    """Installs the tools."""
    if not (release.tools / "bin" / "python").exists():
        venv.create(release.tools, with_pip=True)
    python = release.tools / "bin" / "python"
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES])
    for target in TARGETS:
        if (
            not is_prebuilt(target)
            and subprocess.run(
                ["rustup", "target", "add", target], check=False, stderr=subprocess.DEVNULL
            ).returncode
        ):
            print(
                f"   the standard library for {target} is not to be had prebuilt: it is built from its source"
            )
            run(["rustup", "component", "add", "rust-src"])
    if not any(Path(folder, "x86_64-w64-mingw32-gcc").exists() for folder in ("/usr/bin", "/usr/local/bin")):
        missing("the command for Windows", "sudo apt-get install gcc-mingw-w64-x86-64")


def is_prebuilt(target: str) -> bool:
    """True if the standard library of a target is installed."""
    return any(Path(output(["rustc", "--print", "target-libdir", "--target", target])).glob("libstd-*"))


def standard_library(target: str, environment: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Options of cargo and its environment for a target, whose standard library may have to be built.

    Args:
        target: Rust's name of it.
        environment: for a target with a standard library.

    Raises:
        ReleaseError: neither the library nor its source is installed.
    """
    if is_prebuilt(target):
        return [], environment
    if not Path(output(["rustc", "--print", "sysroot"]), "lib/rustlib/src/rust/library").exists():
        raise ReleaseError(f"{target}: rustup target add {target}, or rustup component add rust-src")
    # The start files of musl come with a prebuilt library; here they are zig's.
    flags = f"{environment['RUSTFLAGS']} -Clink-self-contained=no"
    # The compiler accepts the option only as if it were a nightly one.
    return ["-Zbuild-std=std,panic_unwind"], {**environment, "RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": flags}
