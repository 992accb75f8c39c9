"""Runs on the workers of a Dask cluster.

The campaign stays in this process: it plans, writes the records and measures. Workers receive batches of runs
with the files that the scenarios refer to, and return the bytes of the records. If a worker dies, Dask gives
its batches to another one: a run's result depends on scenario and seed alone, not on the worker or the number
of attempts.
"""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from whimbrel._base import extras
from whimbrel._campaigns import worker
from whimbrel._campaigns.batches import Costs, take
from whimbrel._campaigns.jobs import Job, Made, Run
from whimbrel._campaigns.progress import Progress
from whimbrel._campaigns.scheduler import Local, Session
from whimbrel._campaigns.travel import Packed, pack
from whimbrel._campaigns.worker import Batch, Returned
from whimbrel.errors import CampaignError, SchedulerLost, UsageError, WhimbrelError

CONNECT_S = 5
"""Seconds to wait for the scheduler to answer, and then for a first worker."""

PATIENCE_S = 30.0
"""Seconds to wait for a new worker after the last one has gone."""

_LOOK_S = 1.0
"""Seconds between checks of the cluster's members."""

_AHEAD = 2
"""Batches per thread of a worker: the current one and the next, so that the worker never waits for work."""


@contextmanager
def connected(address: str, jobs: int | None = None) -> Iterator[Cluster]:
    """The cluster at an address.

    Args:
        address: of its scheduler, such as `tcp://host:8786`.
        jobs: number of simultaneous runs; the workers' number of threads by default.

    Raises:
        MissingExtra: Dask is not installed.
        UsageError: the scheduler does not answer, there are no workers, or they are of another build.
    """
    distributed = extras.load("distributed", "cluster", f"--scheduler {address}")
    # The campaign reports a lost connection in one line instead of Dask's logs, whose loggers have their own
    # levels.
    for name in ("distributed", "distributed.client", "distributed.core", "distributed.comm.tcp"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"--scheduler {address}: no Dask scheduler answers there: {error}") from error
    try:
        try:
            cluster = Cluster(client, jobs)
        except WhimbrelError as error:
            raise UsageError(f"--scheduler {address}: {error}") from error
        yield cluster
    finally:
        # Closing would wait for a scheduler that may be gone.
        with contextlib.suppress(Exception):
            client.close(timeout=CONNECT_S)


class Cluster:
    """A Dask cluster as a scheduler of campaigns.

    Args:
        client: a `distributed.Client`, connected.
        jobs: number of simultaneous runs; the workers' number of threads by default.

    Raises:
        CampaignError: the cluster has no workers, or some of another build.
    """

    def __init__(self, client: Any, jobs: int | None = None) -> None:  # noqa: ANN401 - it may not be installed
        self.client = client
        self.jobs = jobs
        self.costs: dict[str, Costs] = {}
        try:
            client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError as error:
            raise CampaignError(
                "the cluster has no workers; start one there: dask worker ADDRESS-OF-THE-SCHEDULER"
            ) from error
        self._refuse_others("")

    def start(self, run: Run, engine: str, progress: Progress) -> Session:
        """Begins a campaign.

        A run function that no worker could import is called in this process.

        Raises:
            CampaignError: a worker is of another build.
        """
        name = worker.name_of(run)
        if name is None:
            progress.say(
                f"{getattr(run, '__qualname__', run)} cannot be imported on workers; it runs in this process"
            )
            return Local(self.jobs).start(run, engine, progress)
        if name:
            self._refuse_others(name)
        return _Batches(self, name, engine, progress)

    def threads(self) -> int:
        """Number of runs that the workers can make simultaneously."""
        return sum(self.client.nthreads().values())

    def _refuse_others(self, name: str) -> None:
        """Checks that all readers of a batch, including the scheduler, are of this build."""
        mine = worker.identity(name)
        replies: dict[str, object] = self.client.run(worker.identity, name, on_error="return")
        others = {f"worker {address}": theirs for address, theirs in replies.items()}
        try:
            others["the scheduler"] = self.client.run_on_scheduler(worker.identity, name)
        except Exception as error:
            others["the scheduler"] = error
        for who, theirs in others.items():
            if isinstance(theirs, BaseException):
                raise CampaignError(f"{who} cannot tell its build ({theirs}); it needs {mine}")
            if theirs != mine:
                raise CampaignError(f"{who} has {theirs}, this machine {mine}: {worker.SAME_BUILD}")


