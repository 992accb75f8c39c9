"""Senders written in Python, and the environment for learners."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import whimbrel
from whimbrel._simulate.controllers import Feedback, Stepper
from whimbrel.errors import ScenarioError, UsageError

SCENARIO: dict[str, Any] = {
    "simulation": {"duration": "10 s"},
    "node": [{"name": "a"}, {"name": "b"}],
    "link": [{"between": ["a", "b"], "rate": "4 Mbit/s", "delay": "20 ms", "queue": "50 packets"}],
    "flow": [
        {
            "name": "video",
            "from": "a",
            "to": "b",
            "transport": "media",
            "payload": "960 B",
            "media": {"controller": "external", "start_rate": "1 Mbit/s", "max_rate": "8 Mbit/s"},
        }
    ],
}


@dataclass
class Constant:
    """Sends at a constant rate and remembers what it learns."""

    rate: float
    seen: list[Feedback] = field(default_factory=list)

    def on_feedback(self, feedback: Feedback) -> float:
        self.seen.append(feedback)
        return self.rate


def test_a_controller_sets_the_rate_and_learns_each_packet() -> None:
    controller = Constant(2e6)
    result = whimbrel.drive(SCENARIO, {"video": controller})
    # Headers are 40 of 1000 bytes; the first step is at the starting rate.
    assert result.flows.one("goodput_bps", flow="video") == pytest.approx(0.96 * 2e6, rel=0.01)
    assert len(controller.seen) == 200
    last = controller.seen[-1]
    assert last.rate == 2e6
    assert last.rtt_s == pytest.approx(0.042, abs=0.002)
    # Times are reported in units of 1/1024 s.
    assert last.delay_s == pytest.approx(0.0225, abs=0.0005)
    sequence = np.concatenate([feedback.sequence for feedback in controller.seen])
    assert np.array_equal(sequence, np.arange(sequence.size))
    sent = result.flows.one("sent_packets", flow="video")
    assert sent - 30 < sequence.size <= sent


def test_losses_of_a_sender_that_is_too_fast_are_reported() -> None:
    controller = Constant(6e6)
    result = whimbrel.drive(SCENARIO, {"video": controller})
    missing = sum(int((~feedback.has_arrived).sum()) for feedback in controller.seen)
    lost = result.flows.one("lost_queue", flow="video")
    assert lost > 1000
    # The sender does not know of the losses after its last report.
    assert lost - 100 < missing <= lost
    assert controller.seen[-1].loss_rate == pytest.approx(1 / 3, abs=0.1)
    assert controller.seen[-1].delivery_rate == pytest.approx(4e6, rel=0.1)


def test_the_rate_stays_within_the_limits_of_the_flow() -> None:
    stepper = Stepper(SCENARIO)
    stepper.set_rate("video", 1e9)
    stepper.advance(0.05)
    assert stepper.feedback("video", 0.05).rate == 8e6


def test_a_run_in_steps_is_that_of_the_program() -> None:
    document = {**SCENARIO, "record": {"interval": "1 s"}}
    stepped = whimbrel.drive(document, {}, step_s=0.013)
    whole = whimbrel.run(document)
    for table in ("flows", "links", "intervals"):
        assert repr(dict(stepped[table])) == repr(dict(whole[table])), table


def test_mistakes_have_their_messages() -> None:
    with pytest.raises(ScenarioError, match="no flow has transport"):
        Stepper({**SCENARIO, "flow": [{**SCENARIO["flow"][0], "media": {"controller": "nada"}}]})
    with pytest.raises(UsageError, match="'audio'"):
        whimbrel.drive(SCENARIO, {"audio": Constant(1e6)})
    with pytest.raises(UsageError, match="NaN"):
        whimbrel.drive(SCENARIO, {"video": Constant(float("nan"))})
    with pytest.raises(UsageError, match="step_s"):
        whimbrel.drive(SCENARIO, {}, step_s=0)
    stepper = Stepper(SCENARIO)
    stepper.finish()
    with pytest.raises(RuntimeError, match="taken"):
        stepper.finish()


def test_the_environment_is_one_of_gymnasium() -> None:
    from gymnasium.utils.env_checker import check_env

    environment = whimbrel.Environment(SCENARIO)
    check_env(environment, skip_render_check=True)


def test_actions_span_the_rates_on_a_logarithmic_scale() -> None:
    environment = whimbrel.Environment(SCENARIO, rates=(1e5, 1e7))
    assert environment.action(1e6) == pytest.approx(0.0, abs=1e-6)
    assert environment.action(1e7) == pytest.approx(1.0)
    environment.reset(seed=1)
    environment.step(np.array([0.0], np.float32))
    _, _, _, _, info = environment.step(np.array([0.5], np.float32))
    assert info["feedback"].rate == pytest.approx(10**6.5, rel=1e-5)


def test_episodes_repeat_by_their_seed_and_end_with_the_scenario() -> None:
    environment = whimbrel.Environment({**SCENARIO, "simulation": {"duration": "2 s"}}, "video", step_s=0.1)
    episodes = []
    for _ in range(2):
        first, _ = environment.reset(seed=5)
        rewards, has_ended = [first[0]], False
        info: dict[str, Any] = {}
        while not has_ended:
            _, reward, terminated, has_ended, info = environment.step(environment.action(2e6))
            assert not terminated
            rewards.append(reward)
        assert info["result"].flows.one("goodput_bps", flow="video") > 1.5e6
        episodes.append(rewards)
    assert episodes[0] == episodes[1]
    assert len(episodes[0]) == 20
    with pytest.raises(UsageError, match="reset"):
        environment.step(environment.action(1e6))


def test_each_step_is_a_decision() -> None:
    controller = Constant(1e6)
    whimbrel.drive({**SCENARIO, "simulation": {"duration": "100 s"}}, {"video": controller}, step_s=0.02)
    assert len(controller.seen) == 5000
