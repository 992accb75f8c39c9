"""Batching of runs: batches large enough to be cheap to send, and small enough to keep all workers busy.

Sending a batch to another machine and receiving its results costs some milliseconds, as much as a short run.
So runs are sent in batches of about `LONGEST_S` of work. Towards the end batches become smaller, so that no
worker waits long for the last of them. The cost of a run is estimated from finished runs: of the same
scenario, or else of all, in proportion to simulated time times flows.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from whimbrel._campaigns.jobs import Job
from whimbrel._simulate.scenario import Scenario, override_value

LONGEST_S = 2.0
"""Work in a regular batch: the loss caused by a killed worker or Ctrl-C."""

SHORTEST_S = 0.25
"""Work in a batch at the end; sending it costs 5 % at most while sending takes less than 12 ms."""

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


class Costs:
    """Costs of runs, as far as they are known."""

    def __init__(self) -> None:
        self._by_scenario: dict[str, tuple[float, int]] = {}
        self._sizes: dict[str, float] = {}
        self._seconds = 0.0
        self._size = 0.0
        self._runs = 0

    @property
    def mean_s(self) -> float | None:
        """Seconds of a run, over all finished runs; None before the first."""
        return self._seconds / self._runs if self._runs else None

    def learn(self, job: Job, seconds: float) -> None:
        """Records the duration of a finished run."""
        total, runs = self._by_scenario.get(job.digest, (0.0, 0))
        self._by_scenario[job.digest] = total + seconds, runs + 1
        self._seconds += seconds
        self._size += self._size_of(job)
        self._runs += 1

    def estimate_s(self, job: Job) -> float | None:
        """Estimated seconds of a run; None before any was finished."""
        if job.digest in self._by_scenario:
            total, runs = self._by_scenario[job.digest]
            return total / runs
        return self._seconds / self._size * self._size_of(job) if self._runs else None

    def _size_of(self, job: Job) -> float:
        if job.digest not in self._sizes:
            self._sizes[job.digest] = size(job.scenario)
        return self._sizes[job.digest]


def take(waiting: deque[Job], costs: Costs, slots: int) -> list[Job]:
    """Takes the next batch from the waiting jobs.

    Args:
        waiting: at least one.
        costs: their estimated costs.
        slots: number of runs that can be made simultaneously.

    Returns:
        One job while no costs are known; then jobs of `SHORTEST_S` to `LONGEST_S` together, or one longer
        one.
    """
    batch = [waiting.popleft()]
    work = costs.estimate_s(batch[0])
    mean = costs.mean_s
    if work is None or mean is None:
        return batch
    # Half of an equal share: the other half compensates for errors of the estimates.
    share = len(waiting) * mean / (2 * slots)
    budget = min(max(share, SHORTEST_S), LONGEST_S)
    while waiting and work + (more := costs.estimate_s(waiting[0]) or 0.0) <= budget:
        batch.append(waiting.popleft())
        work += more
    return batch


def size(scenario: Scenario) -> float:
    """Simulated seconds times flows, as far as they can be read without the simulator; otherwise 1."""
    document: dict[str, Any] = dict(scenario.document)
    changes = {each.partition("=")[0].strip(): override_value(each) for each in scenario.overrides}
    simulation, variables = document.get("simulation"), document.get("variables")
    known: dict[str, Any] = {
        **(variables if isinstance(variables, Mapping) else {}),
        **{key.removeprefix("variables."): value for key, value in changes.items()},
    }

    def meant(value: Any) -> Any:  # noqa: ANN401 - any TOML value
        return known.get(value[1:]) if isinstance(value, str) and value.startswith("$") else value

    written = simulation.get("duration") if isinstance(simulation, Mapping) else None
    seconds = _seconds(meant(changes.get("simulation.duration", written)))
    flows = 0.0
    for flow in document.get("flow", ()) if isinstance(document.get("flow"), list) else ():
        count = changes.get(f"flow.{flow.get('name')}.count", flow.get("count", 1))
        count = meant(count)
        flows += count if isinstance(count, int) and count > 0 else 1
    return (seconds or 1.0) * (flows or 1.0)


def _seconds(text: Any) -> float | None:  # noqa: ANN401 - any TOML value
    found = (
        re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-z]+)\s*", text) if isinstance(text, str) else None
    )
    if found is None or found[2] not in _UNITS:
        return None
    try:
        return float(found[1]) * _UNITS[found[2]]
    except ValueError:
        return None
