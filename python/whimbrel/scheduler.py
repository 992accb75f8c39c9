"""Who makes the runs of a campaign: threads of this process, or a cluster.

A campaign decides which runs it needs, writes their records and measures them. A scheduler only makes runs,
in any order. What comes out is therefore the same with every scheduler.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Protocol

from whimbrel.errors import UsageError
from whimbrel.jobs import Job, Made, Run, make
from whimbrel.progress import Progress

LOCAL = "local"


class Session(Protocol):
    """The runs of one campaign."""

    @property
    def under_way(self) -> int:
        """Jobs of which `wait` has not told yet."""

    def submit(self, job: Job) -> None:
        """One more run to make."""

    def wait(self, *, block: bool) -> list[Made]:
        """Runs that were made since the last call.

        Args:
            block: wait for at least one; there must be one under way then.

        Raises:
            SchedulerLost: whoever made the runs has gone.
        """

    def cancel(self) -> None:
        """Forgets all jobs that can still be forgotten; of those that are under way now `wait` tells."""

    def close(self, *, abandon: bool = False) -> None:
        """The end; `abandon`: also of what is under way, which nobody waits for."""


class Scheduler(Protocol):
    """Makes runs."""

    def start(self, run: Run, engine: str, progress: Progress) -> Session:
        """Begins a campaign.

        Args:
            run: what makes a run.
            engine: what identifies the code behind it, for the records.
            progress: told what the user should know.

        Raises:
            CampaignError: the runs cannot be made there.
        """


class Local:
    """Threads of this process: the simulator lets go of the interpreter while it runs.

    Args:
        jobs: runs at a time; the number of processors unless told otherwise.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or available_processors()

    def start(self, run: Run, engine: str, progress: Progress) -> Session:  # noqa: ARG002 - says nothing
        """Begins a campaign."""
        return _Threads(self.jobs, run, engine)


class _Threads:
    def __init__(self, jobs: int, run: Run, engine: str) -> None:
        self._run = run
        self._engine = engine
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="whimbrel")
        self._futures: dict[str, Future[None]] = {}
        self._made: SimpleQueue[Made] = SimpleQueue()

    @property
    def under_way(self) -> int:
        return len(self._futures)

    def submit(self, job: Job) -> None:
        self._futures[job.key] = self._pool.submit(self._make, job)

    def wait(self, *, block: bool) -> list[Made]:
        made = [self._made.get()] if block else []
        try:
            while True:
                made.append(self._made.get_nowait())
        except Empty:
            pass
        for each in made:
            del self._futures[each.job.key]
        return made

    def cancel(self) -> None:
        self._futures = {key: future for key, future in self._futures.items() if not future.cancel()}

    def close(self, *, abandon: bool = False) -> None:
        self._pool.shutdown(wait=not abandon, cancel_futures=True)

    def _make(self, job: Job) -> None:
        self._made.put(make(self._run, self._engine, job))


@contextmanager
def opened(scheduler: str, jobs: int | None = None) -> Iterator[Scheduler]:
    """The scheduler that `--scheduler` and `--jobs` mean.

    Raises:
        UsageError: it cannot be reached or used; the message says what to do.
    """
    if scheduler == LOCAL:
        yield Local(jobs)
        return
    if "://" not in scheduler:
        raise UsageError(
            f"--scheduler is {scheduler!r}, expected `{LOCAL}` or a Dask scheduler's address such as"
            " tcp://host:8786"
        )
    from whimbrel import cluster

    with cluster.connected(scheduler, jobs) as who:
        yield who


def available_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
