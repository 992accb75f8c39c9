"""A contestant, asked for decisions in its own process."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from whimbrel._simulate.controllers import Feedback
from whimbrel._simulate.repairers import RepairFeedback
from whimbrel.contest.kinds import Kind, told

_LONGEST_REPLY = 4096


@dataclass(frozen=True)
class Limits:
    """Limits of a contestant in a match.

    Attributes:
        processor_s: seconds of processor time.
        memory: bytes of address space.
        patience_s: seconds until an answer.
    """

    processor_s: int = 20
    memory: int = 1 << 30
    patience_s: float = 20.0


class Forfeit(Exception):  # noqa: N818 - the end of a match
    """A contestant has lost its match; the message says why, after its name."""


class Confined:
    """The class of a file, in a process without rights.

    Args:
        kind: what it decides.
        source: text of the file.
        seed: of its random numbers.
        limits: of the process.
    """

    def __init__(self, kind: Kind, source: str, seed: int, limits: Limits) -> None:
        self._kind = kind
        self._limits = limits
        # The interpreter's own search path, without what a student may have put into the present folder.
        path = os.pathsep.join(each for each in sys.path if each)
        environment = {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-B", "-m", "whimbrel.contest.confined"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=os.path.sep,
            start_new_session=True,
        )
        limited = {"processor_s": limits.processor_s, "memory": limits.memory}
        about = {"kind": kind.name, "source": source, "seed": seed, "limits": limited}
        self._first = json.dumps(about)
        self._unread = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._process.communicate()

    def start(self) -> None:
        """Waits until the file has been run.

        Raises:
            Forfeit: it cannot be run.
        """
        answer = self._ask(self._first)
        if answer != "ready":
            raise Forfeit(f"gave {answer!r} for an answer")

    def on_feedback(self, feedback: Feedback | RepairFeedback) -> tuple[float, ...]:
        """The decision until the next call.

        Raises:
            Forfeit: there is none.
        """
        answer = self._ask(json.dumps(told(feedback)))
        try:
            decision = tuple(map(float, answer.split()))
        except ValueError:
            decision = ()
        # Not the words of the process, which may have written anything.
        if len(decision) != len(self._kind.columns):
            raise Forfeit(f"gave {answer[:40]!r} for an answer")
        if wrong := self._kind.wrong(decision):
            raise Forfeit(wrong)
        return decision

    def _ask(self, request: str) -> str:
        deadline = time.monotonic() + self._limits.patience_s
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        into, out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(into, False)
        unsent = memoryview(f"{request}\n".encode())
        while b"\n" not in self._unread:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Forfeit(f"gave no answer within {self._limits.patience_s:g} s")
            readable, writable, _ = select.select([out], [into] if unsent else [], [], left)
            if readable:
                block = os.read(out, _LONGEST_REPLY)
                if not block:
                    raise Forfeit(self._ended())
                self._unread += block
                if len(self._unread) > 2 * _LONGEST_REPLY:
                    raise Forfeit("gave an answer that is too long")
            elif writable:
                try:
                    unsent = unsent[os.write(into, unsent) :]
                except BrokenPipeError:
                    unsent = unsent[len(unsent) :]
        line, _, self._unread = self._unread.partition(b"\n")
        answer = line.decode(errors="replace")
        if answer.startswith("!"):
            raise Forfeit(answer[1:])
        return answer

    def _ended(self) -> str:
        code = self._process.wait()
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return f"used more than {self._limits.processor_s} s of processor time"
        if code < 0:
            return f"ended by the signal {signal.Signals(-code).name}"
        return f"ended with the exit code {code}"
