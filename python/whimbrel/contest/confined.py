"""The process of a contestant: it gives up its rights, then runs a file that nobody trusts.

Several barriers, since each may be missing or have a hole: limits of processor time, memory, files and
processes; Landlock and a network namespace where Linux has them; and an audit hook, which also says in words
what the file tried. Its standard streams lead nowhere. Replies are lines: the numbers of a decision, or `!`
and the reason why there is none.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import reprlib
import signal
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel._base import documents
from whimbrel.contest.kinds import KINDS

try:
    import resource
except ImportError:  # Windows has no such limits.
    resource = None  # type: ignore[assignment]

_FILE = "contestant.py"
_DENIED = (
    "ctypes.", "fcntl.", "ftplib.", "gc.", "http.", "imaplib.", "mmap.", "os.", "poplib.", "pty.",
    "resource.", "shutil.", "signal.", "smtplib.", "socket.", "sqlite3.", "subprocess.", "sys.", "syslog.",
    "tempfile.", "urllib.", "webbrowser.", "winreg.",
)  # fmt: skip
"""Beginnings of the audit events of calls that a file may not make."""
_ALLOWED = {
    "os.listdir", "os.putenv", "os.unsetenv", "sys._getframe", "sys._getframemodulename", "sys.excepthook",
}  # fmt: skip
"""Imports list folders and look at frames; changes of the environment affect only this process."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LONGEST_REASON = 300
_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = _LONGEST_REASON - 100
"""Long names are shortened in their middle, so that the rest of the reason is shown, too."""


def main() -> None:
    """Runs the file that standard input describes in its first line, then answers each further line."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    about = documents.json_value(requests.readline())
    folders = _library_folders()
    # All of numpy that is imported late needs files and functions that are about to be denied.
    np.random.seed(about["seed"] & 0xFFFFFFFF)  # noqa: NPY002 - the generator of a contestant's own calls
    np.asarray([1.0, np.nan]).mean()
    random.seed(about["seed"])
    _limit(about["limits"])
    _isolate(folders)
    _audit(folders, replies)
    kind = KINDS[about["kind"]]
    try:
        contestant = _contestant(about["source"], kind.class_name)
        _reply(replies, "ready")
        for request in iter(requests.readline, b""):
            answer = contestant.on_feedback(kind.feedback(documents.json_value(request)))
            _reply(replies, " ".join(map(repr, kind.reply(answer))))
    except MemoryError:
        _reply(replies, f"!needed more than {about['limits']['memory'] >> 20} MiB of memory")
    except BaseException as error:
        _reply(replies, f"!{_said(error)}")
    os._exit(0)


def _contestant(source: str, name: str) -> Any:  # noqa: ANN401 - a stranger's class
    space: dict[str, Any] = {"__name__": "contestant"}
    exec(compile(source, _FILE, "exec"), space)  # noqa: S102 - what this process is for
    if name not in space:
        raise LookupError(f"the file defines no class {name}")
    return space[name]()


def _said(error: BaseException) -> str:
    """An error with the line of the file that it comes from."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.lineno:
        line = error.lineno
    where = f" in line {line}" if line else ""
    return f"raised {type(error).__name__}{where}: {error}"


def _reply(replies: int, text: str) -> None:
    line = " ".join(text.split())[:_LONGEST_REASON]
    os.write(replies, f"{line}\n".encode(errors="replace"))


def _library_folders() -> list[str]:
    """The folders from which modules and the libraries that they load are read."""
    python = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()]
    system = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64"]
    modules = [path for path in sys.path if path]
    package = str(Path(__file__).resolve().parents[2])
    found = [os.path.realpath(path) for path in [*python, *system, *modules, package]]
    return sorted({path for path in found if path != os.sep and Path(path).is_dir()})


def _limit(limits: Mapping[str, int]) -> None:
    if resource is None:
        return
    seconds, memory = limits["processor_s"], limits["memory"]
    for kind, soft, hard in (
        # The first limit names the reason, the second ends those that ignore it.
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_AS, memory, memory),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NOFILE, 64, 64),
    ):
        # Some systems have no limit of address space.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (soft, hard))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def _isolate(folders: list[str]) -> None:
    """No other files, no network and no other processes, as far as this system can say so."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    # Without rights to make them, or without these calls, the other barriers remain.
    libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _landlock(libc, folders)
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
_PR_SET_NO_NEW_PRIVS = 38
# Landlock, linux/landlock.h: the same numbers on all architectures.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_FILES_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}
"""Number of rights on files that each version of Landlock knows; 16 since version 5."""
_READ = 1 << 0 | 1 << 2 | 1 << 3
"""Execute and read files, and list folders."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def _landlock(libc: ctypes.CDLL, folders: list[str]) -> None:
    version = libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return
    rules = _Ruleset((1 << _FILES_BY_VERSION.get(version, 16)) - 1, 0, 0)
    size = 8
    if version >= 4:
        # Neither bind nor connect.
        rules.network, size = 0b11, 16
    if version >= 6:
        # Neither abstract sockets nor signals to others.
        rules.scoped, size = 0b11, 24
    ruleset = libc.syscall(_CREATE, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return
    for folder in folders:
        opened = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        libc.syscall(_ADD, ruleset, 1, ctypes.byref(_Beneath(_READ, opened)), 0)
        os.close(opened)
    libc.syscall(_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _audit(folders: list[str], replies: int) -> None:
    below = tuple(f"{folder}{os.sep}" for folder in folders)

    def forbid(what: str) -> None:
        # Not an exception, which the file could catch.
        _reply(replies, f"!called {what}, which a contestant may not")
        os._exit(0)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            # A number is a stream that is open already.
            if isinstance(path, int):
                return
            name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - text, without looking at files
            if name == f"{os.sep}{_FILE}":
                # The interpreter looks for the line of an error in its syntax.
                raise FileNotFoundError(_FILE)
            if (flags or 0) & _WRITES or not name.startswith(below):
                forbid(f"open({_SHOWN.repr(name)})")
        elif event.startswith(_DENIED) and event not in _ALLOWED:
            forbid(f"{event}({', '.join(_SHOWN.repr(each) for each in arguments[:1])})")

    sys.addaudithook(hook)


if __name__ == "__main__":
    main()
