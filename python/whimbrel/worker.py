"""What a cluster's worker does: a batch of runs in, the bytes of their records out.

Nothing here knows who sent the batch. A worker writes no records and needs no file system in common with
anybody; it must only be the same Whimbrel.
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

from whimbrel import simulation
from whimbrel.errors import CampaignError
from whimbrel.jobs import Job, Run, described, make
from whimbrel.travel import Packed, unpack


@dataclass(frozen=True)
class Batch:
    """Runs to make, one after the other.

    Attributes:
        identity: what the worker must be, as `identity` says it.
        run: name of the run function, as `name_of` gives it; empty for the simulator.
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
        """Digests of all files that the scenarios name, without repetition."""
        return sorted({file.digest for packed in self.scenarios.values() for file in packed.files})


@dataclass(frozen=True)
class Returned:
    """What became of a run.

    Attributes:
        content: of its record; empty when it failed.
        error: why it failed.
        seconds: that it took.
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
        importable = module != "__main__" and getattr(importlib.import_module(module), name, None) is run
    except ImportError:
        importable = False
    return f"{module}:{name}" if importable else None


def identity(run: str) -> str:
    """What must be the same on both ends for the bytes of a record to be the same.

    Args:
        run: as from `name_of`.
    """
    engine = _own_engine(run) if run else simulation.engine()
    return f"whimbrel {engine} with zlib {zlib.ZLIB_RUNTIME_VERSION}"


def hold(content: bytes) -> bytes:
    """Keeps a file's content where runs need it: sent once, copied from worker to worker."""
    return content


def work(batch: Batch, contents: Sequence[bytes]) -> list[Returned]:
    """Makes the runs of a batch.

    Args:
        batch: what to make.
        contents: of its files, in the order of `Batch.files`.

    Returns:
        What became of each run, in order.

    Raises:
        CampaignError: this worker is not what the batch asks for.
    """
    if (mine := identity(batch.run)) != batch.identity:
        raise CampaignError(
            f"a worker that joined later has {mine}, this machine {batch.identity}: {SAME_BUILD}"
        )
    run = _function(batch.run)
    with tempfile.TemporaryDirectory(prefix="whimbrel-") as directory:
        files = dict(zip(batch.files, contents, strict=True))
        # Where scenarios name no files nothing is found either, whatever the worker's own directory holds.
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
    return simulation.engine_of(_function(name))
