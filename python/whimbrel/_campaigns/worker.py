"""A cluster's worker: receives a batch of runs and returns the bytes of their records.

This module does not know the sender of the batch. A worker writes no records and needs no shared file system;
it must only be the same build of Whimbrel.
"""

from __future__ import annotations

import functools
import importlib
import tempfile
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whimbrel._base import compiled, paper_folders
from whimbrel._campaigns.engine import engine_of
from whimbrel._campaigns.jobs import Job, Run, described, make
from whimbrel._campaigns.travel import Packed, unpack
from whimbrel._simulate import simulation
from whimbrel.errors import CampaignError


@dataclass(frozen=True)
class Batch:
    """Runs to make, one after the other.

    Attributes:
        identity: required of the worker, as from `identity`.
        run: name of the run function, as from `name_of`; empty for the simulator.
        engine: of the campaign, for the records.
        jobs: the runs.
        scenarios: the jobs' scenarios with their files, by the scenario's digest.
    """

    identity: str
    run: str
    engine: str
    jobs: tuple[Job, ...]
    scenarios: Mapping[str, Packed]

    @property
    def files(self) -> list[str]:
        """Digests of all files of the scenarios, without duplicates."""
        return sorted({file.digest for packed in self.scenarios.values() for file in packed.files})


@dataclass(frozen=True)
class Returned:
    """The outcome of a run.

    Attributes:
        content: of its record; empty when it failed.
        error: reason for the failure.
        seconds: its duration.
    """

    content: bytes
    error: str
    seconds: float


def name_of(run: Run) -> str | None:
    """`MODULE:FUNCTION` of a function that can be imported, empty of the simulator, None of any other."""
    if run is simulation.run:
        return ""
    module, name = getattr(run, "__module__", "__main__"), getattr(run, "__qualname__", "")
    try:
        importable = (
            module != "__main__"
            and paper_folders.is_installed(module)
            and getattr(importlib.import_module(module), name, None) is run
        )
    except ImportError:
        importable = False
    return f"{module}:{name}" if importable else None


def identity(run: str) -> str:
    """Identity that must agree on both ends for a record to have the same bytes.

    Args:
        run: as from `name_of`.
    """
    engine = _own_engine(run) if run else compiled.engine()
    return f"whimbrel {engine} with zlib {zlib.ZLIB_RUNTIME_VERSION}"


def hold(content: bytes) -> bytes:
    """Holds a file's content on a worker: sent once, copied from worker to worker."""
    return content


def work(batch: Batch, contents: Sequence[bytes]) -> list[Returned]:
    """Makes the runs of a batch.

    Args:
        batch: runs to make.
        contents: of its files, in the order of `Batch.files`.

    Returns:
        The outcome of each run, in order.

    Raises:
        CampaignError: this worker is of another build than the batch requires.
    """
    if (mine := identity(batch.run)) != batch.identity:
        raise CampaignError(
            f"a worker that joined later has {mine}, this machine {batch.identity}: {SAME_BUILD}"
        )
    run = _function(batch.run)
    with tempfile.TemporaryDirectory(prefix="whimbrel-") as directory:
        files = dict(zip(batch.files, contents, strict=True))
        # Scenarios without files find none, not even in the worker's own directory.
        scenarios = {
            digest: unpack(packed, files, Path(directory)) for digest, packed in batch.scenarios.items()
        }
        returned = []
        for job in batch.jobs:
            start = time.perf_counter()
            made = make(run, batch.engine, job, scenarios[job.digest])
            error = "" if made.error is None else described(made.error)
            returned.append(Returned(made.content, error, time.perf_counter() - start))
    return returned


SAME_BUILD = "install the same build on both"


def _function(name: str) -> Run:
    if not name:
        return simulation.run
    module, _, function = name.partition(":")
    run: Run = getattr(importlib.import_module(module), function)
    return run


@functools.cache
def _own_engine(name: str) -> str:
    return engine_of(_function(name))
