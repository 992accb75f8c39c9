"""Schedulers, which make the runs of a campaign: threads of this process, or a cluster.

A campaign decides which runs it needs, writes their records and measures them. A scheduler only makes runs,
in any order, so the results do not depend on the scheduler.
"""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Protocol

from whimbrel._campaigns.jobs import Job, Made, Run, make
from whimbrel._campaigns.progress import Progress


class Session(Protocol):
    """The runs of one campaign."""

    @property
    def under_way(self) -> int:
        """Number of jobs that `wait` has not yet returned."""

    def submit(self, job: Job) -> None:
        """Submits one more run."""

    def wait(self, *, block: bool) -> list[Made]:
        """Runs finished since the last call.

        Args:
            block: wait for at least one; one must be in progress.

        Raises:
            SchedulerLost: the scheduler vanished.
        """

    def cancel(self) -> None:
        """Forgets all jobs that have not started; `wait` returns those in progress."""

    def close(self, *, abandon: bool = False) -> None:
        """Ends the session; with `abandon`, also without waiting for runs in progress."""


class Scheduler(Protocol):
    """Makes runs."""

    def start(self, run: Run, engine: str, progress: Progress) -> Session:
        """Begins a campaign.

        Args:
            run: function that makes a run.
            engine: identity of the code behind it, for the records.
            progress: receives messages for the user.

        Raises:
            CampaignError: the runs cannot be made there.
        """


class Local:
    """Threads of this process; the simulator releases the interpreter lock while it runs.

    Args:
        jobs: number of simultaneous runs; the number of processors by default.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or available_processors()

    def start(self, run: Run, engine: str, progress: Progress) -> Session:  # noqa: ARG002 - threads report nothing
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


def available_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
