"""`whimbrel contest --repair`: policies of repair, what they know, and their score."""

import json
import math
import runpy
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import whimbrel
from whimbrel import Repairer, RepairFeedback
from whimbrel.__main__ import main
from whimbrel._simulate.controllers import Stepper
from whimbrel._simulate.scenario import Scenario
from whimbrel._values.table import Table
from whimbrel.contest import league, match
from whimbrel.contest.contestant import Limits
from whimbrel.contest.kinds import REPAIR
from whimbrel.contest.match import DECISIONS, SIDES, Entrant
from whimbrel.errors import ScenarioError, UsageError

EXAMPLES = Path(whimbrel.__file__).parent / "examples" / "contest_repair"
RADIO = Scenario.from_file(EXAMPLES / "radio.toml").changed("simulation.duration=8 s")
EXTERNAL = RADIO.changed("flow.first.repair.kind=external", "flow.second.repair.kind=external")


@dataclass
class Fixed:
    """Repairs in one way and remembers what it learns."""

    coded: float
    repeats: bool
    seen: list[RepairFeedback] = field(default_factory=list)

    def on_feedback(self, feedback: RepairFeedback) -> tuple[float, bool]:
        self.seen.append(feedback)
        return self.coded, self.repeats


def test_a_policy_decides_on_parity_and_repeats() -> None:
    half, asking = Fixed(0.5, False), Fixed(0.0, True)
    flows = whimbrel.drive(EXTERNAL, {"first": half, "second": asking}).flows

    def total(fixed: Fixed, name: str) -> int:
        return sum(getattr(feedback, name) for feedback in fixed.seen)

    assert total(half, "coded") == pytest.approx(0.5 * total(half, "sent"), rel=0.05)
    assert (total(half, "repeated"), total(asking, "coded")) == (0, 0)
    repaired = flows.one("repaired_datagrams", flow="second")
    assert repaired > 5
    assert total(asking, "repeated") == pytest.approx(repaired, abs=3)
    # Coded packets are as long as the longest packets.
    assert 0.5 < flows.one("repair_overhead", flow="first") < 0.7
    assert flows.one("repair_overhead", flow="second") < 0.06
    last = asking.seen[-1]
    assert len(asking.seen) == 160
    assert last.latency_s == pytest.approx(0.15)
    assert last.step_s == 0.05
    assert 0.1 < last.budget_s <= last.latency_s
    assert last.rtt_s == pytest.approx(0.032, abs=0.004)
    assert last.rate > 600e3
    assert 0.005 < last.loss_rate < 0.05
    assert 1.0 <= last.burst_length < 1.2
    # Before there is a connection.
    first = asking.seen[0]
    assert (first.budget_s, first.loss_rate, first.burst_length, first.sent) == (first.latency_s, 0.0, 1.0, 0)
    assert math.isnan(first.rtt_s)
    assert math.isnan(first.rate)


def test_without_a_decision_nothing_is_repaired() -> None:
    nothing = Fixed(0.0, False)
    flows = whimbrel.drive(EXTERNAL, {"first": nothing}).flows
    for flow in ("first", "second"):
        assert flows.one("repaired_datagrams", flow=flow) == 0
        assert flows.one("frames_decodable", flow=flow) < 0.7 * flows.one("frames", flow=flow)
    assert sum(feedback.lost_frames for feedback in nothing.seen) > 5


def test_wrong_decisions_and_flows_are_named() -> None:
    for share in (-0.1, 1.5, math.nan):
        with pytest.raises(UsageError, match=r"the share of coded packets is .*; expected 0 to 1"):
            whimbrel.drive(EXTERNAL, {"first": Fixed(share, True)})
    with pytest.raises(UsageError, match="no flow 'third' is external; there are first, second"):
        whimbrel.drive(EXTERNAL, {"third": Fixed(0, True)})
    with pytest.raises(ScenarioError, match='or transport = "dccp" with repair'):
        whimbrel.drive(RADIO, {})


