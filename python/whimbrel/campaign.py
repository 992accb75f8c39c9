"""Many runs, until every interval is tight enough; nothing that finished is lost or made twice.

A campaign is a list of cases. Each case is simulated with the seeds `seed, seed + 1, ...`, first as often as
the precision asks for, then as often as the spread found so far demands. Every finished run is a record on
disk, found again by scenario, seed and build: after a kill, a full disk or Ctrl-C the same command carries
on where it stopped. Which runs are made, and what comes out, does not depend on who makes them, in which
order, or how many at a time.
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

from whimbrel import records, simulation
from whimbrel.errors import CampaignError, CampaignInterrupted, RecordError, SchedulerLost
from whimbrel.jobs import Job, Made, Run, described
from whimbrel.progress import Progress, Silent
from whimbrel.records import Records
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.scheduler import Local, Scheduler, Session
from whimbrel.statistics import FloatArray, Interval, Precision, defined, student_interval

Measure: TypeAlias = Callable[[Result], Mapping[str, float]]
"""The metrics of one result by name; NaN for one that the run leaves undefined."""


@dataclass(frozen=True)
class Case:
    """One thing to find out.

    Attributes:
        name: for people, and the key of its outcome.
        scenario: what to simulate. Cases with equal scenarios share their runs.
        measure: what to read off each run.
        varies: whether runs with other seeds may differ. One that does not vary is made once.
    """

    name: str
    scenario: Scenario
    measure: Measure
    varies: bool = True


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
        directory: where the records are kept.
        run: what makes a run; the simulator unless told otherwise. It is given no shared state, lets go
            of the interpreter lock where it can, and returns the same result for the same scenario and seed.
        engine: what identifies the code behind `run`: records of another engine are not used. Must be given
            with another `run` than the simulator.
        precision: when the repetitions are enough.
        seed: of the first repetition; the next has the next.
        jobs: runs at a time; the number of processors unless told otherwise.
        scheduler: who makes the runs, such as a `whimbrel.cluster.Cluster`; threads unless told otherwise.
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
        scheduler: Scheduler | None = None,
        progress: Progress | None = None,
    ) -> None:
        if run is not None and engine is None:
            raise CampaignError("a run function of one's own needs an engine that identifies it")
        self.records = Records(directory)
        self.precision = precision or Precision()
        self.seed = seed
        self._run: Run = run or simulation.run
        self._engine = engine
        self._scheduler = scheduler or Local(jobs)
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
        return {case.name: self._outcome(group, case) for group in groups for case in group.cases}

    def _interrupt(self, execution: _Execution, session: Session) -> None:
        """Keeps what is finished, and what is under way here; another Ctrl-C drops that."""
        try:
            session.cancel()
            if session.under_way:
                self._progress.say(
                    f"finishing {session.under_way} runs under way; press Ctrl-C again to drop them"
                )
            execution.drain()
        except KeyboardInterrupt:
            session.close(abandon=True)
            raise CampaignInterrupted(self._kept("interrupted"), abandoned=True) from None
        session.close()

    def _kept(self, what: str) -> str:
        kept = len(self.records.keys())
        return f"{what}: {self.records.directory} keeps {kept} finished runs; the same command carries on"

    def _outcome(self, group: _Group, case: Case) -> Outcome:
        seeds = tuple(range(self.seed, self.seed + group.planned))
        keys = tuple(self.key(group.digest, seed) for seed in seeds)
        return Outcome(seeds, keys, group.samples(case))


@dataclass(frozen=True)
class _Place:
    """Where a run belongs: a repetition of a group."""

    group: _Group
    position: int


class _Execution:
    """One execution of a campaign: which runs are being made, and which wait on the disk to be read."""

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
        """Makes or reads every run that the precision asks for, and measures it."""
        for group in groups:
            self._plan(group, self._campaign.precision.n_base if group.varies else 1)
        while self._found or self._session.under_way:
            # What is made is kept first: those who make runs should never wait for this.
            for made in self._session.wait(block=not self._found):
                if (result := self._keep(made)) is not None:
                    self._measure(made.job, result)
            if self._found:
                self._read(self._found.popleft())
            if self._errors:
                raise next(iter(self._errors.values()))

    def drain(self) -> None:
        """Keeps the runs that are still under way, as far as somebody tells of them."""
        with contextlib.suppress(SchedulerLost):
            while self._session.under_way:
                for made in self._session.wait(block=True):
                    self._keep(made)

    def first_error(self) -> CampaignError | None:
        """What the first of the planned runs failed of, whichever of them was seen to fail first."""
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
        """Takes a run from its record, or has it made again."""
        try:
            result = self._records.load(job.key)
        except RecordError as error:
            self._progress.say(f"{error}; it is made again")
            result = None
        if result is None:
            self._session.submit(job)
        else:
            self._measure(job, result)

    def _keep(self, made: Made) -> Result | None:
        """Writes the record of a run that was made now; an error is noted instead."""
        if made.error is not None:
            self._note(made.job, made.error)
            return None
        try:
            # Bytes from elsewhere are read before they are written: they may have suffered on the way.
            result = made.result or records.decode(made.content, made.job.key)
            self._records.save(made.job.key, made.content)
        except Exception as error:  # whatever it is, it names its run
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
            # The first case names the scenario well enough for a search.
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
