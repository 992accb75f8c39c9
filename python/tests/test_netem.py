"""The comparison with Linux's tbf and netem: scenarios, jobs, and what counts as a deviation."""

from __future__ import annotations

import random
import tomllib
from dataclasses import replace

import pytest
from emulation import Measured, overtaken
from netem import CLOCK_PATH, Line, compare, measured, page
from netem_cases import EXPLAINED, PATHS, QUICK, Path, script

from whimbrel._simulate.simulation import examine
from whimbrel.scenario import Scenario

SECONDS = 2.0


def named(name: str) -> Path:
    """The path of this name."""
    (path,) = (path for path in (*PATHS, *EXPLAINED) if path.case.name == name)
    return path


@pytest.mark.parametrize("path", [*PATHS, *EXPLAINED], ids=lambda path: path.case.name)
def test_every_path_is_a_scenario(path: Path) -> None:
    examine(Scenario(tomllib.loads(path.case.scenario(SECONDS))))


def test_the_quick_form_and_the_clock_have_their_paths() -> None:
    assert {named(name).case.name for name in QUICK} == set(QUICK)
    assert named(CLOCK_PATH) in EXPLAINED


def test_a_job_sends_trains_through_both_routers() -> None:
    job = script([named("trains of 20, tbf with a burst of 20 kB")], SECONDS)
    assert "tc -n m.c0 qdisc add dev mn root stab overhead -14 tbf rate 10mbit burst 20kb limit 50000" in job
    assert "tc -n n.c0 qdisc add dev nr root stab overhead -14 netem delay 20ms limit 10000" in job
    # 20 packets of 1000 B take 100 ms at 1.6 Mbit/s.
    assert "stamped send 10.60.3.2 5000 972 100000000 400 20\n" in job


def test_a_receivers_lines_become_rates_delays_and_losses() -> None:
    path = named("10 Mbit/s, 50 kB")
    interval_ns = round(path.case.interval_s * 1e9)
    count = path.case.count(4.0)
    lines = [
        f"{number},{number * interval_ns},{number * interval_ns + 25_000_000}"
        for number in range(count)
        if number not in (100, 101, 900)
    ]
    found = measured(path, lines, 4.0)
    assert (found.lost, found.sent, found.loss_runs) == (3, count, [2, 1])
    assert found.delay_s == pytest.approx(0.025)
    assert found.throughput_bps == pytest.approx(12e6, rel=1e-3)
    assert found.overtaken == 0


def test_a_packet_is_overtaken_if_a_later_one_was_there_before() -> None:
    assert overtaken([0.0, 0.1, 0.3, 0.2, 0.25, 0.4]) == 2
    assert overtaken([0.0, 0.0, 0.1]) == 0


def failing(path: Path, kernel: Measured, model: Measured) -> list[str]:
    """The quantities in which a model deviates."""
    return [line.quantity for line in compare(path, kernel, (kernel, model)) if not line.holds]


def test_a_model_with_another_rate_queue_or_loss_deviates() -> None:
    full = named("10 Mbit/s, 50 kB")
    kernel = Measured(10e6, 0.0597, 160, 1000, [], [])
    assert failing(full, kernel, kernel) == []
    assert failing(full, kernel, replace(kernel, throughput_bps=10.1e6)) == ["throughput, Mbit/s"]
    # A queue that holds one packet more.
    assert failing(full, kernel, replace(kernel, delay_s=0.0605)) == ["median delay, ms"]
    assert failing(full, kernel, replace(kernel, lost=170)) == ["lost packets, %"]
    differs = named("a full link, netem's own rate")
    assert failing(differs, kernel, replace(kernel, delay_s=0.04)) == []


def test_losses_of_another_probability_or_in_other_bursts_deviate() -> None:
    generator = random.Random(1)  # noqa: S311
    gaps = [round(generator.expovariate(0.01)) for _ in range(200)]
    kernel = Measured(8e6, 0.02, 200, 20_000, [1] * 200, gaps)
    single = named("1 % random losses")
    assert failing(single, kernel, kernel) == []
    assert failing(single, kernel, replace(kernel, lost=300)) == ["lost packets, %"]
    bursts = named("bursts of losses")
    assert failing(bursts, kernel, replace(kernel, loss_runs=[3] * 200)) == ["run of losses, packets"]


def test_delays_of_another_deviation_and_another_share_of_late_packets_deviate() -> None:
    path = named("50 ± 10 ms, normal")
    generator = random.Random(1)  # noqa: S311
    narrow, wide = ([generator.gauss(0.05, sigma) for _ in range(5000)] for sigma in (0.010, 0.012))
    kernel = Measured(8e6, 0.05, 0, 5000, [], [], delays_s=narrow, overtaken=4000)
    assert failing(path, kernel, kernel) == []
    assert failing(path, kernel, replace(kernel, delays_s=wide)) == ["delay of the delayed, ms"]
    assert failing(path, kernel, replace(kernel, overtaken=3500)) == ["overtaken, %"]


def test_the_page_has_both_tables_and_the_percentiles() -> None:
    rows = [
        Line(path.case.name, "throughput, Mbit/s", ("1", "2", "3"), "", holds=True)
        for path in (*PATHS, *EXPLAINED)
    ]
    text = page(rows, {path.case.name for path in EXPLAINED}, [("one", 0.001, 0.002, 0.003)], SECONDS, "6.1")
    first, second = text.split("Where the disciplines differ")
    assert all(path.case.name in first for path in PATHS)
    assert all(path.case.name in second and path.case.name not in first for path in EXPLAINED)
    assert "| one | 1.000 | 2.000 | 3.000 |" in second
