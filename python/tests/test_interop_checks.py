"""The checks of `make interop`, on handwritten captures."""

from __future__ import annotations

import pytest
import suite
from captures import Capture
from checks import Result, wire

LOSSY = "delay 100ms loss 3%"


def problems(resets: list[int], netem: str, *, orders: bool = False) -> list[str]:
    """Problems of a bulk transfer over such a path, with these Resets in its capture."""
    facts = {"resets": [1], "orders": orders}
    ends = suite.whimbrel(""), suite.linux("a", "")
    test = suite.Test("bulk", "bulk", 2, 4, *ends, (netem, netem), 1.0, facts)
    result = Result(0, test)
    wire(result, Capture(packets=10, resets=resets))
    return result.problems


@pytest.mark.parametrize("resets", [[1], [3], [3, 3], []])
def test_a_lossy_path_may_lose_the_reset(resets: list[int]) -> None:
    assert problems(resets, LOSSY) == []


@pytest.mark.parametrize("resets", [[3], [], [1, 1], [5]])
def test_a_lossless_path_may_not(resets: list[int]) -> None:
    assert problems(resets, "delay 100ms") == [f"Resets {resets}, expected [1]"]


@pytest.mark.parametrize("resets", [[5], [1, 5], [3, 1]])
def test_no_path_turns_a_reset_into_another(resets: list[int]) -> None:
    assert problems(resets, LOSSY) == [f"Resets {resets}, expected [1]"]


def test_packets_overtaken_by_a_reset_are_answered_with_another() -> None:
    assert problems([1, 3], "delay 50ms 20ms reorder 95%", orders=True) == []
    assert problems([3, 1], "delay 50ms 20ms reorder 95%", orders=True) != []
