"""The interface to the simulator: one run in, one result out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whimbrel._base import compiled
from whimbrel._simulate.result import Result
from whimbrel._simulate.scenario import Scenario
from whimbrel.errors import ScenarioError


def run(
    scenario: Scenario | Mapping[str, Any] | Path | str,
    seed: int = 1,
    *,
    overrides: Sequence[str] = (),
    packets: bool = False,
) -> Result:
    """Simulates a scenario.

    Args:
        scenario: the name of a TOML file, or its tables as a dict.
        seed: of the random numbers; the same seed produces the same result on every machine.
        overrides: changes to the scenario, `key=value` each, such as `"link.bottleneck.rate=2 Mbit/s"`.
        packets: record a row per packet even if the scenario does not request it.

    Raises:
        ScenarioError: the scenario is invalid; the message states what was expected.
    """
    given = Scenario.of(scenario).changed(*overrides)
    try:
        tables = compiled.core().run(
            given.whole_text(), seed, list(given.overrides), packets, str(given.base)
        )
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    return Result(tables)


@dataclass(frozen=True)
class Examined:
    """Properties of a scenario that are known without running it.

    Attributes:
        flows: names of its flows.
        background: names of the flows that are background traffic.
        metrics: the numeric columns of the table `flows`.
        is_random: true if runs with different seeds may differ.
        fixed_recordings: keys of recordings of links that every run meets from their beginning.
    """

    flows: tuple[str, ...]
    background: frozenset[str]
    metrics: tuple[str, ...]
    is_random: bool
    fixed_recordings: tuple[str, ...] = ()

    @property
    def compared(self) -> tuple[str, ...]:
        """The flows that are not background traffic."""
        return tuple(flow for flow in self.flows if flow not in self.background)


def examine(scenario: Scenario, *, case: bool = False) -> Examined:
    """Checks a scenario as `run` does before it runs it, and the values of its `[sweep]`.

    Args:
        scenario: the scenario.
        case: it is one of the combinations of a sweep, whose other values do not matter.

    Raises:
        ScenarioError: it is invalid; the message states what was expected.
    """
    try:
        found = compiled.core().examine(
            scenario.whole_text(), list(scenario.overrides), str(scenario.base), case
        )
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    flows = tuple(found["flows"])
    scenery = frozenset(flow for flow, back in zip(flows, found["background"], strict=True) if back)
    metrics, fixed = tuple(found["metrics"]), tuple(found["fixed_recordings"])
    return Examined(flows, scenery, metrics, bool(found["is_random"]), fixed)
