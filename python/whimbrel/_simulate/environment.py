"""A flow's congestion control as an environment of gymnasium."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whimbrel._base import extras
from whimbrel._simulate.controllers import STEP_S, Feedback, Stepper
from whimbrel._simulate.scenario import Scenario
from whimbrel.errors import UsageError

if TYPE_CHECKING:
    import gymnasium
else:
    gymnasium = extras.load("gymnasium", "learning", "whimbrel.Environment")


def power(feedback: Feedback) -> float:
    """A reward: the logarithm of the delivery rate in Mbit/s, less losses and delay.

    log10 of the rate favours doubling a low rate over doubling a high one, as utilities of video do; ten
    percent of losses, or 100 ms of delay, cost as much as a rate that is ten times lower.
    """
    rate = math.log10(max(feedback.delivery_rate, 1e3) / 1e6)
    delay_s = 0.0 if math.isnan(feedback.delay_s) else feedback.delay_s
    return rate - 10 * feedback.loss_rate - 10 * delay_s


@dataclass
class _Past:
    """The delays seen so far."""

    least_s: float = math.inf
    latest_s: float = 0.0


class Environment(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A flow's congestion control as an environment of gymnasium.

    An action is the next rate on a logarithmic scale: an array of shape (1,), from -1 for the lower to 1 for
    the upper of `rates`. An observation is an array of shape (5,), float32: the delivery rate as log10 of
    Mbit/s, the mean one-way delay above the least one so far in seconds, the share of packets lost, the share
    marked, and the allowed rate as log10 of Mbit/s. Episodes end with the scenario (`truncated`).

    Args:
        scenario: as for `whimbrel.run`.
        flow: the external flow to be controlled; None for the only one.
        rates: of the actions -1 and 1, in bit/s with headers.
        step_s: time between decisions.
        reward: of a step.
        overrides: as for `whimbrel.run`.
        seed: of the first episode; each further one has the next, unless `reset` names one.

    Raises:
        UsageError: `step_s` is not above 0, or `rates` do not rise from above 0.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - gymnasium's declaration

    def __init__(
        self,
        scenario: Scenario | Mapping[str, Any] | Path | str,
        flow: str | None = None,
        *,
        rates: tuple[float, float] = (150e3, 20e6),
        step_s: float = STEP_S,
        reward: Callable[[Feedback], float] = power,
        overrides: Sequence[str] = (),
        seed: int = 1,
    ) -> None:
        if step_s <= 0:
            raise UsageError(f"step_s is {step_s}; expected more than 0")
        if not 0 < rates[0] < rates[1]:
            raise UsageError(f"rates is {rates}; expected two rates in bit/s that rise")
        self.scenario, self.flow, self.step_s = scenario, flow, step_s
        self._least, self._span = math.log10(rates[0]), math.log10(rates[1] / rates[0])
        self.reward, self.overrides = reward, tuple(overrides)
        low = np.array([-3, 0, 0, 0, -6], np.float32)
        high = np.array([5, 60, 1, 1, 5], np.float32)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._low, self._high = low, high
        self._next_seed = seed
        self._stepper: Stepper | None = None
        self._flow = ""
        self._past = _Past()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Starts an episode: the scenario with a seed.

        Raises:
            ScenarioError: the scenario is invalid.
            UsageError: `flow` does not name an external flow, or there are several and it names none.
        """
        super().reset(seed=seed, options=options)
        if seed is not None:
            self._next_seed = seed
        self._stepper = Stepper(self.scenario, self._next_seed, overrides=self.overrides)
        self._next_seed += 1
        self._past = _Past()
        flows = self._stepper.flows
        if self.flow is None and len(flows) > 1:
            raise UsageError(f"which flow? There are {', '.join(flows)}")
        self._flow = self.flow or flows[0]
        self._stepper.advance(self.step_s)
        feedback = self._stepper.feedback(self._flow, self.step_s)
        return self._observation(feedback), {"feedback": feedback}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Sets the rate, simulates a step and returns observation, reward, terminated, truncated and info.

        `info` has the `feedback`, and after the last step the `result`, as of `whimbrel.run`.

        Raises:
            UsageError: no episode is in progress.
        """
        if self._stepper is None:
            raise UsageError("no episode is in progress: call reset")
        share = (float(np.asarray(action).reshape(())) + 1) / 2
        self._stepper.set_rate(self._flow, 10.0 ** (self._least + share * self._span))
        has_ended = self._stepper.advance(self.step_s)
        feedback = self._stepper.feedback(self._flow, self.step_s)
        info: dict[str, Any] = {"feedback": feedback}
        if has_ended:
            info["result"] = self._stepper.finish()
            self._stepper = None
        return self._observation(feedback), float(self.reward(feedback)), False, has_ended, info

    def action(self, rate: float) -> NDArray[np.float32]:
        """The action that sets a rate in bit/s."""
        share = (math.log10(rate) - self._least) / self._span
        return np.array([2 * share - 1], np.float32)

    def render(self) -> None:
        """Draws nothing."""

    def close(self) -> None:
        """Ends the episode."""
        self._stepper = None

    def _observation(self, feedback: Feedback) -> NDArray[np.float32]:
        delay_s = feedback.delay_s
        if not math.isnan(delay_s):
            self._past.least_s = min(self._past.least_s, delay_s)
            self._past.latest_s = delay_s - self._past.least_s
        marks = float(feedback.is_marked.mean()) if feedback.is_marked.size else 0.0
        rate = feedback.rate if math.isfinite(feedback.rate) else 1.0
        values = [
            math.log10(max(feedback.delivery_rate, 1e3) / 1e6),
            self._past.latest_s,
            feedback.loss_rate,
            marks,
            math.log10(max(rate, 1.0) / 1e6),
        ]
        return np.clip(np.array(values, np.float32), self._low, self._high).astype(np.float32)
