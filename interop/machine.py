"""An unmodified Debian 6.1 kernel, the last with DCCP, as an ordinary process without privileges.

The kernel's package is downloaded with apt into a cache; the root file system is an initramfs of busybox,
iproute2, tcpdump and the two peers. Emulation counts instructions instead of using the host's clock: time in
the guest advances only as the guest's processor works or idles, so that a busy host makes a run slower but
does not change it.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CACHE = ROOT / "target" / "interop"
# Evaluates Whimbrel's throughput equation, on this host.
EQUATION = CACHE / "throughput"
# Debian package -> a program of it that must exist.
NEEDED = {
    "qemu-system-x86": "qemu-system-x86_64",
    "cpio": "cpio",
    "busybox-static": "busybox",
    "iproute2": "ip",
    "tcpdump": "tcpdump",
    "tshark": "tshark",
    "build-essential": "cc",
    "dpkg": "dpkg-deb",
    "apt": "apt-get",
}
MODULES = [
    "virtio", "virtio_ring", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "virtio_blk",
    "failover", "net_failover", "virtio_net",
    "crc-ccitt", "ipv6", "inet_diag", "dccp", "dccp_ipv4", "dccp_ipv6", "veth", "tun", "sch_netem", "sch_tbf",
    "tcp_veno", "tcp_westwood", "tcp_bbr",
]  # fmt: skip
FOLDERS = [
    "bin", "sbin", "usr/bin", "usr/sbin", "proc", "sys", "dev", "run", "out", "job", "tmp", "etc",
    "lib/modules",
]  # fmt: skip
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
META_PACKAGE = "linux-image-cloud-amd64"
DISK_BYTES = 3 << 30
# An instruction of the guest takes 2 to the power of this in nanoseconds.
NANOSECONDS_SHIFT = 1


class MachineError(Exception):
    """The guest could not be created or did not finish."""


@dataclass(frozen=True)
class Kernel:
    """A kernel image and the folder of its modules."""

    version: str
    image: Path
    modules: Path


def missing_packages() -> list[str]:
    """Missing Debian packages that a guest requires."""
    return [package for package, program in NEEDED.items() if not shutil.which(program, path=PATH)]


def run(command: Sequence[str | Path], **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a program; its output is in the error if it fails."""
    done = subprocess.run(list(command), capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        words = " ".join(map(str, command))
        raise MachineError(f"{words}: exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done  # type: ignore[no-any-return]


def kernel() -> Kernel:
    """The kernel, downloaded once."""
    folder = CACHE / "kernel"
    if not list(folder.glob("boot/vmlinuz-*")):
        depends = run(["apt-cache", "depends", META_PACKAGE]).stdout
        found = re.search(r"Depends: (linux-image-6\.1\.\S+-cloud-amd64)", depends)
        if not found:
            raise MachineError(
                f"{META_PACKAGE} of this system is not 6.1: later kernels lack DCCP; Debian 12 is required"
            )
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run(["apt-get", "download", found[1]], cwd=folder)
        (package,) = folder.glob("*.deb")
        run(["dpkg-deb", "-x", package, folder])
        package.unlink()
    (image,) = folder.glob("boot/vmlinuz-*")
    version = image.name.removeprefix("vmlinuz-")
    return Kernel(version, image, folder / "lib" / "modules" / version)


def build_peer(name: str, program: Path) -> Path:
    """A program of interop/peers, compiled if out of date, as a small program of its own."""
    CACHE.mkdir(parents=True, exist_ok=True)
    # With the features of the Python extension, so that nothing is compiled again.
    cargo = [os.environ.get("CARGO", "cargo"), "build", "--quiet", "--release", "-p", "whimbrel-python"]
    run([*cargo, "-p", "whimbrel-peers", "--bin", name], cwd=ROOT)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    shutil.copy2(target / "release" / name, program)
    run(["strip", program])
    return program


def build_c(source: Path, program: Path) -> Path:
    """A program of one file in C, compiled if out of date."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        run(["cc", "-O2", "-Wall", "-Wextra", "-static", "-o", program, source])
    return program


def build_peers() -> list[Path]:
    """The kernel's peer and Whimbrel's, compiled if out of date."""
    linux = build_c(HERE / "guest" / "peer.c", CACHE / "linux_peer")
    build_peer("throughput", EQUATION)
    return [
        linux,
        build_peer("interop_peer", CACHE / "whimbrel_peer"),
        build_peer("interop_probe", CACHE / "probe_peer"),
    ]


def initramfs(of: Kernel, programs: Sequence[Path]) -> Path:
    """The guest's root file system."""
    root, archive = CACHE / "root", CACHE / "initramfs.cpio.gz"
    shutil.rmtree(root, ignore_errors=True)
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    install(Path(shutil.which("busybox", path=PATH) or ""), root / "bin" / "busybox")
    for applet in run([root / "bin" / "busybox", "--list"]).stdout.split():
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")
    for name in ("sh", "ip", "tc", "tcpdump"):
        # busybox has a less capable ip of its own, which its shell would prefer.
        program = shutil.which(name, path=PATH)
        if not program:
            raise MachineError(f"{name} is not in {PATH}")
        (root / "bin" / name).unlink(missing_ok=True)
        install(Path(program), root / "bin" / name)
    # The distributions of netem: tc reads them from the folder that it was built with.
    for tables in Path("/usr/lib").glob("**/tc/*.dist"):
        copy = root / str(tables).lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tables, copy)
    for built in programs:
        install(built, root / "bin" / built.name)
    for module in MODULES:
        for found in of.modules.rglob(f"{module}.ko"):
            shutil.copy(found, root / "lib" / "modules" / found.name)
    present = [module for module in MODULES if (root / "lib" / "modules" / f"{module}.ko").exists()]
    (root / "modules").write_text("\n".join(present))
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    shutil.copy(HERE / "guest" / "init", root / "init")
    (root / "init").chmod(0o755)
    shutil.copy(HERE / "guest" / "lab.sh", root / "lab.sh")
    archive.write_bytes(gzip.compress(cpio(root), compresslevel=1))
    return archive


def install(program: Path, to: Path) -> None:
    """Copies a program and the libraries it names."""
    shutil.copy(program.resolve(), to)
    to.chmod(0o755)
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    root = CACHE / "root"
    for library in re.findall(r"(/\S+)", listed):
        copy = root / library.lstrip("/")
        if not copy.exists() and Path(library).exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(library).resolve(), copy)


