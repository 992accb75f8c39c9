"""Tries what was made where nothing else is: empty roots, emulated processors, fresh environments.

Nothing is mounted, and nothing outside of the folder of the release is changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

import c_library
import debian
import stream
import wheels
import wine
from programs import COMMANDS, RELAYS, WINDOWS
from workspace import ROOT, Release, ReleaseError, made, missing, output, run

EMULATORS = {"aarch64-linux": "qemu-aarch64-static", "armv7-linux": "qemu-arm-static"}
# Of a relay with one stream, in bytes.
LARGEST_MEMORY = 15_000_000
# Of Debian.
SUITE = "bookworm"
SCENARIO = "examples/scenarios/repaired.toml"


def try_all(release: Release) -> None:
    """Tries everything that was made."""
    trials: dict[str, Callable[[Release, Path], None]] = {
        "programs": programs,
        "Debian packages": packages,
        "wheel": wheel,
        "C library": library,
        "Windows": windows,
    }
    for name, trial in trials.items():
        with tempfile.TemporaryDirectory(dir=release.work) as folder:
            print(f"   -- {name}", flush=True)
            trial(release, Path(folder))


def unpacked(archive: Path, folder: Path) -> Path:
    """The folder that an archive has at its top."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return next(folder.iterdir())


def programs(release: Release, folder: Path) -> None:
    """Runs each static program: this processor's in an empty root, the others emulated."""
    for program in RELAYS + COMMANDS:
        if not program.archive(release).exists():
            continue
        root = unpacked(program.archive(release), made(folder / f"{program.name}-{program.system}"))
        emulator = EMULATORS.get(program.system)
        if emulator is None and os.geteuid() == 0:
            # As in a container from scratch: the root has these files only.
            command = ["chroot", str(root), "/bin/whimbrel"]
        elif emulator is None:
            command = [str(root / "bin/whimbrel")]
        elif shutil.which(emulator):
            command = [emulator, str(root / "bin/whimbrel")]
        else:
            missing(f"{program.name} for {program.system}", "sudo apt-get install qemu-user-static")
            continue
        if not output([*command, "--version"]).endswith(release.version):
            raise ReleaseError(f"{program.archive(release).name}: another version")
        if program in COMMANDS:
            inside = Path("/") if command[0] == "chroot" else root
            output([*command, "run", str(inside / "share/doc/whimbrel" / SCENARIO), "--json"])
        result = stream.carry(command)
        print(f"   {program.archive(release).name}: {result}")
        if emulator is None and program in RELAYS and result.memory >= LARGEST_MEMORY:
            raise ReleaseError(
                f"a relay with one stream needs {result.memory} bytes: expected {LARGEST_MEMORY}"
            )


