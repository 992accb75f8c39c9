"""Batches: long enough to be worth sending, short enough that no worker waits."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel._campaigns.batches import LONGEST_S, SHORTEST_S, Costs, size, take
from whimbrel._campaigns.jobs import Job
from whimbrel.scenario import Scenario


def job(number: int, seconds: int = 10, digest: str = "") -> Job:
    document = {"simulation": {"duration": f"{seconds} s"}}
    return Job(f"{number}", "case", Scenario(document), digest or f"{seconds}", number)


def known(*learned: tuple[Job, float]) -> Costs:
    costs = Costs()
    for each, seconds in learned:
        costs.learn(each, seconds)
    return costs


def test_a_run_is_estimated_from_its_own_kind_then_by_its_size() -> None:
    costs = known((job(1), 0.1), (job(2), 0.3))
    assert costs.estimate_s(job(3)) == pytest.approx(0.2)
    # 20 simulated seconds took 0.4 s, so 40 take 0.8 s
    assert costs.estimate_s(job(4, seconds=40)) == pytest.approx(0.8)
    assert costs.mean_s == pytest.approx(0.2)
    assert Costs().estimate_s(job(1)) is None


def test_without_known_costs_a_single_run_is_taken() -> None:
    waiting = deque(job(number) for number in range(5))
    assert [each.seed for each in take(waiting, Costs(), 2)] == [0]
    assert len(waiting) == 4


def test_batches_are_long_first_and_short_last() -> None:
    costs = known((job(0), 0.125))
    waiting = deque(job(number) for number in range(100))
    sizes = []
    while waiting:
        sizes.append(len(take(waiting, costs, 2)))
    # When one is taken out of 100, a quarter of the others is 99 * 0.125 s / 4 = 3.1 s, and 2 s is the limit:
    # 16 runs. Out of 52 it is 1.6 s, 12 runs; out of 40 1.2 s, 9 runs; and finally 0.25 s, 2 runs.
    assert sizes == [16, 16, 16, 12, 9, 7, 5, 4, 3, 2, 2, 2, 2, 2, 2]


def test_a_long_run_goes_alone() -> None:
    costs = known((job(0, seconds=600), 3.0))
    waiting = deque(job(number, seconds=600) for number in range(4))
    assert len(take(waiting, costs, 1)) == 1


@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=60),
    st.floats(1e-4, 2.0),
    st.integers(1, 64),
)
def test_every_job_is_taken_once_and_no_batch_is_too_long(
    lengths: list[int], seconds: float, slots: int
) -> None:
    jobs = [job(number, length) for number, length in enumerate(lengths)]
    costs = known((job(-1, 10), seconds))
    waiting, taken = deque(jobs), []
    while waiting:
        left = len(waiting)
        batch = take(waiting, costs, slots)
        work = sum(costs.estimate_s(each) or 0.0 for each in batch)
        assert len(batch) == 1 or work <= LONGEST_S
        # the batch ended because the next job would have exceeded the shortest length, not before
        if waiting:
            assert work + (costs.estimate_s(waiting[0]) or 0.0) > SHORTEST_S
        assert len(waiting) == left - len(batch)
        taken += batch
    assert taken == jobs


@pytest.mark.parametrize(
    ("document", "overrides", "expected"),
    [
        ({}, (), 1.0),
        ({"simulation": {"duration": "90 s"}, "flow": [{"name": "a"}]}, (), 90.0),
        ({"simulation": {"duration": "2 min"}, "flow": [{"count": 3}, {"name": "b"}]}, (), 480.0),
        ({"simulation": {"duration": "500 ms"}, "flow": []}, (), 0.5),
        ({"simulation": {"duration": "90 s"}}, ("simulation.duration=10 s",), 10.0),
        ({"simulation": {"duration": "90 s"}}, ('simulation.duration="1e1 s"',), 10.0),
        ({"simulation": {"duration": "1 s"}, "flow": [{"name": "f"}]}, ("flow.f.count=16",), 16.0),
        (
            {"variables": {"N": 4}, "simulation": {"duration": "1 s"}, "flow": [{"count": "$N"}]},
            ("variables.N=8",),
            8.0,
        ),
        # estimates ignore scenarios that the simulator will refuse
        ({"simulation": {"duration": "long"}, "flow": [{"count": "many"}]}, (), 1.0),
        ({"simulation": [], "flow": "x"}, ("nonsense",), 1.0),
    ],
)
def test_the_size_of_a_run(document: dict[str, object], overrides: tuple[str, ...], expected: float) -> None:
    assert size(Scenario(document, overrides)) == pytest.approx(expected)
