"""The scheduler that a command line selects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from whimbrel._campaigns import cluster
from whimbrel._campaigns.scheduler import Local, Scheduler
from whimbrel.errors import UsageError

LOCAL = "local"


@contextmanager
def opened(scheduler: str, jobs: int | None = None) -> Iterator[Scheduler]:
    """The scheduler selected by `--scheduler` and `--jobs`.

    Raises:
        UsageError: it cannot be reached or used; the message names the remedy.
    """
    if scheduler == LOCAL:
        yield Local(jobs)
        return
    if "://" not in scheduler:
        raise UsageError(
            f"--scheduler is {scheduler!r}, expected `{LOCAL}` or a Dask scheduler's address such as"
            " tcp://host:8786"
        )
    with cluster.connected(scheduler, jobs) as who:
        yield who
