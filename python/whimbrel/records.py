"""Finished runs on disk: one file each, written atomically.

A record is a zip file of two members, each with a checksum. `record.json` describes the run, and for every
table the rows and the columns, each with its numpy type; `columns` holds their values in the same order, one
column after the other, little-endian. There are two members rather than one per column because a short
simulation takes a few milliseconds, and a file per column would take as long again. The file must hold the
run of its name: a truncated, damaged or renamed file is never taken for a result.
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
_COLUMNS = "columns"
# The most bytes of a member: a small file must not fill the memory.
_LEAST_ROOM = 64 << 20
_ROOM_BY_SIZE = 32
_KINDS = "fiubU"
"""Numpy's kinds of columns: float, int, unsigned, bool, text."""


class Records:
    """A directory of records.

    Args:
        directory: created when the first record is written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, key: str) -> Path:
        """The file of a run, existing or not."""
        return self.directory / f"{key}{_SUFFIX}"

    def keys(self) -> list[str]:
        """The keys of all records, sorted; the records may be damaged."""
        return sorted(path.name.removesuffix(_SUFFIX) for path in self.directory.glob(f"*{_SUFFIX}"))

    def load(self, key: str) -> Result | None:
        """The result of a run; None without a record of it.

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
            return decode(content, key)
        # Errors that zipfile, zlib and numpy raise for invalid content.
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

    def save(self, key: str, content: bytes) -> None:
        """Writes a record atomically.

        It does not wait for the disk, which would take longer than a short run. A crash of the machine may
        therefore cost the runs of the last seconds; their remains are detected as damaged, and the runs are
        repeated.

        Args:
            key: identity of the run.
            content: from `encode`, with the same key.

        Raises:
            CampaignError: the disk is full or the directory cannot be written; no partial file is left.
        """
        try:
            try:
                _write(self.path(key), content)
            except FileNotFoundError:
                self.directory.mkdir(parents=True, exist_ok=True)
                _write(self.path(key), content)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise CampaignError(
                    f"the disk is full: {self.directory} keeps {len(self.keys())} finished runs;"
                    " free some space and run the same command again"
                ) from error
            raise CampaignError(f"cannot write to {self.directory}: {error.strerror or error}") from error

    def sweep_partial(self) -> None:
        """Removes partial files of writers that no longer exist."""
        for path in self.directory.glob(f"{_PARTIAL}*"):
            writer = path.name.removeprefix(_PARTIAL).partition("-")[0]
            if not writer.isdigit() or not _is_running(int(writer)):
                path.unlink(missing_ok=True)


def encode(key: str, result: Result, about: Mapping[str, Any]) -> bytes:
    """A record's content: the same run produces the same bytes.

    Args:
        key: identity of the run.
        result: its tables.
        about: description of the run; any JSON value.
    """
    # Lists, since the order of tables and columns is a part of the result.
    tables: list[tuple[str, int, list[tuple[str, str]]]] = []
    values: list[bytes] = []
    for name, table in result.tables.items():
        columns = [(column, _little_endian(data)) for column, data in table.items()]
        tables.append((name, table.rows, [(column, data.dtype.str) for column, data in columns]))
        values += [data.tobytes() for _, data in columns]
    head = {"key": key, "about": dict(about), "tables": tables}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(_member(_HEAD), json.dumps(head, sort_keys=True, ensure_ascii=False))
        archive.writestr(_member(_COLUMNS), b"".join(values))
    return buffer.getvalue()


def decode(content: bytes, key: str) -> Result:
    """The result in a record.

    Raises:
        RecordError: the record belongs to another run.
        Exception: any error of zipfile, json and numpy for invalid content.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        room = _LEAST_ROOM + _ROOM_BY_SIZE * len(content)
        for member in archive.infolist():
            if member.file_size > room:
                raise RecordError(
                    f"{member.filename} has {member.file_size} bytes, where the file has {len(content)}"
                )
        head = json.loads(archive.read(_HEAD))
        # Writable arrays.
        values = bytearray(archive.read(_COLUMNS))
    if head["key"] != key:
        raise RecordError(f"it is the record of {head['key']}")
    tables: dict[str, dict[str, npt.NDArray[Any]]] = {}
    start = 0
    for name, rows, columns in head["tables"]:
        table = tables[name] = {}
        for column, kind in columns:
            dtype = np.dtype(kind)
            if dtype.kind not in _KINDS:
                raise RecordError(f"column {name}.{column} has the type {kind}")
            table[column] = np.frombuffer(values, dtype, rows, start)
            start += rows * dtype.itemsize
    if start != len(values):
        raise RecordError(f"its columns hold {len(values)} bytes, not {start}")
    return Result(tables)


def _little_endian(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return column.astype(column.dtype.newbyteorder("<"), copy=False)


def _member(name: str) -> zipfile.ZipInfo:
    """A member without a date: the same result produces the same bytes."""
    member = zipfile.ZipInfo(name)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _write(path: Path, content: bytes) -> None:
    """Writes a file atomically."""
    partial = path.parent / f"{_PARTIAL}{os.getpid()}-{threading.get_ident()}-{path.stem}"
    try:
        with partial.open("wb") as file:
            file.write(content)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
