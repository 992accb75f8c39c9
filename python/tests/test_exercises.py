"""The exercises of the playground: questions that can be decided, and answers that runs confirm or refuse."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import whimbrel

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
EXERCISES = tomllib.loads((ROOT / "crates/playground/page/exercises.toml").read_text())["exercise"]
QUESTIONS = [
    (exercise["example"], number, question)
    for exercise in EXERCISES
    for number, question in enumerate(exercise["question"], 1)
]
GOALS = {(example, number): question for example, number, question in QUESTIONS if "goal" in question}
SEEDS = (1, 2, 3)

Change = tuple[str, str]
"""A part of the example, and what is written in its place."""

RIGHT: dict[tuple[str, int], Sequence[Sequence[Change]]] = {
    ("teaching/1_sawtooth", 3): [[('"40 ms"', '"20 ms"')]],
    ("teaching/2_square_root", 3): [[('"0.1 %" }', '"0.025 %" }')]],
    ("teaching/3_queues", 2): [[('"droptail" }', '"fq-codel" }')]],
    ("teaching/4_radio_losses", 2): [
        [('classifier = "none"', f'classifier = "{name}"')] for name in ("biaz", "spike", "zbs3")
    ],
    ("teaching/5_wifi_fairness", 3): [[('"2347 B"', '"500 B"')], [('"2347 B"', '"0 B"')]],
    ("teaching/5_wifi_fairness", 4): [
        [("[-95, 0]", "[-88, 0]")],
        [("[-95, 0]", "[-85, 0]"), ('"2347 B"', '"0 B"')],
    ],
    ("teaching/6_fade", 3): [
        [("dccp = {}", 'dccp = { freeze = { silence = "300 ms" } }')],
        [("dccp = {}", 'dccp = { freeze = { silence = "1 s" } }')],
    ],
    ("teaching/7_handover", 2): [[('"0 ms"', '"130 ms"')]],
    ("teaching/7_handover", 3): [
        [('"0 ms"', '"130 ms"'), ("dccp = { freeze = {} }", 'dccp = { freeze = { restart = "following" } }')]
    ],
    ("teaching/8_repair", 4): [[('kind = "none"', 'kind = "whimbrel"')], [('kind = "none"\n', "")]],
}
WRONG: dict[tuple[str, int], Sequence[Sequence[Change]]] = {
    ("teaching/1_sawtooth", 3): [
        [('"20 Mbit/s"', '"40 Mbit/s"')],
        [("ccid = 2", "ccid = 3")],
        [('"40 ms"', '"10 ms"')],
    ],
    ("teaching/2_square_root", 3): [[('"0.1 %" }', '"0.05 %" }')], [('"0.1 %" }', '"0.01 %" }')]],
    ("teaching/3_queues", 2): [[('"droptail" }', f'"{kind}" }}')] for kind in ("codel", "pie")],
    ("teaching/4_radio_losses", 2): [
        [('classifier = "none"', f'classifier = "{name}"')] for name in ("mbiaz", "zigzag")
    ],
    ("teaching/5_wifi_fairness", 3): [
        [('queue = "50 packets"', 'queue = "500 packets"')],
        [('"24 Mbit/s"', '"6 Mbit/s"')],
        [('"tcp"\npacket', '"tcp"\ntcp = { congestion = "bbr" }\npacket')],
    ],
    ("teaching/5_wifi_fairness", 4): [[("[-95, 0]", "[-91, 0]")], [('"2347 B"', '"0 B"')]],
    ("teaching/6_fade", 3): [
        [("ccid = 3", "ccid = 2")],
        [('classifier = "none"', 'classifier = "spike"')],
        [("dccp = {}", "dccp = { freeze = {} }")],
    ],
    ("teaching/7_handover", 2): [[('"0 ms"', '"50 ms"')]],
    ("teaching/7_handover", 3): [
        [('"0 ms"', '"130 ms"')],
        [("dccp = { freeze = {} }", 'dccp = { freeze = { restart = "following" } }')],
        [('"0 ms"', '"1 s"'), ("dccp = { freeze = {} }", 'dccp = { freeze = { restart = "following" } }')],
    ],
    ("teaching/8_repair", 4): [],
}


def _text(example: str, changes: Sequence[Change] = ()) -> str:
    text = (EXAMPLES / f"{example}.toml").read_text()
    for there, here in changes:
        assert there in text, there
        text = text.replace(there, here)
    return text


def _holds(question: Mapping[str, Any], example: str, changes: Sequence[Change], seed: int) -> bool:
    """True if a run reaches all goals of a question."""
    scenario = whimbrel.Scenario(tomllib.loads(_text(example, changes)), base=(EXAMPLES / example).parent)
    flows = whimbrel.run(scenario, seed=seed).flows
    values = [goal["scale"] * flows.one(goal["column"], flow=goal["flow"]) for goal in question["goal"]]
    return all(
        goal.get("least", -math.inf) <= value <= goal.get("most", math.inf)
        for goal, value in zip(question["goal"], values, strict=True)
    )


@pytest.mark.parametrize(("example", "number", "question"), QUESTIONS)
def test_a_question_can_be_decided(example: str, number: int, question: Mapping[str, Any]) -> None:
    if "goal" in question:
        keys = {line.partition("=")[0].strip() for line in _text(example).splitlines()}
        # A key that the text lacks can be added.
        assert keys & set(question["change"])
        assert all({"least", "most"} & goal.keys() for goal in question["goal"])
        return
    within = question["within"]
    answers = [question["answer"], *(wrong["answer"] for wrong in question["wrong"])]
    assert len(answers) > 1
    # Nothing that is accepted for one is accepted for another.
    for place, one in enumerate(answers):
        for other in answers[place + 1 :]:
            assert abs(one - other) > within * (one + other), (one, other)


@pytest.mark.parametrize("place", GOALS, ids=str)
@pytest.mark.parametrize("seed", SEEDS)
def test_goals_are_reached_by_right_changes_alone(place: tuple[str, int], seed: int) -> None:
    example, _ = place
    question = GOALS[place]
    assert not _holds(question, example, [], seed)
    for changes in RIGHT[place]:
        _only(question, example, changes)
        assert _holds(question, example, changes, seed), changes
    for changes in WRONG[place]:
        _only(question, example, changes)
        assert not _holds(question, example, changes, seed), changes


def _only(question: Mapping[str, Any], example: str, changes: Sequence[Change]) -> None:
    """Checks that only keys of the question are changed, as `page/exercise.js` does."""

    def fixed(text: str) -> list[str]:
        lines = [line.partition("#")[0].strip() for line in text.splitlines()]
        return [line for line in lines if line and line.partition("=")[0].strip() not in question["change"]]

    assert fixed(_text(example, changes)) == fixed(_text(example))


def test_every_exercise_has_its_questions_and_its_sheet() -> None:
    page = (ROOT / "docs" / "teach.md").read_text()
    taught = [f"teaching/{path.stem}" for path in sorted((EXAMPLES / "teaching").glob("*.toml"))]
    assert [exercise["example"] for exercise in EXERCISES] == taught
    for number, exercise in enumerate(EXERCISES, 1):
        section = page.split(f"\n## {number}. {exercise['title']}\n")[1].split("\n## ")[0]
        assert f"examples/{exercise['example']}.toml" in section
        assert f"playground/index.html#example={exercise['example']}" in page
        for part in ("Aim", "Time", "Expected", "Common mistakes"):
            assert f"**{part}**" in section, (number, part)
