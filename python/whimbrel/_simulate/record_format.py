"""The format of a finished run on disk.

A record is a zip file of two members, each with a checksum. `record.json` describes the run, and for every
table the rows and the columns, each with its numpy type; `columns` holds their values in the same order, one
column after the other, little-endian. There are two members rather than one per column because a short
simulation takes a few milliseconds, and a file per column would take as long again. The file must hold the
run of its name: a truncated, damaged or renamed file is never taken for a result.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whimbrel._base import documents
from whimbrel._values.table import Table
from whimbrel.errors import RecordError, WhimbrelError

SUFFIX = ".record"
_HEAD = "record.json"
_COLUMNS = "columns"
# The most bytes of a member: a small file must not fill the memory.
_LEAST_ROOM = 64 << 20
_ROOM_BY_SIZE = 32
_KINDS = "fiubU"
"""Numpy's kinds of columns: float, int, unsigned, bool, text."""


def read(path: Path, key: str) -> dict[str, Table] | None:
    """The tables of a run; None without its file.

    Raises:
        RecordError: the record is damaged or is of another run.
    """
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


def encode(key: str, tables: Mapping[str, Table], about: Mapping[str, Any]) -> bytes:
    """A record's content: the same run produces the same bytes.

    Args:
        key: identity of the run.
        tables: its result.
        about: description of the run; any JSON value.
    """
    # Lists, since the order of tables and columns is a part of the result.
    kinds: list[tuple[str, int, list[tuple[str, str]]]] = []
    values: list[bytes] = []
    for name, table in tables.items():
        columns = [(column, _little_endian(data)) for column, data in table.items()]
        kinds.append((name, table.rows, [(column, data.dtype.str) for column, data in columns]))
        values += [data.tobytes() for _, data in columns]
    head = {"key": key, "about": dict(about), "tables": kinds}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(_member(_HEAD), json.dumps(head, sort_keys=True, ensure_ascii=False))
        archive.writestr(_member(_COLUMNS), b"".join(values))
    return buffer.getvalue()


def decode(content: bytes, key: str) -> dict[str, Table]:
    """The tables in a record.

    Raises:
        RecordError: the record belongs to another run.
        Exception: any error of zipfile, json and numpy for invalid content.
    """
    first, columns_of_all = plain(content)
    head = documents.json_value(first)
    # Writable arrays.
    values = bytearray(columns_of_all)
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
    return {name: Table(columns) for name, columns in tables.items()}


def about(content: bytes) -> dict[str, Any]:
    """The description of the run in a record.

    Raises:
        Exception: as of `decode`.
    """
    found = documents.json_value(plain(content)[0])["about"]
    if not isinstance(found, dict):
        raise RecordError("it has no description of its run")
    return found


def plain(content: bytes) -> tuple[bytes, bytes]:
    """The two members of a record without their compression, which differs between versions of zlib.

    Raises:
        Exception: as of `decode`.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        _check_room(archive, len(content))
        return archive.read(_HEAD), archive.read(_COLUMNS)


def _check_room(archive: zipfile.ZipFile, size: int) -> None:
    room = _LEAST_ROOM + _ROOM_BY_SIZE * size
    for member in archive.infolist():
        if member.file_size > room:
            raise RecordError(f"{member.filename} has {member.file_size} bytes, where the file has {size}")


def _little_endian(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return column.astype(column.dtype.newbyteorder("<"), copy=False)


def _member(name: str) -> zipfile.ZipInfo:
    """A member without a date: the same result produces the same bytes."""
    member = zipfile.ZipInfo(name)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member
