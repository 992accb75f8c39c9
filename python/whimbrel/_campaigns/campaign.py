"""Repeated runs until every interval is narrow enough; finished runs are neither lost nor repeated.

A campaign is a list of cases. Each case is simulated with the seeds `seed, seed + 1, ...`, first as often as
the precision requires, then as often as the spread found so far demands. Every finished run is a record on
disk, identified by scenario, seed and build: after a kill, a full disk or Ctrl-C the same command resumes.
The set of runs and the results do not depend on the scheduler, on the order of the runs, or on their number
at a time.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from whimbrel._base import compiled
from whimbrel._campaigns import times
from whimbrel._campaigns.jobs import Job, Made, Run, described
from whimbrel._campaigns.outcomes import Outcome, Outcomes
from whimbrel._campaigns.progress import Progress, Silent
from whimbrel._campaigns.scheduler import Local, Scheduler, Session
from whimbrel._simulate import record_format, simulation
from whimbrel._simulate.records import Records
from whimbrel._simulate.result import Result
from whimbrel._simulate.scenario import Scenario
from whimbrel._values.statistics import FloatArray, Precision
from whimbrel.errors import CampaignError, CampaignInterrupted, RecordError, SchedulerLost

Measure: TypeAlias = Callable[[Result], Mapping[str, float]]
"""The metrics of one result by name; NaN for a metric that the run leaves undefined."""


@dataclass(frozen=True)
class Case:
    """One quantity to measure, with its scenario.

    Attributes:
        name: displayed, and the key of its outcome.
        scenario: to simulate. Cases with equal scenarios share their runs.
        measure: computes the metrics of a run.
        varies: true if runs with other seeds may differ. A case that does not vary is run once.
    """

    name: str
    scenario: Scenario
    measure: Measure
    varies: bool = True


@dataclass
class _Group:
    """The cases of one scenario, and their progress."""

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

    @property
    def varies(self) -> bool:
        return any(case.varies for case in self.cases)

    def wanted(self, precision: Precision) -> int:
        if not self.varies:
            return 1
        return max(precision.repetitions(self.samples(case)) for case in self.cases)


class Campaign:
    """A directory of runs and the means to make more.

    Args:
        directory: of the records.
        run: function that makes a run; the simulator by default. It receives no shared state, releases the
            interpreter lock if it can, and returns the same result for the same scenario and seed.
        engine: identity of the code behind `run`: records of another engine are not used. Required if `run`
            is not the simulator.
        precision: stopping rule of the repetitions.
        seed: of the first repetition; the next has the next.
        jobs: number of simultaneous runs; the number of processors by default.
        scheduler: makes the runs, such as a `whimbrel.cluster.Cluster`; threads by default.
        progress: receives progress reports.
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
        scheduler: Scheduler | None = None,
        progress: Progress | None = None,
    ) -> None:
        if run is not None and engine is None:
            raise CampaignError("a custom run function needs an engine that identifies it")
        self.records = Records(directory)
        self.precision = precision or Precision()
        self.seed = seed
        self._run: Run = run or simulation.run
        self._engine = engine
        self._scheduler = scheduler or Local(jobs)
        self._progress = progress or Silent()

    @property
    def engine(self) -> str:
        """Identity of the code that makes the runs."""
        return compiled.engine() if self._engine is None else self._engine

    def key(self, digest: str, seed: int) -> str:
        """The name of a record: a digest of the scenario's digest, the seed and the engine."""
        return hashlib.sha256(f"{self.engine}\n{digest}\n{seed}".encode()).hexdigest()[:40]

    def execute(self, cases: Sequence[Case]) -> Outcomes:
        """Makes the missing runs and measures all.

        Args:
            cases: with distinct names.

        Returns:
            The outcome of every case by name, in the order of the cases.

        Raises:
            CampaignError: a run failed or could not be stored; runs in progress were finished and kept.
            CampaignInterrupted: Ctrl-C; the same.
        """
        groups = _grouped(cases)
        self.records.sweep_partial()
        session = self._scheduler.start(self._run, self.engine, self._progress)
        execution = _Execution(self, session, self._progress)
        with self._progress:
            try:
                execution.execute(groups)
            except KeyboardInterrupt:
                self._interrupt(execution, session)
                raise CampaignInterrupted(self._kept("interrupted")) from None
            except SchedulerLost as lost:
                session.close(abandon=True)
                raise CampaignError(self._kept(str(lost))) from lost
            except BaseException:
                session.cancel()
                execution.drain()
                session.close()
                if (first := execution.first_error()) is not None:
                    raise first from first.__cause__
                raise
        session.close()
        made = {case.name: self._outcome(group, case) for group in groups for case in group.cases}
        return Outcomes((case.name, made[case.name]) for case in cases)

    def _interrupt(self, execution: _Execution, session: Session) -> None:
        """Keeps finished runs and local runs in progress; another Ctrl-C drops the latter."""
        try:
            session.cancel()
            if session.under_way:
                self._progress.say(
                    f"finishing {session.under_way} runs in progress; press Ctrl-C again to drop them"
                )
            execution.drain()
        except KeyboardInterrupt:
            session.close(abandon=True)
            raise CampaignInterrupted(self._kept("interrupted"), abandoned=True) from None
        session.close()

    def _kept(self, what: str) -> str:
        kept = len(self.records.keys())
        return f"{what}: {self.records.directory} keeps {kept} finished runs; the same command resumes"

    def _outcome(self, group: _Group, case: Case) -> Outcome:
        seeds = tuple(range(self.seed, self.seed + group.planned))
        keys = tuple(self.key(group.digest, seed) for seed in seeds)
        return Outcome(seeds, keys, group.samples(case))


