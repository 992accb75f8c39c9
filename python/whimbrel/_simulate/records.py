"""Finished runs on disk: one file each, written atomically. Module `record_format` has their format."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

from whimbrel._simulate import record_format
from whimbrel._simulate.record_format import SUFFIX
from whimbrel._simulate.result import Result
from whimbrel.errors import CampaignError

_PARTIAL = ".partial-"


class Records:
    """A directory of records.

    Args:
        directory: created when the first record is written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, key: str) -> Path:
        """The file of a run, existing or not."""
        return self.directory / f"{key}{SUFFIX}"

    def keys(self) -> list[str]:
        """The keys of all records, sorted; the records may be damaged."""
        return sorted(path.name.removesuffix(SUFFIX) for path in self.directory.glob(f"*{SUFFIX}"))

    def load(self, key: str) -> Result | None:
        """The result of a run; None without a record of it.

        Raises:
            RecordError: the record is damaged or is of another run.
        """
        tables = record_format.read(self.path(key), key)
        return None if tables is None else Result(tables)

    def save(self, key: str, content: bytes) -> None:
        """Writes a record atomically.

        The method does not wait for the disk, which would take longer than a short run. A crash of the
        machine may therefore cost the runs of the last seconds; their remains are detected as damaged, and
        the runs are repeated.

        Args:
            key: identity of the run.
            content: from `record_format.encode`, with the same key.

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
