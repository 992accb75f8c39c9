"""Senders written in Python: the simulator in steps.

A flow with `media = { controller = "external" }` has no law of its own. `drive` asks objects with a method
`on_feedback` for the rates of such flows, and for the repair of flows with `repair = { kind = "external" }`.
`whimbrel.Environment` has the rates as an environment of gymnasium.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whimbrel._base import compiled
from whimbrel._simulate.repairers import COUNTERS, Repairer, RepairFeedback
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


class Decider(Protocol):
    """A `Controller`, a `Repairer`, or another process with one."""

    def on_feedback(self, feedback: Any, /) -> Any:  # noqa: ANN401 - of either
        """The decision until the next call."""


class Stepper:
    """A simulation in steps.

    Args:
        scenario: as for `whimbrel.run`.
        seed: as for `whimbrel.run`.
        overrides: as for `whimbrel.run`.
        replay_frames: frames on the air of each medium that `replay_page` shows; None records no replay.

    Raises:
        ScenarioError: the scenario is invalid, or no flow has the controller or the repair `external` and no
            replay is recorded.
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
        self._repaired: dict[str, int] = dict(self._session.repaired())
        self._rates: dict[str, float] = {}
        self._counted: dict[str, dict[str, int]] = {}
        if replay_frames is not None:
            self._session.record_replay(replay_frames)
        elif not self._numbers and not self._repaired:
            raise ScenarioError(
                'no flow has transport = "media" with media = { controller = "external" }, or'
                ' transport = "dccp" with repair = { kind = "external" }'
            )

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

    def set_repair(self, flow: str, parity: float, repeats: bool) -> None:
        """Sets the repair of a flow: coded packets as a share of each frame's, and whether it repeats.

        Raises:
            UsageError: no such flow, or no share.
        """
        try:
            self._session.set_repair(self._number(flow), parity, repeats)
        except ValueError as error:
            raise UsageError(str(error)) from error

    def ask(self, flow: str, decider: Decider, step_s: float) -> tuple[float, ...]:
        """Asks for the decision of a step, and makes it.

        Returns:
            The rate; or the share of coded packets, and 1 if lost packets are repeated, else 0.

        Raises:
            UsageError: no such flow, or no decision.
        """
        is_repaired = flow in self._repaired
        feedback = self.repair_feedback(flow, step_s) if is_repaired else self.feedback(flow, step_s)
        answer = decider.on_feedback(feedback)
        decision = tuple(map(float, answer)) if isinstance(answer, (tuple, list)) else (float(answer),)
        self.decide(flow, decision)
        return decision

    def decide(self, flow: str, decision: Sequence[float]) -> None:
        """Makes a decision of `ask`.

        Raises:
            UsageError: no such flow, or no decision.
        """
        if flow not in self._repaired:
            (rate,) = decision
            self.set_rate(flow, rate)
            return
        parity, repeats = decision
        self.set_repair(flow, parity, bool(repeats))

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

    def repair_feedback(self, flow: str, step_s: float) -> RepairFeedback:
        """The knowledge of a repaired flow's sender, with the counters since the last call, `step_s` ago.

        Raises:
            UsageError: no such flow.
        """
        try:
            fields: dict[str, Any] = self._session.repair(self._number(flow))
        except ValueError as error:
            raise UsageError(str(error)) from error
        before = self._counted.get(flow, {})
        counted = {name: int(fields[name]) for name in COUNTERS}
        self._counted[flow] = counted
        new = {name: count - before.get(name, 0) for name, count in counted.items()}
        return RepairFeedback(self.now_s, step_s, **{**fields, **new})

    def replay_page(self) -> str:
        """The page that replays the run so far, as `whimbrel run --watch` writes it.

        Raises:
            UsageError: no replay is recorded.
        """
        page: str | None = self._session.replay_page()
        if page is None:
            raise UsageError("replay_frames was not given: nothing was recorded")
        return page

    def check(self, flows: Iterable[str]) -> None:
        """Checks that a program decides for these flows.

        Raises:
            UsageError: not for one.
        """
        for flow in flows:
            self._number(flow)

    def finish(self) -> Result:
        """Runs to the end and returns the result, as `whimbrel.run` does."""
        return Result(self._session.finish())

    def _number(self, flow: str) -> int:
        known = {**self._numbers, **self._repaired}
        if flow not in known:
            raise UsageError(f"no flow {flow!r} is external; there are {', '.join(known)}")
        return known[flow]


def drive(
    scenario: Scenario | Mapping[str, Any] | Path | str,
    controllers: Mapping[str, Controller | Repairer],
    seed: int = 1,
    *,
    step_s: float = STEP_S,
    overrides: Sequence[str] = (),
) -> Result:
    """Simulates a scenario whose external flows are controlled or repaired by objects.

    Args:
        scenario: as for `whimbrel.run`.
        controllers: by the names of flows. Other external flows stay at their starting rate, or repair
            nothing.
        seed: as for `whimbrel.run`.
        step_s: time between decisions.
        overrides: as for `whimbrel.run`.

    Raises:
        ScenarioError: the scenario is invalid.
        UsageError: a controller of a flow that is not external, or that returns no decision.
    """
    if step_s <= 0:
        raise UsageError(f"step_s is {step_s}; expected more than 0")
    stepper = Stepper(scenario, seed, overrides=overrides)
    stepper.check(controllers)
    has_ended = False
    while not has_ended:
        has_ended = stepper.advance(step_s)
        for flow, controller in controllers.items():
            stepper.ask(flow, controller, step_s)
    return stepper.finish()
