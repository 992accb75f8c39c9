"""Senders written in Python: the simulator in steps.

A flow with `media = { controller = "external" }` has no law of its own. `drive` asks objects with a method
`on_feedback` for the rates of such flows. `whimbrel.Environment` has the same as an environment of gymnasium.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whimbrel._base import compiled
from whimbrel._simulate.result import Result
from whimbrel._simulate.scenario import Scenario
from whimbrel.errors import ScenarioError, UsageError

STEP_S = 0.05
"""Time between decisions: that between the receiver's reports."""


@dataclass(frozen=True, eq=False)
class Feedback:
    """The packets of a flow that the receiver reported since the last decision.

    Attributes:
        now_s: the simulated time.
        step_s: time since the last decision.
        rate: the rate in bit/s that was allowed meanwhile.
        rtt_s: the latest round-trip time; NaN before the first.
        sequence: of each packet, in the order of the reports.
        sent_s: time of sending.
        received_s: arrival time, in units of 1/1024 s as reported (RFC 8888); NaN if it was reported missing.
        size: bytes with headers.
        is_marked: true if a router marked the packet.
    """

    now_s: float
    step_s: float
    rate: float
    rtt_s: float
    sequence: NDArray[np.uint64]
    sent_s: NDArray[np.float64]
    received_s: NDArray[np.float64]
    size: NDArray[np.uint64]
    is_marked: NDArray[np.bool_]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Feedback):
            return NotImplemented
        pairs = zip(astuple(self), astuple(other), strict=True)
        return all(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f") for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    @property
    def has_arrived(self) -> NDArray[np.bool_]:
        """True for the packets that arrived."""
        return ~np.isnan(self.received_s)

    @property
    def delivery_rate(self) -> float:
        """Bits of the packets that arrived, per second of the step."""
        return float(self.size[self.has_arrived].sum()) * 8 / self.step_s

    @property
    def loss_rate(self) -> float:
        """Share of the packets reported that are missing; 0 without a report."""
        return 1 - float(self.has_arrived.mean()) if self.size.size else 0.0

    @property
    def delay_s(self) -> float:
        """Mean one-way delay of the packets that arrived, on simulated clocks; NaN if none did."""
        delays = (self.received_s - self.sent_s)[self.has_arrived]
        return float(delays.mean()) if delays.size else math.nan


class Controller(Protocol):
    """A law of congestion control."""

    def on_feedback(self, feedback: Feedback, /) -> float:
        """The rate in bit/s, headers included, until the next call."""


class Stepper:
    """A simulation in steps.

    Args:
        scenario: as for `whimbrel.run`.
        seed: as for `whimbrel.run`.
        overrides: as for `whimbrel.run`.
        replay_frames: frames on the air of each medium that `replay_page` shows; None records no replay.

    Raises:
        ScenarioError: the scenario is invalid, or no flow has the controller `external` and no replay is
            recorded.
    """

    def __init__(
        self,
        scenario: Scenario | Mapping[str, Any] | Path | str,
        seed: int = 1,
        *,
        overrides: Sequence[str] = (),
        replay_frames: int | None = None,
    ) -> None:
        given = Scenario.of(scenario).changed(*overrides)
        try:
            self._session = compiled.core().Session(
                given.whole_text(), seed, list(given.overrides), False, str(given.base)
            )
        except ValueError as error:
            raise ScenarioError(str(error)) from error
        self._numbers: dict[str, int] = dict(self._session.flows())
        self._rates: dict[str, float] = {}
        if replay_frames is not None:
            self._session.record_replay(replay_frames)
        elif not self._numbers:
            raise ScenarioError('no flow has transport = "media" with media = { controller = "external" }')

    @property
    def flows(self) -> tuple[str, ...]:
        """The flows whose rates can be set."""
        return tuple(self._numbers)

    @property
    def now_s(self) -> float:
        """The simulated time."""
        return float(self._session.now_s)

    def set_rate(self, flow: str, rate: float) -> None:
        """Sets the rate of a flow in bit/s; the flow's limits bound it.

        Raises:
            UsageError: no such flow, or no rate.
        """
        try:
            self._rates[flow] = self._session.set_rate(self._number(flow), rate)
        except ValueError as error:
            raise UsageError(str(error)) from error

    def advance(self, step_s: float) -> bool:
        """Simulates `step_s` seconds; true if the run has ended."""
        return bool(self._session.advance(self.now_s + step_s))

    def feedback(self, flow: str, step_s: float) -> Feedback:
        """The reports on a flow since the last call, which was `step_s` ago.

        Raises:
            UsageError: no such flow.
        """
        columns = self._session.reports(self._number(flow))
        return Feedback(self.now_s, step_s, self._rates.get(flow, math.nan), **columns)

    def replay_page(self) -> str:
        """The page that replays the run so far, as `whimbrel run --watch` writes it.

        Raises:
            UsageError: no replay is recorded.
        """
        page: str | None = self._session.replay_page()
        if page is None:
            raise UsageError("replay_frames was not given: nothing was recorded")
        return page

    def finish(self) -> Result:
        """Runs to the end and returns the result, as `whimbrel.run` does."""
        return Result(self._session.finish())

    def _number(self, flow: str) -> int:
        if flow not in self._numbers:
            raise UsageError(
                f"no flow {flow!r} has the controller external; there are {', '.join(self._numbers)}"
            )
        return self._numbers[flow]


def drive(
    scenario: Scenario | Mapping[str, Any] | Path | str,
    controllers: Mapping[str, Controller],
    seed: int = 1,
    *,
    step_s: float = STEP_S,
    overrides: Sequence[str] = (),
) -> Result:
    """Simulates a scenario whose external flows are controlled by objects.

    Args:
        scenario: as for `whimbrel.run`.
        controllers: by the names of flows. Other external flows stay at their starting rate.
        seed: as for `whimbrel.run`.
        step_s: time between decisions.
        overrides: as for `whimbrel.run`.

    Raises:
        ScenarioError: the scenario is invalid.
        UsageError: a controller of a flow that is not external, or that returns no rate.
    """
    if step_s <= 0:
        raise UsageError(f"step_s is {step_s}; expected more than 0")
    stepper = Stepper(scenario, seed, overrides=overrides)
    for flow in controllers:
        stepper.feedback(flow, step_s)
    has_ended = False
    while not has_ended:
        has_ended = stepper.advance(step_s)
        for flow, controller in controllers.items():
            stepper.set_rate(flow, controller.on_feedback(stepper.feedback(flow, step_s)))
    return stepper.finish()