class _Batches:
    """A campaign's runs in batches."""

    def __init__(self, cluster: Cluster, run: str, engine: str, progress: Progress) -> None:
        self._cluster = cluster
        self._client = cluster.client
        self._run = run
        # Estimated costs remain valid for the next campaign if the same function makes the runs.
        self._costs = cluster.costs.setdefault(run, Costs())
        self._engine = engine
        self._identity = worker.identity(run)
        self._progress = progress
        self._waiting: deque[Job] = deque()
        self._sent: dict[str, tuple[Any, list[Job]]] = {}
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._packed: dict[str, Packed] = {}
        self._files: dict[str, Any] = {}
        self._threads = cluster.threads()
        self._looked = self._last_worker = time.monotonic()

    @property
    def under_way(self) -> int:
        return len(self._waiting) + sum(len(jobs) for _, jobs in self._sent.values())

    def submit(self, job: Job) -> None:
        self._waiting.append(job)

    def wait(self, *, block: bool) -> list[Made]:
        self._look()
        self._send()
        made: list[Made] = []
        while not made:
            try:
                future = self._done.get(timeout=_LOOK_S) if block else self._done.get_nowait()
            except Empty:
                if not block:
                    break
                self._look()
            else:
                made = self._take_in(future)
            self._send()
        return made

    def cancel(self) -> None:
        self._waiting.clear()
        unfinished = {key: future for key, (future, _) in self._sent.items() if future.status != "finished"}
        for key in unfinished:
            del self._sent[key]
        self._forget(list(unfinished.values()))

    def close(self, *, abandon: bool = False) -> None:
        futures = [future for future, _ in self._sent.values()]
        self._sent.clear()
        if not abandon:
            self._forget(futures)

    def _forget(self, futures: list[Any]) -> None:
        # A scheduler that has gone has already forgotten them.
        with contextlib.suppress(Exception):
            if futures:
                self._client.cancel(futures, force=True)

    def _send(self) -> None:
        costs = self._costs
        slots = min(self._threads, self._cluster.jobs or self._threads)
        # Before any costs are known, a second batch could be far too long.
        ahead = 1 if self._cluster.jobs or costs.mean_s is None else _AHEAD
        while self._waiting and len(self._sent) < slots * ahead:
            jobs = take(self._waiting, costs, slots)
            for job in jobs:
                self._pack(job)
            scenarios = {job.digest: self._packed[job.digest] for job in jobs}
            plain = tuple(replace(job, scenario=scenarios[job.digest].scenario) for job in jobs)
            batch = Batch(self._identity, self._run, self._engine, plain, scenarios)
            future = self._client.submit(
                worker.work,
                batch,
                [self._files[digest] for digest in batch.files],
                key=f"whimbrel-{uuid.uuid4().hex}",
                pure=False,
            )
            self._sent[future.key] = future, jobs
            future.add_done_callback(self._done.put)

    def _pack(self, job: Job) -> None:
        if job.digest in self._packed:
            return
        self._packed[job.digest], contents = pack(job.scenario)
        for digest, content in contents.items():
            if digest not in self._files:
                # A task rather than scattered data: Dask recomputes it when the worker that holds it dies. It
                # would warn of large tasks, but this one is sent only once.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._files[digest] = self._client.submit(
                        worker.hold, content, key=f"whimbrel-file-{uuid.uuid4().hex}", pure=False
                    )

    def _take_in(self, future: Any) -> list[Made]:  # noqa: ANN401 - a distributed.Future
        if future.key not in self._sent:
            return []
        _, jobs = self._sent[future.key]
        try:
            # If the worker that held it has died meanwhile, this waits until another has recomputed it.
            returned: list[Returned] = future.result()
        except Exception as error:
            if future.status != "error":
                raise self._lost("the connection to its scheduler broke") from error
            del self._sent[future.key]
            return [Made(jobs[0], error=self._explained(error, jobs))]
        del self._sent[future.key]
        made = []
        for job, each in zip(jobs, returned, strict=True):
            if each.error:
                made.append(Made(job, error=WhimbrelError(each.error)))
            else:
                self._costs.learn(job, each.seconds)
                made.append(Made(job, each.content, seconds=each.seconds))
        return made

    def _explained(self, error: BaseException, jobs: list[Job]) -> CampaignError:
        # An optional dependency, which only a cluster needs and which takes a second to import.
        from distributed.scheduler import KilledWorker

        if isinstance(error, CampaignError):
            return error
        runs = f"{jobs[0].case}, seed {jobs[0].seed}"
        if len(jobs) > 1:
            runs += f", or one of {len(jobs) - 1} runs sent with it"
        if isinstance(error, KilledWorker):
            return CampaignError(
                f"{runs}: every worker that tried it died, perhaps for lack of memory ({error})"
            )
        return CampaignError(f"{runs}: {type(error).__name__}: {error}")

    def _look(self) -> None:
        """Detects workers that joined or left."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        if self._client.status != "running":
            raise self._lost("the connection to its scheduler broke")
        try:
            threads = self._cluster.threads()
        except Exception as error:
            raise self._lost(f"its scheduler does not answer ({error})") from error
        if threads:
            self._threads, self._last_worker = threads, now
        elif now - self._last_worker > PATIENCE_S:
            raise self._lost(f"its last worker has gone, and no other came within {PATIENCE_S:g} s")
        elif self._threads:
            self._threads = 0
            self._progress.say(f"the cluster has lost its last worker; waiting {PATIENCE_S:g} s for another")

    def _lost(self, why: str) -> SchedulerLost:
        return SchedulerLost(f"the cluster is lost: {why}")
