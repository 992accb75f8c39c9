"""Progress reports of a long campaign."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from whimbrel._base import terminal


class Progress(Protocol):
    """Receives a campaign's progress; entered at its start, left at its end."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def add(self, runs: int) -> None:
        """`count` more runs are planned."""

    def advance(self) -> None:
        """One more run is done, made now or found on disk."""

    def say(self, message: str) -> None:
        """A message for the user; may be called from any thread."""


class Silent:
    """Reports nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    def add(self, runs: int) -> None:
        """Does nothing."""

    def advance(self) -> None:
        """Does nothing."""

    def say(self, message: str) -> None:
        """Does nothing."""


class Bar:
    """A progress bar on standard error; without a terminal only its final state.

    Args:
        title: of the work in progress.
        console: to draw on.
    """

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=console or terminal.console(stderr=True),
        )
        self._task = self._bars.add_task(terminal.markup(title), total=0)
        self._planned = 0

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def add(self, runs: int) -> None:
        """Lengthens the bar."""
        self._planned += runs
        self._bars.update(self._task, total=self._planned)

    def advance(self) -> None:
        """Moves the bar."""
        self._bars.advance(self._task)

    def say(self, message: str) -> None:
        """Prints a line above the bar."""
        self._bars.console.print(message, highlight=False, markup=False)