def packages(release: Release, folder: Path) -> None:
    """Installs each package of this architecture into a root of its own, and uses it there."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        missing("the trial of Debian packages", "root, and apt-get install debootstrap")
        return
    architecture = output(["dpkg", "--print-architecture"])
    made_here = [
        program
        for program in RELAYS + COMMANDS
        if debian.ARCHITECTURES[program.system] == architecture and debian.package(release, program).exists()
    ]
    if not made_here:
        missing("the trial of Debian packages", "the stage debian")
        return
    root = folder / "root"
    # The first stage: Debian's base system, unpacked. The second would mount.
    first: list[str | Path] = ["debootstrap", "--foreign", "--variant=minbase", SUITE, root]
    with (folder / "debootstrap.log").open("w") as log:
        if subprocess.run(first, stdout=log, stderr=log, check=False).returncode != 0:
            raise ReleaseError((folder / "debootstrap.log").read_text()[-2_000:])
    for program in made_here:
        package = debian.package(release, program)
        shutil.copy(package, root)
        run(["chroot", root, "dpkg", "-i", f"/{package.name}"])
        command = ["chroot", str(root), "/usr/bin/whimbrel"]
        if not output([*command, "--version"]).endswith(release.version):
            raise ReleaseError(f"{package.name}: another version")
        print(f"   {package.name}: {stream.carry(command)}")
        listed = output(["chroot", root, "dpkg", "-L", program.name])
        for needed in ("/lib/systemd/system/whimbrel-relay.service", "/usr/share/man/man1/whimbrel.1.gz"):
            if needed not in listed:
                raise ReleaseError(f"{package.name}: no {needed}")
    # Each has taken the place of the one before.
    run(["chroot", root, "dpkg", "--remove", made_here[-1].name])


def wheel(release: Release, folder: Path) -> None:
    """Installs the wheel into a fresh environment, from the index and without a compiler, and uses it."""
    for path in wheels.built(release, os.uname().machine):
        venv.create(folder / "environment", with_pip=True)
        scripts = folder / "environment" / "bin"
        # Neither a compiler nor the source is found.
        alone = {"PATH": str(scripts), "HOME": str(folder), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        run([scripts / "python", "-m", "pip", "install", "--quiet", path], {**kept, **alone})
        work = made(folder / "work")
        for line in (
            "whimbrel --version",
            "whimbrel examples --copy",
            f"whimbrel run {SCENARIO}",
            "whimbrel inspect examples/captures/call.pcapng.gz --interval 20",
            "python examples/aio/telemetry.py",
        ):
            name, *rest = line.split()
            run([scripts / name, *rest], alone, cwd=work)
        size = sum(file.stat().st_size for file in scripts.parent.rglob("*") if file.is_file())
        print(
            f"   {path.name}: {path.stat().st_size / 1e6:.1f} MB, with all that it needs {size / 1e6:.0f} MB"
        )


def library(release: Release, folder: Path) -> None:
    """Compiles the examples in C with the library as it is packed, and lets them exchange a text."""
    archive = c_library.archive(release, "x86_64-linux")
    if not archive.exists() or shutil.which("pkg-config") is None or os.uname().machine != "x86_64":
        missing("the trial of the C library", "pkg-config, and the stage c-library")
        return
    place = unpacked(archive, made(folder / "library"))
    shutil.copytree(ROOT / "examples/c", folder / "c")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(place / "lib/pkgconfig")}
    run(["make", "--quiet", "-C", folder / "c", "send", "receive"], environment)
    environment["LD_LIBRARY_PATH"] = str(place / "lib")
    text, secret = b"Over the library.\n" * 1_000, "a secret of twenty-six bytes"
    with subprocess.Popen(
        [folder / "c/receive", "127.0.0.1:0", secret],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as receiver:
        if receiver.stderr is None or receiver.stdout is None:
            raise ReleaseError("no pipes")
        address = receiver.stderr.readline().decode().strip().rpartition(" ")[2]
        subprocess.run([folder / "c/send", address, secret], env=environment, input=text, check=True)
        if receiver.stdout.read() != text:
            raise ReleaseError("the example in C received another text")
    print(f"   {archive.name}: {len(text)} bytes carried by examples/c")


def windows(release: Release, folder: Path) -> None:
    """Runs the program for Windows under wine: the same bytes from the simulator, and a stream."""
    program, here = WINDOWS[0], COMMANDS[0].executable(release)
    if not program.archive(release).exists() or not here.exists() or wine.program() is None:
        missing("the trial of the command for Windows", "the stages commands and windows, and wine64")
        return
    shutil.unpack_archive(program.archive(release), folder)
    command = [str(wine.program()), str(next(folder.iterdir()) / "whimbrel.exe")]
    os.environ |= wine.environment(release)
    for words in (
        ("run", SCENARIO, "--seed", "1", "--json"),
        ("inspect", "examples/captures/call.pcapng.gz", "--json"),
    ):
        if output([*command, *words]).replace("\r\n", "\n") != output([here, *words]):
            raise ReleaseError(f"{' '.join(words)}: not what the program for Linux prints")
        print(f"   {' '.join(words)}: as on Linux")
    print(f"   {program.archive(release).name}: {stream.carry(command)}")
    print(f"   {program.archive(release).name}: {stream.measure(command)}")
