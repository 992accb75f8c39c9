"""Archives of packs: the same files make the same bytes, and nothing leaves its folder when one is unpacked.

The list in a pack decides what is unpacked. A member that it does not name, a name that leads elsewhere, a
link, a size or a digest that differs: each is an error that names the member.
"""

from __future__ import annotations

import hashlib
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from whimbrel._base import documents
from whimbrel.errors import InputError, printable
from whimbrel.packing import manifest
from whimbrel.packing.manifest import File

_MOST_MEMBERS = 1_000_000
# A small archive must not fill the disk.
_LEAST_ROOM = 256 << 20
_ROOM_BY_SIZE = 200
_BLOCK = 1 << 20
_STORED = (".record", ".parquet", ".png", ".whl", ".gz")
"""Already compressed."""


def write(folder: Path, target: Path) -> None:
    """Packs the files of a folder, in the order of their names and without dates."""
    partial = target.with_name(f".{target.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            for path in sorted(files_of(folder)):
                _check_name(target, path)
                member = zipfile.ZipInfo(path)
                member.external_attr = (0o100755 if path.endswith(".sh") else 0o100644) << 16
                stored = path.endswith(_STORED)
                member.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
                member.file_size = (folder / path).stat().st_size
                with (folder / path).open("rb") as source, archive.open(member, "w") as into:
                    while block := source.read(_BLOCK):
                        into.write(block)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def files_of(folder: Path) -> Iterator[str]:
    """The paths of all files below a folder, `/` between the parts; links are not followed."""
    for path in folder.rglob("*"):
        if path.is_symlink() or path.is_file():
            yield path.relative_to(folder).as_posix()


@contextmanager
def opened(pack: Path) -> Iterator[_Pack]:
    """An archive, or a folder that holds one unpacked.

    Raises:
        InputError: it is no pack, or damaged.
        UsageError: a pack of another version of the format.
    """
    if pack.is_dir():
        yield _Pack(pack, None)
        return
    try:
        with zipfile.ZipFile(pack) as archive:
            yield _Pack(pack, archive)
    except FileNotFoundError as error:
        raise InputError(f"{pack} does not exist") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{pack} is damaged, or not a pack of `whimbrel pack`: {error}") from error


class _Pack:
    """A pack that is being read."""

    def __init__(self, pack: Path, archive: zipfile.ZipFile | None) -> None:
        self._pack = pack
        self._archive = archive
        self._members = {} if archive is None else _members(pack, archive)
        self.manifest = manifest.read(self._list(), str(pack))
        self._check_names()

    def unpack(self, target: Path) -> None:
        """Writes all files below a folder, and checks their digests.

        Files that are there already, with their digests, are not written again.
        """
        for path, expected in self.manifest.files.items():
            into = target / path
            if into.is_file() and manifest.digest(into) == expected:
                continue
            into.parent.mkdir(parents=True, exist_ok=True)
            partial = into.with_name(f".{into.name}.partial")
            with self._open(path) as source, partial.open("wb") as file:
                self._copy(source, file, path, expected)
            partial.replace(into)

    def _list(self) -> bytes:
        if self._archive is None:
            path = self._pack / manifest.NAME
            if not path.is_file():
                raise InputError(f"{self._pack} is not a pack of `whimbrel pack`: it has no {manifest.NAME}")
            with path.open("rb") as file:
                text = file.read(documents.MOST_JSON_BYTES + 1)
        else:
            member = self._members.get(manifest.NAME)
            if member is None:
                raise InputError(f"{self._pack} is not a pack of `whimbrel pack`: it has no {manifest.NAME}")
            with self._archive.open(member) as listed:
                text = listed.read(documents.MOST_JSON_BYTES + 1)
        if len(text) > documents.MOST_JSON_BYTES:
            raise InputError(f"{self._pack}: {manifest.NAME} has more than {documents.MOST_JSON_BYTES} bytes")
        return text

    def _check_names(self) -> None:
        listed = self.manifest.files
        for path in listed:
            _check_name(self._pack, path)
        found = set(self._members) if self._archive is not None else self._unpacked()
        if foreign := sorted(found - listed.keys() - {manifest.NAME}):
            raise InputError(
                f"{self._pack}: {foreign[0]} is foreign: the list of the pack does not name it"
                f"{_others(foreign)}"
            )
        if missing := sorted(listed.keys() - found):
            raise InputError(f"{self._pack} is damaged: {missing[0]} is missing{_others(missing)}")
        if self._archive is not None:
            room = _LEAST_ROOM + _ROOM_BY_SIZE * self._pack.stat().st_size
            total = sum(each.bytes for each in listed.values())
            if total > room:
                raise InputError(f"{self._pack} would take {total} bytes unpacked: expected at most {room}")

    def _unpacked(self) -> set[str]:
        """The files of the pack's own folders: what others are next to them is the reader's."""
        own = {path.partition("/")[0] for path in self.manifest.files}
        return {path for path in files_of(self._pack) if path.partition("/")[0] in own}

    @contextmanager
    def _open(self, path: str) -> Iterator[IO[bytes]]:
        if self._archive is not None:
            with self._archive.open(self._members[path]) as member:
                yield member
            return
        file = self._pack / path
        if file.is_symlink():
            raise InputError(f"{self._pack}: {path} is a link, expected a file")
        with file.open("rb") as plain:
            yield plain

    def _copy(self, source: IO[bytes], into: IO[bytes], path: str, expected: File) -> None:
        size, found = 0, hashlib.sha256()
        try:
            while block := source.read(_BLOCK):
                size += len(block)
                if size > expected.bytes:
                    break
                found.update(block)
                into.write(block)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise InputError(f"{self._pack} is damaged: {path}: {error}") from error
        if File(found.hexdigest(), size) != expected:
            raise InputError(
                f"{self._pack} is damaged: {path} does not have the SHA-256 and the size of the list"
            )


def _members(pack: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    listed = archive.infolist()
    if len(listed) > _MOST_MEMBERS:
        raise InputError(f"{pack} has {len(listed)} members: expected at most {_MOST_MEMBERS}")
    found: dict[str, zipfile.ZipInfo] = {}
    for member in listed:
        name = member.orig_filename
        _check_name(pack, name)
        if stat.S_ISLNK(member.external_attr >> 16):
            raise InputError(f"{pack}: {name} is a link, expected a file")
        if name in found:
            raise InputError(f"{pack} has {name} twice")
        found[name] = member
    return found


def _check_name(pack: Path, name: str) -> None:
    """A name must lead to a file below the folder that it is unpacked in, on any system."""
    parts = PurePosixPath(name).parts
    plain = name == "/".join(parts) and not name.startswith("/") and ".." not in parts
    if not parts or not plain or any(sign in name for sign in "\\:") or printable(name) != name:
        raise InputError(f"{pack}: {name!r} is not the name of a file in a pack")


def _others(names: list[str]) -> str:
    return f", and {len(names) - 1} more" if len(names) > 1 else ""
