"""The statistics by which an emulation is compared with a simulation."""

from __future__ import annotations

import json
import math
import random
import tomllib
from pathlib import Path

import emulation_repair
import pytest
from emulation_cases import CASES, QUICK
from emulation_repair import REPAIR_CASES, REPAIR_QUICK
from emulation_statistics import binomial_tail, ks_p_value, runs

from whimbrel._simulate.simulation import examine
from whimbrel.scenario import Scenario


def test_runs_leave_out_those_that_are_cut_off() -> None:
    fates = [False, False, True, True, False, True, False, False, False, True]
    assert runs(fates) == ([1, 3], [2, 1])
    assert runs([]) == runs([True]) == runs([True, False]) == ([], [])


@pytest.mark.parametrize(
    ("count", "trials", "probability", "expected"),
    [
        # Sums of the distribution of 10 throws of a coin: 1024 outcomes.
        (2, 10, 0.5, 2 * 56 / 1024),
        (9, 10, 0.5, 2 * 11 / 1024),
        (5, 10, 0.5, 1.0),
        (0, 20, 0.1, 2 * 0.9**20),
    ],
)
def test_the_binomial_test_is_exact(count: int, trials: int, probability: float, expected: float) -> None:
    assert math.isclose(binomial_tail(count, trials, probability), expected, rel_tol=1e-9)


def test_ks_accepts_samples_of_one_distribution_and_refuses_others() -> None:
    generator = random.Random(1)  # noqa: S311
    samples = [[generator.expovariate(1.0) for _ in range(300)] for _ in range(200)]
    values = [ks_p_value(a, b) for a, b in zip(samples[::2], samples[1::2], strict=True)]
    # About as many below a bound as the bound says.
    assert 0 <= sum(value < 0.1 for value in values) <= 20
    assert sum(value < 0.5 for value in values) >= 30
    slower = [2 * value for value in samples[0]]
    assert ks_p_value(samples[1], slower) < 1e-6
    assert (ks_p_value([], []), ks_p_value([1.0], [])) == (1.0, 0.0)


def test_ks_is_the_known_value_of_a_small_table() -> None:
    # D = 0.5 with 20 and 20: (sqrt(10) + 0.12 + 0.11 / sqrt(10)) * 0.5 = 1.6585; the tail of that.
    first = [float(value) for value in range(20)]
    second = [float(value + 10) for value in range(20)]
    assert math.isclose(ks_p_value(first, second), 2 * math.exp(-2 * 1.65853**2), rel_tol=1e-3)


def test_the_cases_are_scenarios_and_the_quick_ones_are_among_them() -> None:
    assert set(QUICK) <= {case.name for case in CASES}
    for case in CASES:
        if "mahimahi" not in case.network:
            checked = examine(Scenario.of(tomllib.loads(case.scenario(5.0))))
            assert len(checked.flows) == case.senders


def test_repair_on_sockets_and_simulated_has_the_same_numbers(tmp_path: Path) -> None:
    assert set(REPAIR_QUICK) <= {case.name for case in REPAIR_CASES}
    # 5 s: the greeting, and 147 frames of five datagrams, of which five are key frames with ten more.
    REPAIR_CASES[0].write(tmp_path, "case.toml", 5.0, 2)
    greeted = (tmp_path / "greeted.csv").read_text().splitlines()
    assert len(greeted) == 2 + 147 * 5 + 5 * 10
    assert len((tmp_path / "frames.csv").read_text().splitlines()) == 1 + 30 * 5 + 10
    table = {
        "frames": [100.0],
        "frames_in_time": [99.0],
        "repaired_datagrams": [157.0],
        "repair_overhead": [0.05],
    }
    simulated = emulation_repair.simulated(table, 5.0)
    assert list(simulated.named()) == [
        ("frames in time", [0.99]),
        ("datagrams repaired", [157 / 785]),
        ("overhead of repair", [0.05]),
    ]
    # The two frames of the first second that were given up do not count.
    frames = {"frames_whole": 20, "frames_repaired": 8, "frames_given_up": 2}
    second = {"start_s": 0.0, "up": {"received": frames}}
    received = {
        "frames_whole": 110,
        "frames_repaired": 17,
        "frames_given_up": 3,
        "repeated": 100,
        "restored": 57,
        "delay_variation_p99_s": 0.149,
    }
    sent = {"datagrams": 785, "repair_bytes": 39_250, "bytes": 785_000}
    summary = {"up": {"received": received, "sent": sent}}
    report = {"summary": summary, "intervals": [second, {**second, "start_s": 2.0}]}
    (tmp_path / "report0.json").write_text(json.dumps(report))
    assert emulation_repair.emulated(tmp_path, 1, 0.15) == simulated
    with pytest.raises(ValueError, match="late"):
        emulation_repair.emulated(tmp_path, 1, 0.1)
