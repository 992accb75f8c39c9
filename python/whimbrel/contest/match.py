"""A match: two laws share a network. It is a run of a campaign: it resumes, and travels like any other.

The scenario of a match is its network's scenario with a table `contest`: which flow is whose, with the text
of each file. The record has, besides the tables of any run, the decisions of the contestants, from which the
run can be made again without them, and why one forfeited.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from whimbrel._simulate import simulation
from whimbrel._simulate.controllers import STEP_S, Stepper
from whimbrel._simulate.result import Result
from whimbrel._simulate.scenario import Scenario
from whimbrel._values.table import Table
from whimbrel.contest.law import ConfinedLaw, Forfeit, Limits
from whimbrel.errors import ScenarioError

_TABLE = "contest"
DECISIONS = "decisions"
"""Table of a record: a row is a rate that a contestant set."""
SIDES = "sides"
"""Table of a record: a row is a contestant, with the reason of its forfeit, or an empty text."""
_REPLAY_FRAMES = 20_000


@dataclass(frozen=True)
class Entrant:
    """A contestant.

    Attributes:
        name: displayed.
        source: text of its file; empty for a law of the laboratory.
        law: name of that law; empty for a file.
    """

    name: str
    source: str = ""
    law: str = ""


def scenario_of(
    network: Scenario, flows: Sequence[str], entrants: Sequence[Entrant], limits: Limits
) -> Scenario:
    """The scenario of a match."""
    sides = [{"flow": flow, **asdict(each)} for flow, each in zip(flows, entrants, strict=True)]
    document = {key: value for key, value in network.document.items() if key != "sweep"}
    changes = [f"flow.{side['flow']}.media.controller={side['law'] or 'external'}" for side in sides]
    about = {"sides": sides, "limits": asdict(limits)}
    return replace(network, document={**document, _TABLE: about}).changed(*changes)


def places(network: Scenario) -> tuple[str, str]:
    """The flows of a network that two contestants control: the first two of the transport `media`.

    Raises:
        ScenarioError: the scenario is not valid, or has no two such flows.
    """
    simulation.examine(network)
    found = [
        str(flow.get("name"))
        for flow in network.document.get("flow", ())
        if flow.get("transport") == "media" and not flow.get("background")
    ]
    if len(found) < 2:
        raise ScenarioError(
            f'{len(found)} flows have transport = "media" and are no background: expected two'
        )
    return found[0], found[1]


def play(scenario: Scenario, seed: int) -> Result:
    """Plays a match. A contestant that fails sends nothing from then on, and the other plays on."""
    about: Mapping[str, Any] = scenario.document[_TABLE]
    sides: Sequence[Mapping[str, str]] = about["sides"]
    limits = Limits(**about["limits"])
    plain = _network(scenario)
    reasons = {side["flow"]: "" for side in sides}
    decisions: list[tuple[float, str, float]] = []
    if not any(side["source"] for side in sides):
        result = simulation.run(plain, seed)
    else:
        stepper = Stepper(plain, seed)
        with contextlib.ExitStack() as stack:
            laws = {
                side["flow"]: stack.enter_context(ConfinedLaw(side["source"], seed, limits))
                for side in sides
                if side["source"]
            }
            _drive(stepper, laws, reasons, decisions)
        result = stepper.finish()
    times, flows, rates = zip(*decisions, strict=True) if decisions else ((), (), ())
    result.tables[DECISIONS] = Table(
        {"time_s": _floats(times), "flow": list(flows), "rate_bps": _floats(rates)}
    )
    result.tables[SIDES] = Table(
        {
            "flow": [side["flow"] for side in sides],
            "name": [side["name"] for side in sides],
            "forfeit": [reasons[side["flow"]] for side in sides],
        }
    )
    return result


def replay(scenario: Scenario, seed: int, result: Result) -> str:
    """The page that replays a match, made from its decisions: no file of a contestant is run."""
    plain = _network(scenario)
    decisions = result.tables[DECISIONS]
    stepper = Stepper(plain, seed, replay_frames=_REPLAY_FRAMES)
    at: dict[float, list[tuple[str, float]]] = {}
    for row in range(decisions.rows):
        choice = str(decisions["flow"][row]), float(decisions["rate_bps"][row])
        at.setdefault(float(decisions["time_s"][row]), []).append(choice)
    has_ended = False
    while not has_ended:
        has_ended = stepper.advance(STEP_S)
        for flow, rate in at.get(stepper.now_s, ()):
            stepper.set_rate(flow, rate)
    return stepper.replay_page()


def score(result: Result, flow: str) -> float:
    """The score of a flow: the decimal logarithm of its rate in Mbit/s, less losses and delay.

    A tenth of the packets lost, or 100 ms of delay in the 95th percentile, costs as much as nine tenths of
    the rate.
    """
    flows = result.flows
    rate = flows.one("goodput_bps", flow=flow)
    sent = flows.one("sent_packets", flow=flow)
    if rate <= 0 or sent <= 0:
        return _WORST
    lost = sum(
        flows.one(name, flow=flow) for name in ("lost_queue", "lost_wireless", "lost_down", "lost_other")
    )
    delay = flows.one("delay_p95_s", flow=flow)
    found = math.log10(rate / 1e6) - 10 * lost / sent - 10 * (0.0 if math.isnan(delay) else delay)
    return max(found, _WORST)


_LOST = ("lost_queue", "lost_wireless", "lost_down", "lost_other")
_WORST = -10.0
"""The score of a flow that delivers nothing."""


def _drive(
    stepper: Stepper,
    laws: Mapping[str, ConfinedLaw],
    reasons: dict[str, str],
    decisions: list[tuple[float, str, float]],
) -> None:
    def decide(flow: str, rate: float) -> None:
        stepper.set_rate(flow, rate)
        decisions.append((stepper.now_s, flow, rate))

    has_ended = False
    is_first = True
    while not has_ended:
        has_ended = stepper.advance(STEP_S)
        for flow, law in laws.items():
            if reasons[flow]:
                continue
            try:
                if is_first:
                    law.start()
                decide(flow, law.on_feedback(stepper.feedback(flow, STEP_S)))
            except Forfeit as error:
                reasons[flow] = str(error)
                decide(flow, 0.0)
        is_first = False


def _network(scenario: Scenario) -> Scenario:
    document = {key: value for key, value in scenario.document.items() if key != _TABLE}
    return replace(scenario, document=document)


def _floats(values: Sequence[float]) -> Any:  # noqa: ANN401 - a column
    return np.array(values, dtype=np.float64)