def cpio(root: Path) -> bytes:
    """An archive of the folder, as the kernel reads it."""
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    done = subprocess.run(
        ["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"],
        cwd=root,
        input="\n".join([".", *names]).encode(),
        capture_output=True,
        check=True,
    )
    return done.stdout


def boot(
    of: Kernel,
    archive: Path,
    job: str,
    out: Path,
    limit_s: float,
    name: str,
    *,
    files: Sequence[Path] = (),
    counts: bool = True,
) -> str:
    """Runs the job in a guest, with the files in /job; /out is in `out` afterwards. Returns its output.

    With `counts`, the guest's clock counts instructions; otherwise it follows the host's clock.
    """
    out.mkdir(parents=True, exist_ok=True)
    work = CACHE / f"work-{os.getpid()}-{name}"
    disk = bundle(archive, job, work, files)
    clock = ["-icount", f"shift={NANOSECONDS_SHIFT},sleep=off,align=off"] if counts else []
    command = command_line(of, work, [*clock, "-nic", "none"])
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=limit_s,
            errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        said = (error.stdout or b"").decode(errors="replace")[-2000:]
        raise MachineError(f"the guest did not finish within {limit_s:.0f} s; output:\n{said}") from error
    if "guest: done" not in done.stdout:
        raise MachineError(f"the guest ended early:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    with tarfile.open(disk) as tar:
        tar.extractall(out, filter="data")
    shutil.rmtree(work)
    return done.stdout


def bundle(archive: Path, job: str, work: Path, files: Sequence[Path] = ()) -> Path:
    """Makes the guest's file system with a job, and the disk for its results, in `work`. Returns the disk."""
    shutil.rmtree(work, ignore_errors=True)
    (work / "extra" / "job").mkdir(parents=True)
    (work / "extra" / "job" / "run.sh").write_text(job)
    for given in files:
        shutil.copy(given, work / "extra" / "job" / given.name)
    added = gzip.compress(cpio(work / "extra"), compresslevel=1)
    (work / "initramfs").write_bytes(archive.read_bytes() + added)
    disk = work / "disk"
    with disk.open("wb") as file:
        file.truncate(DISK_BYTES)
    return disk


def command_line(of: Kernel, work: Path, more: Sequence[str]) -> list[str]:
    """The emulator of the guest in `work`, with more options: its clock and its devices."""
    return [
        "qemu-system-x86_64", "-M", "q35", "-accel", "tcg", "-cpu", "max", "-m", "3072M", "-nodefaults",
        "-no-reboot", "-display", "none", "-serial", "stdio",
        "-kernel", str(of.image), "-initrd", str(work / "initramfs"),
        "-drive", f"file={work / 'disk'},format=raw,if=none,id=d", "-device", "virtio-blk-pci,drive=d",
        "-append", "console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off random.trust_cpu=on",
        *more,
    ]  # fmt: skip
