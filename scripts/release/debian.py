"""Debian packages of the programs, which are static: they depend on no other package.

Written with dpkg-deb alone, from the folders of the archives. `whimbrel` has everything; `whimbrel-relay` is
for small devices. Both have the command `whimbrel`, so that they replace each other.
"""

from __future__ import annotations

import email.utils
import gzip
import hashlib
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from programs import COMMANDS, RELAYS, Program
from recipes import filled
from workspace import ROOT, Release, emptied, made, missing, run

ARCHITECTURES = {"x86_64-linux": "amd64", "aarch64-linux": "arm64", "armv7-linux": "armhf"}
# Of the package, not of the version.
REVISION = "1"
MAINTAINER = "The Whimbrel developers <maintainers@example.org>"


@dataclass(frozen=True)
class Text:
    """The metadata of a package."""

    about: str
    details: str
    fields: tuple[str, ...]


TEXTS = {
    "whimbrel": Text(
        "congestion-controlled datagrams for live video and telemetry",
        "Whimbrel carries live video and telemetry over networks that lose packets and\n"
        "hand over (relay, pipe), measures paths (perf, record), explains captures\n"
        "(inspect, classify, fit) and simulates networks with the same protocol code\n"
        "(run, emulate). The transport is DCCP in user space, over UDP.",
        ("Provides: whimbrel-relay", "Conflicts: whimbrel-relay", "Replaces: whimbrel-relay"),
    ),
    "whimbrel-relay": Text(
        "relay for live video and telemetry over bad networks",
        "The relay of Whimbrel alone, for small devices: it carries the datagrams of a\n"
        "camera or another program over one encrypted DCCP connection, repairs losses\n"
        "within a latency, and survives changes of the network. The package whimbrel\n"
        "has measurements, captures and simulations too.",
        ("Conflicts: whimbrel", "Replaces: whimbrel"),
    ),
}


def version(release: Release) -> str:
    """The version of the packages."""
    return f"{release.version}-{REVISION}"


def package(release: Release, program: Program) -> Path:
    """The file of a program's package."""
    return release.files / f"{program.name}_{version(release)}_{ARCHITECTURES[program.system]}.deb"


def make(release: Release) -> None:
    """Makes the packages, and checks them with lintian."""
    if shutil.which("dpkg-deb") is None:
        missing("Debian packages", "dpkg-deb")
        return
    made_of = []
    for program in RELAYS + COMMANDS:
        if release.makes(program.system) and program.folder(release).exists():
            made_of.append(program)
        elif release.makes(program.system):
            missing(package(release, program).name, "the stage that makes the program")
    for program in made_of:
        root = tree(release, program)
        command: list[str | Path] = [
            "dpkg-deb",
            "--root-owner-group",
            "-Zxz",
            "--build",
            root,
            package(release, program),
        ]
        run(command, release.environment())
    if shutil.which("lintian") is None:
        missing("the check of Debian packages", "sudo apt-get install lintian")
        return
    packages = [package(release, program) for program in made_of]
    lintian: list[str | Path] = ["lintian", "--fail-on", "error,warning", *packages]
    run(lintian)


def tree(release: Release, program: Program) -> Path:
    """The files of a package, below a folder."""
    root = emptied(release.work / "debian" / f"{program.name}-{program.system}")
    packed, users = program.folder(release), root / "usr"
    shutil.copytree(packed / "bin", users / "bin")
    shutil.copytree(packed / "share", users / "share")
    shutil.move(users / "share/zsh/site-functions", users / "share/zsh/vendor-completions")
    for page in sorted((users / "share/man/man1").iterdir()):
        compress(page)
    shutil.rmtree(users / "share/doc/whimbrel")
    texts(release, program, made(users / "share/doc" / program.name), packed)
    units = made(root / "lib/systemd/system")
    for unit in sorted((packed / "lib/systemd/system").iterdir()):
        (units / unit.name).write_text(unit.read_text().replace("/usr/local/bin", "/usr/bin"))
    overrides = made(users / "share/lintian/overrides") / program.name
    overrides.write_text((ROOT / "packaging/debian/overrides.in").read_text().replace("@NAME@", program.name))
    control(release, program, root)
    return root


def texts(release: Release, program: Program, documents: Path, packed: Path) -> None:
    """Writes the package's documents."""
    shutil.copy(packed / "share/doc/whimbrel/THIRD-PARTY.txt", documents)
    if (packed / "share/doc/whimbrel/examples").exists():
        shutil.copytree(packed / "share/doc/whimbrel/examples", documents / "examples")
    compress(documents / "THIRD-PARTY.txt")
    lines = (ROOT / "LICENSE-MIT").read_text().strip().splitlines()
    values = {
        "YEAR": str(time.gmtime(release.epoch).tm_year),
        "MIT": "\n".join(f" {line}" if line else " ." for line in lines),
    }
    template = (ROOT / "packaging/debian/copyright.in").read_text()
    (documents / "copyright").write_text(filled(template, values))
    shutil.copy(ROOT / "CHANGELOG.md", documents / "changelog")
    compress(documents / "changelog")
    date = email.utils.formatdate(release.epoch)
    (documents / "changelog.Debian").write_text(
        f"{program.name} ({version(release)}) unstable; urgency=medium\n\n"
        f"  * Version {release.version}.\n\n -- {MAINTAINER}  {date}\n"
    )
    compress(documents / "changelog.Debian")


def control(release: Release, program: Program, root: Path) -> None:
    """Writes the package's description, its sums and its scripts."""
    files = sorted(path for path in root.rglob("*") if path.is_file())
    folder, text = made(root / "DEBIAN"), TEXTS[program.name]
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}" for path in files]  # noqa: S324
    (folder / "md5sums").write_text("\n".join(sums) + "\n")
    fields = [
        f"Package: {program.name}",
        f"Version: {version(release)}",
        f"Architecture: {ARCHITECTURES[program.system]}",
        f"Maintainer: {MAINTAINER}",
        f"Installed-Size: {sum((path.stat().st_size + 1023) // 1024 for path in files)}",
        *text.fields,
        "Section: net",
        "Priority: optional",
        "Homepage: https://example.org/whimbrel",
        f"Description: {text.about}",
        *(f" {line}" for line in text.details.splitlines()),
    ]
    (folder / "control").write_text("\n".join(fields) + "\n")
    for script in ("prerm", "postrm"):
        shutil.copy(ROOT / "packaging/debian" / script, folder)
        (folder / script).chmod(0o755)


def compress(path: Path) -> None:
    """Replaces a file by its compressed form, whose header has neither name nor time."""
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    path.unlink()
