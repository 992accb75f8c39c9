"""The figures of a sweep: the capacity over time, the title, and where the files are."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whimbrel.__main__ import main

SCENARIO = """
title = "A call over a road"
[variables]
recording = "road.csv"
[simulation]
duration = "20 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
trace = { file = "$recording", format = "rate" }
delay = "20 ms"
queue = "20 packets"
reverse = { rate = "2 Mbit/s" }
loss = { model = "bernoulli", rate = "1 %" }
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "dccp"
ccid = 3
[record]
interval = "1 s"
[sweep]
"""
DELAY = '"link.radio.delay" = ["10 ms", "40 ms"]\n'
FILES = '"variables.recording" = ["road.csv", "street.csv"]\n'
ROAD = "time_s,rate_mbps\n0,0.4\n5.5,12\n10,3\n"
"""The last rate holds as long as the one before it: for 4.5 s."""

Sweep = Callable[..., tuple[list[str], dict[str, Any]]]


@pytest.fixture(name="swept")
def _swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Sweep:
    """Runs a sweep; returns the lines that it prints, and the chart of the rates."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "road.csv").write_text(ROAD)
    (tmp_path / "street.csv").write_text(ROAD.replace("12", "2"))

    def run(axes: str, *options: str) -> tuple[list[str], dict[str, Any]]:
        (tmp_path / "call.toml").write_text(SCENARIO + axes)
        assert main(["sweep", "call.toml", "--max-runs", "3", *options]) == 0
        chart = json.loads(Path("out/call/sweep-rate_over_time.vl.json").read_text())
        return capsys.readouterr().out.splitlines(), chart

    return run


def names(chart: dict[str, Any]) -> list[str]:
    """The legend of a chart."""
    found: list[str] = chart["layer"][0]["encoding"]["color"]["scale"]["domain"]
    return found


def curve(chart: dict[str, Any], name: str) -> dict[float, float | None]:
    """The points of a curve."""
    return {point["x"]: point["y"] for point in chart["data"]["values"] if point["column"] == name}


def test_a_recorded_capacity_moves(swept: Sweep) -> None:
    _, chart = swept(DELAY)
    assert names(chart) == ["call (10 ms)", "call (40 ms)", "capacity of radio"]
    capacity = curve(chart, "capacity of radio")
    assert list(capacity) == list(curve(chart, "call (10 ms)")) == [float(end) for end in range(1, 21)]
    expected = {1: 0.4, 5: 0.4, 6: 6.2, 7: 12, 10: 12, 11: 3, 14: 3, 15: 1.7, 16: 0.4, 20: 0.4}
    assert {end: capacity[end] for end in expected} == pytest.approx(expected)
    # The rates cover the capacity.
    assert chart["data"]["values"][0]["column"] == "capacity of radio"


def test_recordings_of_combinations_have_curves_of_their_own(swept: Sweep) -> None:
    _, chart = swept(FILES)
    assert names(chart)[2:] == ["capacity of radio (road.csv)", "capacity of radio (street.csv)"]
    assert curve(chart, names(chart)[2])[8] == pytest.approx(12)
    assert curve(chart, names(chart)[3])[8] == pytest.approx(2)


def test_a_capacity_that_events_change_moves(swept: Sweep) -> None:
    event = '[[event]]\ntime = "7 s"\nlink = "radio"\nrate = "1 Mbit/s"\n'
    options = ["--set", "link.radio.trace.repeat=false"]
    _, chart = swept(DELAY + event, *options)
    capacity = curve(chart, "capacity of radio")
    assert [capacity[end] for end in (5, 7, 8, 20)] == pytest.approx([0.4, 12, 1, 1])


def test_figures_name_the_scenario_and_the_seeds(swept: Sweep) -> None:
    _, chart = swept(DELAY, "--precision", "0.00001", "--seed", "4")
    assert chart["title"]["text"] == "Throughput over time"
    assert chart["title"]["subtitle"] == ["Sweep: A call over a road", "seed 4 of seeds 4 to 6"]
    _, chart = swept(DELAY, "--quick")
    assert chart["title"]["subtitle"][1:] == ["Sweep: A call over a road", "seed 1"]


def test_the_command_says_where_the_figures_are(swept: Sweep) -> None:
    printed, _ = swept(DELAY, "--figures", "pdf,png")
    assert "figures: out/call/sweep-{goodput,delay_mean,rate_over_time}.{pdf,png}" in printed
    assert "figures: out/call/sweep-{goodput,delay_mean,rate_over_time}.svg" in swept(DELAY)[0]
    printed, _ = swept(DELAY, "--figures", "pdf,png", "--json")
    listed = json.loads(printed[0])["figures"]
    assert "out/call/sweep-rate_over_time.pdf" in listed
    assert {Path(name).suffix for name in listed} == {".pdf", ".png"}
    assert all(Path(name).is_file() for name in listed)
