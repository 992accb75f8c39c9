"""The interface to the simulator: one run in, one result out."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from whimbrel.errors import MissingExtra, ScenarioError, WhimbrelError
from whimbrel.result import Result
from whimbrel.scenario import Scenario


@functools.cache
def core() -> ModuleType:
    """The compiled extension.

    Raises:
        WhimbrelError: it is not installed, as in an unbuilt source tree.
    """
    try:
        return importlib.import_module("whimbrel._core")
    except ImportError as error:
        raise WhimbrelError(
            f"the compiled part of whimbrel is missing ({error}): build it with `maturin develop --release`"
        ) from error


def version() -> str:
    """The installed version; `0+source` in an unbuilt source tree."""
    try:
        return metadata.version("whimbrel")
    except metadata.PackageNotFoundError:
        return "0+source"


@functools.cache
def engine() -> str:
    """Version and SHA-256 of the extension, which determine a run's outcome besides scenario and seed.

    Runs of another build are never reused.
    """
    file = core().__file__
    content = Path(file).read_bytes() if file else b""
    return f"{version()}+{hashlib.sha256(content).hexdigest()[:16]}"


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
        tables = core().run(given.whole_text(), seed, list(given.overrides), packets, str(given.base))
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    return Result(tables)


@dataclass(frozen=True)
class Examined:
    """Properties of a scenario that are known without running it.

    Attributes:
        flows: names of its flows.
        background: those of them that are background traffic.
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
        found = core().examine(scenario.whole_text(), list(scenario.overrides), str(scenario.base), case)
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    flows = tuple(found["flows"])
    scenery = frozenset(flow for flow, back in zip(flows, found["background"], strict=True) if back)
    metrics, fixed = tuple(found["metrics"]), tuple(found["fixed_recordings"])
    return Examined(flows, scenery, metrics, bool(found["is_random"]), fixed)


def engine_of(function: Callable[..., Any]) -> str:
    """Identity of a custom run function: Whimbrel as a whole, and the function's file.

    Decoding and scoring are written in Python, so every Python file of the package counts, and the ffmpeg in
    use.
    """
    from whimbrel.quality import ffmpeg

    digest = hashlib.sha256()
    # A function that decodes reports the missing extra itself.
    with contextlib.suppress(MissingExtra):
        digest.update(ffmpeg.version().encode())
    package = Path(__file__).parent
    own = inspect.getsourcefile(function)
    files = sorted(path for path in package.rglob("*.py") if "papers" not in path.relative_to(package).parts)
    for path in [*files, *([Path(own)] if own else [])]:
        digest.update(path.read_bytes())
    return f"{engine()}+{digest.hexdigest()[:16]}"
