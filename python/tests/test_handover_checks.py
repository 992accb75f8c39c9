"""The checks of `make handover`, on handwritten walks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from handover_checks import Clip, Line, check

FRAME_S = 0.04
GAP = (2.0, 3.0)
RTT_S = (0.02, 0.05)


@pytest.fixture
def clip(tmp_path: Path) -> Clip:
    """Two datagrams for each frame, one second long."""
    path = tmp_path / "clip.csv"
    rows = [f"{frame * FRAME_S:.2f},1000,{frame},P" for frame in range(25) for _ in range(2)]
    path.write_text("\n".join(["time_s,size_bytes,frame,type", *rows]) + "\n")
    return Clip.read(path)


def walk(
    clip: Clip, way: str, passes: Any, *, sent: int, received: int, handed: tuple[int, int, int] = (0, 0, 0)
) -> dict[str, Any]:
    """A walk of five seconds; `passes`: true if a datagram due then leaves the client's interface."""
    arises = [(number, clip.arises_s(number)) for number in range(250)]
    seen = [[100 + at, number, at, int(at >= GAP[1])] for number, at in arises if passes(at)]
    freeze = {"cause": "link", "full_rate_s": 0.01}
    handover = {"freezes": [] if way == "tfrc" else [freeze], "moves": [{}]}
    up = {"sent": {"datagrams": sent, "dropped": 250 - sent}, "received": {"datagrams": received}}
    moments = {"down_s": 100 + GAP[0], "up_s": 100 + GAP[1]}
    names = ("handed_at_down", "handed_after_reaction", "handed_at_up")
    return {
        "gap_s": 1.0,
        "way": way,
        "away_kbps": 2500,
        "exit_code": 0,
        "errors": "",
        "rtt_s": RTT_S,
        "seen": seen,
        "moments": moments | dict(zip(names, handed, strict=True)),
        "record": {"error": None, "summary": {"up": up}, "handover": handover},
    }


def outside(at: float) -> bool:
    """Not in the gap."""
    return not GAP[0] <= at < GAP[1]


def test_a_clip_is_repeated_as_in_perf(clip: Clip) -> None:
    assert clip.period_s == pytest.approx(1.0)
    assert clip.arises_s(51) == pytest.approx(1.0)
    assert (clip.frame(49), clip.frame(50), clip.frame(52)) == (24, 25, 26)


def test_a_correct_freeze_has_no_problems(clip: Clip) -> None:
    line = check(walk(clip, "warned", outside, sent=200, received=200, handed=(7, 7, 7)), clip)
    assert line.problems == []
    assert (line.sent, line.lost, line.held, line.into_gap) == (200, 0, 50, 0)
    assert line.whole_s == pytest.approx(0.0, abs=1e-9)
    # All frames of the four seconds except those that may be in the player's buffer when the gap begins.
    assert (line.frames, line.frames_late) == (90, 0)


@pytest.mark.parametrize(
    ("way", "changed", "expected"),
    [
        ("link", {"handed": (7, 8, 9)}, "sent into the gap: 1"),
        ("warned", {"received": 199}, "although the outage was announced: 1"),
        # A window has 12 or 13 frames and may lack one: that from 3.36 s is the first to do so.
        ("link", {"passes": lambda at: outside(at) and not 3 <= at < 3.4}, "whole again only after 0.3"),
    ],
)
def test_a_failed_requirement_is_named(clip: Clip, way: str, changed: dict[str, Any], expected: str) -> None:
    arguments: dict[str, Any] = {"passes": outside, "sent": 200, "received": 200} | changed
    problems = check(walk(clip, way, **arguments), clip).problems
    assert len(problems) == 1
    assert expected in problems[0]


def test_a_datagram_within_the_reaction_time_is_counted_and_allowed(clip: Clip) -> None:
    line = check(walk(clip, "link", outside, sent=201, received=200, handed=(7, 8, 8)), clip)
    assert (line.into_gap, line.after_reaction, line.lost, line.problems) == (1, 0, 1, [])


def test_a_stream_that_does_not_return_is_never_whole(clip: Clip) -> None:
    line = check(walk(clip, "tfrc", lambda at: at < GAP[0], sent=150, received=100), clip)
    assert (line.whole_s, line.frames_late) == (None, 50)
    # Without a freeze nothing is required.
    assert line.problems == []


def test_a_lost_connection_is_a_problem_of_any_row(clip: Clip) -> None:
    lost = walk(clip, "tfrc", outside, sent=200, received=200) | {"exit_code": 1, "errors": "gone"}
    assert check(lost, clip).problems == ["the connection was lost: gone"]
    nothing: Line = check(lost | {"record": None}, clip)
    assert nothing.problems == ["the connection was lost: gone"]


def test_on_a_path_that_is_too_narrow_most_of_its_capacity_must_be_used(clip: Clip) -> None:
    """The clip has 400 kbit/s, the path 200: every other datagram is all that it can carry."""

    def every(nth: int) -> Any:
        return lambda at: outside(at) and (at < GAP[0] or round(at / FRAME_S) % nth == 0)

    assert clip.kbps == pytest.approx(400)
    for nth, as_promised in ((2, True), (3, True), (6, False)):
        narrow = walk(clip, "link", every(nth), sent=200, received=150) | {"away_kbps": 200}
        line = check(narrow, clip)
        assert (line.problems == []) == as_promised, line
        assert line.carried == pytest.approx(2 / nth, abs=0.06)
