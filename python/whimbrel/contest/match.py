"""A match: two contestants in a network. It is a run of a campaign: it resumes, and travels like any other.

The scenario of a match is its network's scenario with a table `contest`: what is decided, and which flow is
whose, with the text of each file. The record has, besides the tables of any run, the decisions of the
contestants, from which the run can be made again without them, and why one forfeited.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from whimbrel._simulate import simulation
from whimbrel._simulate.controllers import STEP_S, Stepper
from whimbrel._simulate.result import Result
from whimbrel._simulate.scenario import Scenario
from whimbrel._values.table import Table
from whimbrel.contest.contestant import Confined, Forfeit, Limits
from whimbrel.contest.kinds import KINDS, Kind
from whimbrel.errors import ScenarioError

_TABLE = "contest"
DECISIONS = "decisions"
"""Table of a record: a row is a decision of a contestant."""
SIDES = "sides"
"""Table of a record: a row is a contestant, with the reason of its forfeit, or an empty text."""
_REPLAY_FRAMES = 20_000


@dataclass(frozen=True)
class Entrant:
    """A contestant.

    Attributes:
        name: displayed.
        source: text of its file; empty for a reference of the laboratory.
        reference: name of that law or scheme; empty for a file.
    """

    name: str
    source: str = ""
    reference: str = ""


def scenario_of(
    kind: Kind, network: Scenario, flows: Sequence[str], entrants: Sequence[Entrant], limits: Limits
) -> Scenario:
    """The scenario of a match."""
    sides = [{"flow": flow, **asdict(each)} for flow, each in zip(flows, entrants, strict=True)]
    document = {key: value for key, value in network.document.items() if key != "sweep"}
    changes = [f"flow.{side['flow']}.{kind.key}={side['reference'] or 'external'}" for side in sides]
    about = {"kind": kind.name, "sides": sides, "limits": asdict(limits)}
    return replace(network, document={**document, _TABLE: about}).changed(*changes)


def places(kind: Kind, network: Scenario) -> tuple[str, str]:
    """The flows of a network that two contestants have: the first two of their kind.

    Raises:
        ScenarioError: the scenario is not valid, or has no two such flows.
    """
    simulation.examine(network)
    found = [
        str(flow.get("name"))
        for flow in network.document.get("flow", ())
        if kind.is_place(flow) and not flow.get("background")
    ]
    if len(found) < 2:
        raise ScenarioError(f"{len(found)} flows have {kind.places} and are no background: expected two")
    return found[0], found[1]


def play(scenario: Scenario, seed: int) -> Result:
    """Plays a match. A contestant that fails does nothing from then on, and the other plays on."""
    about: Mapping[str, Any] = scenario.document[_TABLE]
    sides: Sequence[Mapping[str, str]] = about["sides"]
    kind, limits = KINDS[about["kind"]], Limits(**about["limits"])
    plain = _network(scenario)
    reasons = {side["flow"]: "" for side in sides}
    decisions: list[_Decision] = []
    if not any(side["source"] for side in sides):
        result = simulation.run(plain, seed)
    else:
        stepper = Stepper(plain, seed)
        with contextlib.ExitStack() as stack:
            confined = {
                side["flow"]: stack.enter_context(Confined(kind, side["source"], seed, limits))
                for side in sides
                if side["source"]
            }
            _drive(stepper, kind, confined, reasons, decisions)
        result = stepper.finish()
    values = np.array([decision for *_, decision in decisions], dtype=np.float64)
    result.tables[DECISIONS] = Table(
        {
            "time_s": np.array([time for time, *_ in decisions], dtype=np.float64),
            "flow": [flow for _, flow, _ in decisions],
            **dict(zip(kind.columns, values.reshape(-1, len(kind.columns)).T, strict=True)),
        }
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
    columns = KINDS[scenario.document[_TABLE]["kind"]].columns
    at: dict[float, list[tuple[str, list[float]]]] = {}
    for row in range(decisions.rows):
        choice = str(decisions["flow"][row]), [float(decisions[name][row]) for name in columns]
        at.setdefault(float(decisions["time_s"][row]), []).append(choice)
    has_ended = False
    while not has_ended:
        has_ended = stepper.advance(STEP_S)
        for flow, decision in at.get(stepper.now_s, ()):
            stepper.decide(flow, decision)
    return stepper.replay_page()


_Decision = tuple[float, str, Sequence[float]]
"""A time, a flow and its decision."""


def _drive(
    stepper: Stepper,
    kind: Kind,
    confined: Mapping[str, Confined],
    reasons: dict[str, str],
    decisions: list[_Decision],
) -> None:
    has_ended = False
    is_first = True
    while not has_ended:
        has_ended = stepper.advance(STEP_S)
        for flow, contestant in confined.items():
            if reasons[flow]:
                continue
            try:
                if is_first:
                    contestant.start()
                decision = stepper.ask(flow, contestant, STEP_S)
            except Forfeit as error:
                reasons[flow] = str(error)
                decision = kind.idle
                stepper.decide(flow, decision)
            decisions.append((stepper.now_s, flow, decision))
        is_first = False


def _network(scenario: Scenario) -> Scenario:
    document = {key: value for key, value in scenario.document.items() if key != _TABLE}
    return replace(scenario, document=document)
