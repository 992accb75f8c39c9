"""The directory of results during a command: checked before the work, locked against other commands."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whimbrel.errors import OutputError

try:
    import fcntl
except ImportError:  # Windows has other locks, for files only: no lock there.
    fcntl = None  # type: ignore[assignment]


@contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Creates the directory if it is missing, checks that files can be created in it, and locks it.

    The lock is the operating system's: it ends with this process, however that ends, and leaves no file.
    Directories that were created and stayed empty are removed again.

    Raises:
        OutputError: nothing can be written there, or another command writes there.
    """
    missing = [path for path in (out, *out.parents) if not path.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise OutputError(f"--out {out}: cannot write results there: {error.strerror or error}") from error
    try:
        with _locked(out):
            yield
    finally:
        with contextlib.suppress(OSError):
            for path in missing:
                path.rmdir()


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    directory = os.open(out, os.O_RDONLY)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"--out {out}: another whimbrel{_holder(directory)} writes there; wait for it to end, "
                f"or choose another directory"
            ) from None
        except OSError:
            # A file system without locks: proceed without one.
            pass
        yield
    finally:
        os.close(directory)


def _holder(directory: int) -> str:
    """The process that holds the lock, if Linux reports it."""
    try:
        inode = str(os.fstat(directory).st_ino)
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if "FLOCK" in fields and "->" not in fields and fields[5].rpartition(":")[2] == inode:
                return f" (process {fields[4]})"
    except (OSError, IndexError, ValueError):
        pass
    return ""
