"""Many runs, until every interval is tight enough; nothing that finished is lost or made twice.

A campaign is a list of cases. Each case is simulated with the seeds `seed, seed + 1, ...`, first as often as
the precision asks for, then as often as the spread found so far demands. Every finished run is a record on
disk, found again by scenario, seed and build: after a kill, a full disk or Ctrl-C the same command carries
on where it stopped. Which runs are made, and what comes out, does not depend on the number of jobs.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from whimbrel import simulation
from whimbrel.errors import CampaignError, CampaignInterrupted, RecordError, WhimbrelError
from whimbrel.progress import Progress, Silent
from whimbrel.records import Records
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.statistics import FloatArray, Interval, Precision, defined, student_interval

Run: TypeAlias = Callable[[Scenario, int], Result]
"""Scenario and seed to result. Called from several threads at once."""

Measure: TypeAlias = Callable[[Result], Mapping[str, float]]
"""The metrics of one result by name; NaN for one that the run leaves undefined."""


@dataclass(frozen=True)
class Case:
    """One thing to find out.

    Attributes:
        name: for people, and the key of its outcome.
        scenario: what to simulate. Cases with equal scenarios share their runs.
        measure: what to read off each run.
    """

    name: str
    scenario: Scenario
    measure: Measure


@dataclass(frozen=True)
class Outcome:
    """What the repetitions of a case gave.

    Attributes:
        seeds: in the order of the repetitions.
        keys: of the records, in the same order.
        values: metric to one value per repetition; NaN where the run left it undefined.
    """

    seeds: tuple[int, ...]
    keys: tuple[str, ...]
    values: Mapping[str, FloatArray]

    def interval(self, metric: str, confidence: float = 0.95) -> Interval | None:
        """Mean and Student's t interval over the repetitions that define the metric; None without any."""
        sample = defined(self.values[metric])
        return student_interval(sample, confidence) if sample.size else None


@dataclass
class _Group:
    """The cases of one scenario, and how far they are."""

    scenario: Scenario
    digest: str
    cases: list[Case] = field(default_factory=list)
    planned: int = 0
    metrics: dict[int, dict[str, Mapping[str, float]]] = field(default_factory=dict)

    @property
    def is_waiting(self) -> bool:
        return len(self.metrics) < self.planned

    def samples(self, case: Case) -> dict[str, FloatArray]:
        rows = [self.metrics[position][case.name] for position in range(self.planned)]
        names = {frozenset(row) for row in rows}
        if len(names) != 1:
            raise CampaignError(f"{case.name} measures other metrics from run to run: {sorted(rows[0])}")
        return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}

    def wanted(self, precision: Precision) -> int:
        return max(precision.repetitions(self.samples(case)) for case in self.cases)


