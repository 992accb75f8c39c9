"""How a long campaign tells its user that it lives."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars


class Progress(Protocol):
    """What a campaign tells; entered when it starts, left when it ends."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def add(self, runs: int) -> None:
        """So many more runs are planned."""

    def advance(self) -> None:
        """One more run is done, made now or found on disk."""

    def say(self, message: str) -> None:
        """Something to know; may come from any thread."""


class Silent:
    """Says nothing."""

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
        """Nothing."""

    def advance(self) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        """Nothing."""


class Bar:
    """A progress bar on standard error; without a terminal only its last state.

    Args:
        title: what is under way.
        console: where to draw.
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
            console=console or Console(stderr=True),
        )
        self._task = self._bars.add_task(title, total=0)
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
