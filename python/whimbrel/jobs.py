"""One run to be made, and what making it leaves: the bytes of its record.

This is what a scheduler moves about. It is the same code that makes a run in this process and on another
machine, so that the bytes are the same, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from whimbrel import records
from whimbrel.errors import WhimbrelError
from whimbrel.result import Result
from whimbrel.scenario import Scenario

Run: TypeAlias = Callable[[Scenario, int], Result]
"""Scenario and seed to result. Called from several threads at once."""


@dataclass(frozen=True)
class Job:
    """A run to be made.

    Attributes:
        key: name of its record.
        case: for people: the first case that asks for it.
        scenario: what to simulate.
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
    """What became of a job.

    Attributes:
        job: the one.
        content: of its record; empty when it failed.
        result: the same as tables, where they are at hand.
        error: why it failed.
    """

    job: Job
    content: bytes = b""
    result: Result | None = None
    error: BaseException | None = None


def make(run: Run, engine: str, job: Job, scenario: Scenario | None = None) -> Made:
    """Makes a run. An error of any kind is a part of the answer: the campaign names the run and raises it.

    Args:
        run: what makes it.
        engine: of the campaign, for the record.
        job: what to make.
        scenario: the job's scenario with its files where they are here, when they are elsewhere.
    """
    try:
        result = run(scenario or job.scenario, job.seed)
        about = {
            "case": job.case,
            "seed": job.seed,
            "engine": engine,
            "scenario": job.scenario.text(),
            "overrides": list(job.scenario.overrides),
        }
        return Made(job, records.encode(job.key, result, about), result)
    except Exception as error:
        return Made(job, error=error)


def described(error: BaseException) -> str:
    """An error in one line; its kind, too, where its message was not written for the reader."""
    return str(error) if isinstance(error, WhimbrelError) else f"{type(error).__name__}: {error}"