class Campaign:
    """A directory of runs and the means to make more.

    Args:
        directory: where the records are kept.
        run: what makes a run; the simulator unless told otherwise. It is given no shared state, lets go
            of the interpreter lock where it can, and returns the same result for the same scenario and seed.
        engine: what identifies the code behind `run`: records of another engine are not used. Must be given
            with another `run` than the simulator.
        precision: when the repetitions are enough.
        seed: of the first repetition; the next has the next.
        jobs: runs at a time; the number of processors unless told otherwise.
        executor: makes the runs elsewhere, such as `dask.distributed`'s; `run` must be importable there.
        progress: told what happens.
    """

    def __init__(
        self,
        directory: Path,
        *,
        run: Run | None = None,
        engine: str | None = None,
        precision: Precision | None = None,
        seed: int = 1,
        jobs: int | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> None:
        if run is not None and engine is None:
            raise CampaignError("a run function of one's own needs an engine that identifies it")
        self.records = Records(directory)
        self.precision = precision or Precision()
        self.seed = seed
        self.jobs = jobs or available_processors()
        self._run: Run = run or simulation.run
        self._engine = engine
        self._executor = executor
        self._progress = progress or Silent()

    @property
    def engine(self) -> str:
        """What identifies the code that makes the runs."""
        return simulation.engine() if self._engine is None else self._engine

    def key(self, digest: str, seed: int) -> str:
        """The name of a record: a digest of the scenario's digest, the seed and the engine."""
        return hashlib.sha256(f"{self.engine}\n{digest}\n{seed}".encode()).hexdigest()[:40]

    def execute(self, cases: Sequence[Case]) -> dict[str, Outcome]:
        """Makes the runs that are missing and measures all.

        Args:
            cases: with names of their own.

        Returns:
            The outcome of every case by name, in the order of the cases.

        Raises:
            CampaignError: a run failed or could not be stored; runs under way were finished and kept.
            CampaignInterrupted: Ctrl-C; the same.
        """
        groups = _grouped(cases)
        self.records.sweep_partial()
        pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="whimbrel")
        pending: dict[Future[dict[str, Mapping[str, float]]], tuple[_Group, int]] = {}

        def plan(group: _Group, repetitions: int) -> None:
            for position in range(group.planned, repetitions):
                future = pool.submit(self._one, group, self.seed + position)
                pending[future] = (group, position)
            self._progress.add(repetitions - group.planned)
            group.planned = repetitions

        with self._progress:
            try:
                for group in groups:
                    plan(group, self.precision.n_base)
                while pending:
                    done = wait(pending, return_when=FIRST_COMPLETED).done
                    for future in [future for future in pending if future in done]:
                        group, position = pending[future]
                        group.metrics[position] = future.result()
                        del pending[future]
                        self._progress.advance()
                        if not group.is_waiting and (wanted := group.wanted(self.precision)) > group.planned:
                            plan(group, wanted)
            except KeyboardInterrupt:
                self._stop(pool, pending)
                raise CampaignInterrupted(self._kept("interrupted")) from None
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                _raise_first(pending)
                raise
        pool.shutdown()
        return {case.name: self._outcome(group, case) for group in groups for case in group.cases}

    def _stop(
        self, pool: ThreadPoolExecutor, pending: Mapping[Future[dict[str, Mapping[str, float]]], object]
    ) -> None:
        """Lets the runs under way finish; another Ctrl-C drops them."""
        for future in pending:
            future.cancel()
        under_way = sum(not future.done() for future in pending)
        if under_way:
            self._progress.say(f"finishing {under_way} runs under way; press Ctrl-C again to drop them")
        try:
            wait([future for future in pending if not future.cancelled()])
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise CampaignInterrupted(self._kept("interrupted"), abandoned=True) from None
        pool.shutdown()

    def _kept(self, what: str) -> str:
        kept = len(self.records.keys())
        return f"{what}: {self.records.directory} keeps {kept} finished runs; the same command carries on"

    def _one(self, group: _Group, seed: int) -> dict[str, Mapping[str, float]]:
        """One run of a group, from its record or made now, and what its cases measure."""
        try:
            result = self._result(group, seed)
            return {case.name: dict(case.measure(result)) for case in group.cases}
        except CampaignError:
            raise
        except Exception as error:
            # The first case names the scenario well enough for a search.
            raise CampaignError(f"{group.cases[0].name}, seed {seed}: {_described(error)}") from error

    def _result(self, group: _Group, seed: int) -> Result:
        key = self.key(group.digest, seed)
        try:
            found = self.records.load(key)
        except RecordError as error:
            self._progress.say(f"{error}; it is made again")
            found = None
        if found is not None:
            return found
        if self._executor is None:
            result = self._run(group.scenario, seed)
        else:
            result = self._executor.submit(self._run, group.scenario, seed).result()
        about = {
            "case": group.cases[0].name,
            "seed": seed,
            "engine": self.engine,
            "scenario": group.scenario.text(),
            "overrides": list(group.scenario.overrides),
        }
        self.records.save(key, result, about)
        return result

    def _outcome(self, group: _Group, case: Case) -> Outcome:
        seeds = tuple(range(self.seed, self.seed + group.planned))
        keys = tuple(self.key(group.digest, seed) for seed in seeds)
        return Outcome(seeds, keys, group.samples(case))


def available_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _grouped(cases: Sequence[Case]) -> list[_Group]:
    groups: dict[str, _Group] = {}
    names: set[str] = set()
    for case in cases:
        if case.name in names:
            raise CampaignError(f"two cases are called {case.name!r}")
        names.add(case.name)
        digest = case.scenario.digest()
        groups.setdefault(digest, _Group(case.scenario, digest)).cases.append(case)
    return list(groups.values())


def _raise_first(futures: Iterable[Future[dict[str, Mapping[str, float]]]]) -> None:
    """Raises what the first of them failed of, whichever of them was seen to fail first."""
    for future in futures:
        if not future.cancelled() and (error := future.exception()) is not None:
            raise error


def _described(error: Exception) -> str:
    return str(error) if isinstance(error, WhimbrelError) else f"{type(error).__name__}: {error}"
