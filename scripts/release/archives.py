"""Archives whose bytes depend only on the names and contents of their files and on the time of the commit."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import zipfile
from pathlib import Path


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _mode(path: Path) -> int:
    return 0o755 if path.stat().st_mode & 0o100 else 0o644


def tar_gz(folder: Path, archive: Path, epoch: int) -> None:
    """Packs a folder under its own name, with owner 0."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in _files(folder):
            entry = tarfile.TarInfo(str(path.relative_to(folder.parent)))
            entry.mtime = epoch
            if path.is_symlink():
                entry.type, entry.linkname = tarfile.SYMTYPE, str(path.readlink())
                tar.addfile(entry)
                continue
            entry.size, entry.mode = path.stat().st_size, _mode(path)
            with path.open("rb") as content:
                tar.addfile(entry, content)
    # Neither a name nor a time in the header.
    archive.write_bytes(gzip.compress(plain.getvalue(), 9, mtime=0))


def zipped(folder: Path, archive: Path, epoch: int) -> None:
    """Packs a folder under its own name, for Windows."""
    moment = time.gmtime(epoch)[:6]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in _files(folder):
            entry = zipfile.ZipInfo(str(path.relative_to(folder.parent)), moment)
            entry.compress_type, entry.external_attr, entry.create_system = (
                zipfile.ZIP_DEFLATED,
                _mode(path) << 16,
                3,
            )
            packed.writestr(entry, path.read_bytes())