@dataclass(frozen=True)
class _Place:
    """The place of a run: a repetition of a group."""

    group: _Group
    position: int


class _Execution:
    """One execution of a campaign: the runs in progress, and the ones waiting to be read from the disk."""

    def __init__(self, campaign: Campaign, session: Session, progress: Progress) -> None:
        self._campaign = campaign
        self._records = campaign.records
        self._session = session
        self._progress = progress
        self._on_disk = set(campaign.records.keys())
        self._found: deque[Job] = deque()
        self._places: dict[str, _Place] = {}
        self._errors: dict[str, CampaignError] = {}

    def execute(self, groups: Sequence[_Group]) -> None:
        """Makes or reads every run that the precision requires, and measures it."""
        for group in groups:
            self._plan(group, self._campaign.precision.n_base if group.varies else 1)
        while self._found or self._session.under_way:
            # Results are stored first: the scheduler should never wait for a measurement.
            for made in self._session.wait(block=not self._found):
                if (result := self._keep(made)) is not None:
                    self._measure(made.job, result)
            if self._found:
                self._read(self._found.popleft())
            if self._errors:
                raise next(iter(self._errors.values()))

    def drain(self) -> None:
        """Keeps the runs that are still in progress, as far as the scheduler reports them."""
        with contextlib.suppress(SchedulerLost):
            while self._session.under_way:
                for made in self._session.wait(block=True):
                    self._keep(made)

    def first_error(self) -> CampaignError | None:
        """The error of the first planned run that failed, which need not be the first failure observed."""
        return next((self._errors[key] for key in self._places if key in self._errors), None)

    def _plan(self, group: _Group, repetitions: int) -> None:
        for position in range(group.planned, repetitions):
            seed = self._campaign.seed + position
            key = self._campaign.key(group.digest, seed)
            self._places[key] = _Place(group, position)
            job = Job(key, group.cases[0].name, group.scenario, group.digest, seed)
            if key in self._on_disk:
                self._found.append(job)
            else:
                self._session.submit(job)
        self._progress.add(repetitions - group.planned)
        group.planned = repetitions

    def _read(self, job: Job) -> None:
        """Takes a run from its record, or schedules it again."""
        try:
            result = self._records.load(job.key)
        except RecordError as error:
            self._progress.say(f"{error}; it is repeated")
            result = None
        if result is None:
            self._session.submit(job)
        else:
            self._measure(job, result)

    def _keep(self, made: Made) -> Result | None:
        """Writes the record of a new run; an error is noted instead."""
        if made.error is not None:
            self._note(made.job, made.error)
            return None
        try:
            # Bytes from another machine are decoded before they are written: they may have been damaged in
            # transit.
            result = made.result or Result(record_format.decode(made.content, made.job.key))
            self._records.save(made.job.key, made.content)
            times.note(self._records.directory, made.job.key, made.seconds)
        except Exception as error:  # any error is reported with its run
            self._note(made.job, error)
            return None
        return result

    def _measure(self, job: Job, result: Result) -> None:
        place = self._places[job.key]
        group = place.group
        try:
            group.metrics[place.position] = {case.name: dict(case.measure(result)) for case in group.cases}
            self._progress.advance()
            if not group.is_waiting and (wanted := group.wanted(self._campaign.precision)) > group.planned:
                self._plan(group, wanted)
        except Exception as error:
            self._note(job, error)

    def _note(self, job: Job, error: BaseException) -> None:
        if not isinstance(error, CampaignError):
            # The first case identifies the scenario well enough for a search.
            named = CampaignError(f"{job.case}, seed {job.seed}: {described(error)}")
            named.__cause__ = error
            error = named
        self._errors[job.key] = error


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
