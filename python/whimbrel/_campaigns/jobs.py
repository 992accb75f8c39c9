"""One run to be made, and its result: the bytes of its record.

Schedulers move these about. The same code makes a run in this process and on another machine, so the bytes
are the same, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from whimbrel._simulate import record_format
from whimbrel._simulate.result import Result
from whimbrel._simulate.scenario import Scenario
from whimbrel.errors import WhimbrelError

Run: TypeAlias = Callable[[Scenario, int], Result]
"""Scenario and seed to result. Called from several threads at once."""


@dataclass(frozen=True)
class Job:
    """A run to be made.

    Attributes:
        key: name of its record.
        case: displayed: the first case that requires it.
        scenario: to simulate.
        digest: of the scenario.
        seed: of its random numbers.
    """

    key: str
    case: str
    scenario: Scenario
    digest: str
    seed: int


@dataclass(frozen=True)
class Made:
    """The outcome of a job.

    Attributes:
        job: the job.
        content: of its record; empty when it failed.
        result: the same as tables, if available.
        error: reason for the failure.
        seconds: duration of the run.
    """

    job: Job
    content: bytes = b""
    result: Result | None = None
    error: BaseException | None = None
    seconds: float = 0.0


def make(run: Run, engine: str, job: Job, scenario: Scenario | None = None) -> Made:
    """Makes a run. Errors of any kind are returned: the campaign names the run and raises them.

    Args:
        run: function that makes it.
        engine: of the campaign, for the record.
        job: to make.
        scenario: the job's scenario with local copies of its files, if they were sent.
    """
    start = time.perf_counter()
    try:
        result = run(scenario or job.scenario, job.seed)
        seconds = time.perf_counter() - start
        about = {
            "case": job.case,
            "seed": job.seed,
            "engine": engine,
            "scenario": job.scenario.text(),
            "overrides": list(job.scenario.overrides),
        }
        return Made(job, record_format.encode(job.key, result.tables, about), result, seconds=seconds)
    except Exception as error:
        return Made(job, error=error)


def described(error: BaseException) -> str:
    """An error in one line, with its type if the message was not written for users."""
    return str(error) if isinstance(error, WhimbrelError) else f"{type(error).__name__}: {error}"