def test_feedback_arrives_as_it_is_and_a_replay_is_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    source = (EXAMPLES / "asking.py").read_text()
    asking = runpy.run_path(str(EXAMPLES / "asking.py"))["Repairer"]()
    pair = [Entrant("asking", source), Entrant("whimbrel", reference="whimbrel")]
    scenario = match.scenario_of(REPAIR, RADIO, match.places(REPAIR, RADIO), pair, Limits())
    result = match.play(scenario, 3)
    assert result.tables[DECISIONS].rows == 160
    plain = whimbrel.drive(RADIO.changed("flow.first.repair.kind=external"), {"first": asking}, 3)
    ended: list[Stepper] = []
    page = Stepper.replay_page

    def kept(stepper: Stepper) -> str:
        ended.append(stepper)
        return page(stepper)

    monkeypatch.setattr(Stepper, "replay_page", kept)
    monkeypatch.setattr(match, "Confined", None)
    assert match.replay(scenario, 3, result).startswith("<!DOCTYPE html>")
    again = ended[0].finish().flows
    for column, values in result.flows.items():
        np.testing.assert_array_equal(plain.flows[column], values, err_msg=column)
        np.testing.assert_array_equal(again[column], values, err_msg=column)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("1.5, True", "set the share of coded packets 1.5; expected 0 to 1"),
        ("float('nan'), True", "set the share of coded packets nan; expected 0 to 1"),
        ("0.5", "raised TypeError: cannot unpack non-iterable float object"),
        ("feedback.nothing, 1", "raised AttributeError in line 3: "),
    ],
)
def test_a_policy_that_fails_repairs_nothing_from_then_on(answer: str, expected: str) -> None:
    source = f"class Repairer:\n    def on_feedback(self, feedback):\n        return {answer}\n"
    pair = [Entrant("mine", source), Entrant("none", reference="none")]
    result = match.play(match.scenario_of(REPAIR, RADIO, ("first", "second"), pair, Limits()), 1)
    reason, other = result.tables[SIDES]["forfeit"]
    assert str(reason).startswith(expected)
    assert other == ""
    assert result.flows.one("repaired_datagrams", flow="first") == 0
    assert result.flows.one("received_packets", flow="first") > 300


def test_the_score_counts_frames_and_what_they_cost() -> None:
    table = {
        "flow": ["a", "b", "c"],
        "frames": np.array([200.0, 200.0, 0.0]),
        "frames_decodable": np.array([190.0, 200.0, 0.0]),
        "repair_overhead": np.array([0.0, 1.0, 0.0]),
    }
    result = whimbrel.Result({"flows": Table(table)})
    # A twentieth of the frames; half of the rate; nothing.
    scores = [REPAIR.score(result, flow) for flow in "abc"]
    assert scores == pytest.approx([-0.5, -math.log10(2), -10.0])


@pytest.mark.parametrize("network", sorted(path.stem for path in EXAMPLES.glob("*.toml")))
def test_neither_all_nor_nothing_beats_a_policy(network: str) -> None:
    """With three seeds on each of the example networks."""
    asking = runpy.run_path(str(EXAMPLES / "asking.py"))["Repairer"]
    scenario = Scenario.from_file(EXAMPLES / f"{network}.toml")
    changes = [f"flow.{flow}.repair.kind=external" for flow in ("first", "second")]

    def score(policy: Repairer, seed: int) -> float:
        result = whimbrel.drive(scenario, {"first": policy}, seed, overrides=changes)
        return REPAIR.score(result, "first")

    for seed in (1, 2, 3):
        sensible = score(asking(), seed)
        assert sensible > score(Fixed(1.0, True), seed)
        assert sensible > score(Fixed(0.0, False), seed)


def test_a_contest_of_policies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = tmp_path / "radio.toml"
    text = (EXAMPLES / "radio.toml").read_text().replace("../scenarios", str(EXAMPLES.parent / "scenarios"))
    short.write_text(text.replace('duration = "30 s"', 'duration = "8 s"'))
    words = ["--repair", EXAMPLES / "asking.py", EXAMPLES / "insured.py", "--reference", "whimbrel"]
    words += ["--network", short, "--runs", "2", "--out", tmp_path / "out", "--json"]
    capsys.readouterr()
    assert main(["contest", *map(str, words)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {line["contestant"] for line in found["league"]} == {"asking", "insured", "whimbrel"}
    assert not any(each["forfeits"] for each in found["matches"])
    page = Path(found["report"]).read_text()
    assert "frames that could not be decoded in time" in page
    assert (
        main(["contest", "--repair", str(EXAMPLES / "asking.py"), "--reference", "gcc", "--runs", "1"]) == 2
    )
    assert "--reference gcc: " in capsys.readouterr().err


def test_a_network_of_a_repair_contest_has_two_repaired_videos() -> None:
    with pytest.raises(ScenarioError, match='0 flows have transport = "dccp" and repair'):
        league.networks(REPAIR, [EXAMPLES.parent / "contest" / "home.toml"])
