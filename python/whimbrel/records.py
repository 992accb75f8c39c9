"""Finished runs on disk: one file each, there as a whole or not at all.

A record is a zip file with `record.json` (what was run) and one `.npy` file per column, so numpy and any zip
tool read it. Every member has a checksum, and the file must hold the run that its name says: a truncated,
damaged or renamed file is never taken for a result.
"""

from __future__ import annotations

import errno
import io
import json
import os
import threading
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whimbrel.errors import CampaignError, RecordError, WhimbrelError
from whimbrel.result import Result

_SUFFIX = ".record"
_PARTIAL = ".partial-"
_HEAD = "record.json"


class Records:
    """A directory of records.

    Args:
        directory: made when the first record is written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, key: str) -> Path:
        """The file of a run, whether it exists or not."""
        return self.directory / f"{key}{_SUFFIX}"

    def keys(self) -> list[str]:
        """The keys of all records, sorted; they may yet turn out to be damaged."""
        return sorted(path.name.removesuffix(_SUFFIX) for path in self.directory.glob(f"*{_SUFFIX}"))

    def load(self, key: str) -> Result | None:
        """The result of a run; None when there is no record of it.

        Raises:
            RecordError: the record is damaged or is of another run.
        """
        path = self.path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RecordError(f"{path} cannot be read: {error}") from error
        try:
            return _decode(content, key)
        # What zipfile, zlib and numpy raise for content that is not theirs.
        except (
            zipfile.BadZipFile,
            zlib.error,
            KeyError,
            TypeError,
            ValueError,
            EOFError,
            OSError,
            OverflowError,
            MemoryError,
            NotImplementedError,
            RuntimeError,
            WhimbrelError,
        ) as error:
            raise RecordError(f"{path} is damaged: {error}") from error

    def save(self, key: str, result: Result, about: Mapping[str, Any]) -> None:
        """Writes a record; after this it survives a crash of the machine.

        Args:
            key: what identifies the run.
            result: its tables.
            about: what was run, for people: anything JSON can hold.

        Raises:
            CampaignError: the disk is full or the directory cannot be written; no trace is left then.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            _write_durably(self.path(key), _encode(key, result, about))
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise CampaignError(
                    f"the disk is full: {self.directory} keeps {len(self.keys())} finished runs;"
                    " make room and run the same command again"
                ) from error
            raise CampaignError(f"cannot write to {self.directory}: {error.strerror or error}") from error

    def sweep_partial(self) -> None:
        """Removes what writers that no longer exist left behind."""
        for path in self.directory.glob(f"{_PARTIAL}*"):
            writer = path.name.removeprefix(_PARTIAL).partition("-")[0]
            if not writer.isdigit() or not _is_running(int(writer)):
                path.unlink(missing_ok=True)


def _encode(key: str, result: Result, about: Mapping[str, Any]) -> bytes:
    # A list, since the order of tables and columns is a part of the result.
    columns = [[name, list(table)] for name, table in result.tables.items()]
    head = {"key": key, "about": dict(about), "tables": columns}
    buffer = io.BytesIO()
    # Members without a date: the same result gives the same bytes.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        archive.writestr(_member(_HEAD), json.dumps(head, sort_keys=True, ensure_ascii=False))
        for name, table in result.tables.items():
            for column in table:
                content = io.BytesIO()
                np.lib.format.write_array(content, table[column], allow_pickle=False)
                archive.writestr(_member(f"{name}/{column}.npy"), content.getvalue())
    return buffer.getvalue()


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _decode(content: bytes, key: str) -> Result:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        head = json.loads(archive.read(_HEAD))
        if head["key"] != key:
            raise RecordError(f"it is the record of {head['key']}")

        def column(table: str, name: str) -> npt.NDArray[Any]:
            data = io.BytesIO(archive.read(f"{table}/{name}.npy"))
            read: npt.NDArray[Any] = np.lib.format.read_array(data, allow_pickle=False)
            return read

        return Result(
            {table: {name: column(table, name) for name in names} for table, names in head["tables"]}
        )


def _write_durably(path: Path, content: bytes) -> None:
    """Writes a file that appears at once and complete, and is on the disk when this returns."""
    partial = path.parent / f"{_PARTIAL}{os.getpid()}-{threading.get_ident()}-{path.stem}"
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
