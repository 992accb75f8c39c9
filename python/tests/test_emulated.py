"""Kernel stacks over emulated networks: scenarios, figures, table, and one item where it can be measured."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import emulated
import pytest
from confront_cells import RENO, SECONDS
from emulated import EMULATED, SIMULATED, Row, rows_of, table
from emulated_items import ITEMS, Item, single

from whimbrel import Result
from whimbrel._reproduce import sweep
from whimbrel._reproduce.plan import read_plans
from whimbrel._reproduce.rebuild import rebuild
from whimbrel.comparing import samples

ROOT = Path(__file__).parents[2]


def test_throughput_is_what_arrived_over_the_time_of_the_flow() -> None:
    item = ITEMS[0]
    flows = {
        "flow": ["flow1", "flow0"],
        "sent_packets": [1000, 2000],
        "lost_queue": [10, 100],
        "lost_down": [20, 0],
        "lost_wireless": [0, 0],
        "bottleneck_bytes": [100_000, 150_000],
        "bottleneck_packets": [100, 100],
        "received_packets": [970, 1900],
    }
    first, second = rows_of(flows, item, EMULATED, 1)
    assert first.throughput_bps == pytest.approx(1900 * 1500 * 8 / SECONDS)
    assert second.throughput_bps == pytest.approx(970 * 1000 * 8 / (SECONDS - item.offset_s(1, 1)))
    assert (first.loss, second.loss) == (0.05, 0.03)


def test_a_deviation_that_is_too_large_is_marked_and_counted() -> None:
    item = ITEMS[2]
    rates = {EMULATED: (1.0e6, 1.2e6), SIMULATED: (0.8e6, 0.8e6)}
    found = [
        Row(item, 0, stack, run, rate, 0.01) for stack, both in rates.items() for run, rate in enumerate(both)
    ]
    lines, failed = table(found, [item])
    assert failed == 1
    assert lines[-1].endswith("| 1.10 ± 0.14 | 0.80 ± 0.00 | +37.5 % (!) |")
    assert table([row for row in found if row.run == 0], [item])[1] == 0


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: f"{item.paper}: {item.name}")
def test_every_item_is_a_scenario(item: Item) -> None:
    rows = emulated.simulate(item, 0)
    assert [row.flow for row in rows] == list(range(len(item.protocols)))
    assert all(1e5 < row.throughput_bps < 11.1e6 for row in rows)


def emulator() -> str:
    """A program that can emulate; without one the test is skipped, or fails if it is required."""
    whimbrel = Path(sys.executable).parent / "whimbrel"
    program = os.environ.get("WHIMBREL_PROGRAM") or str(whimbrel)
    if reason := emulated.missing(program):
        if os.environ.get("REQUIRE_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return program


def test_the_kernels_tcp_shares_an_emulated_path_with_udp_as_the_simulated_one(tmp_path: Path) -> None:
    program = emulator()
    command = [
        sys.executable,
        str(ROOT / "interop" / "stacks" / "emulated.py"),
        "--quick",
        "--out",
        str(tmp_path),
    ]
    done = subprocess.run([*command, "--whimbrel", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "runs.csv").read_text().count("\n") == 5


def test_the_record_of_an_emulation_is_read_compared_and_reported(tmp_path: Path) -> None:
    program = emulator()
    scenario = tmp_path / "two.json"
    scenario.write_text(json.dumps(single(RENO, 1.0, {})))
    out = tmp_path / "out"
    for seed in ("1", "2"):
        words = [program, "emulate", str(scenario), "-q", "--seed", seed, "--out", str(out)]
        sending = "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        sending += "[s.sendto(bytes(100), ('r0', 9)) for _ in range(3)]; time.sleep(0.3)"
        subprocess.run([*words, "--", sys.executable, "-c", sending], check=True, capture_output=True)
    result = Result.read(out / "two" / "records" / "emulation-2.record")
    with (out / "flows.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert list(result.flows["flow"]) == [row["flow"] for row in written] == ["flow0", "r0>s0"]
    assert [str(value) for value in result.flows["sent_packets"]] == [row["sent_packets"] for row in written]
    assert result.flows.one("sent_packets", flow="flow0") == 3
    # The tables hold the last run alone.
    assert (samples.read(out).kind, samples.read(out).runs) == ("campaign", 2)
    # Two repetitions of each flow.
    (plan,) = read_plans(out)["two"]
    swept = sweep.read(plan, out)
    assert [(line.flow, line.values["goodput_bps"].sample.size) for line in swept.lines] == [
        ("flow0", 2),
        ("r0>s0", 2),
    ]
    assert "flow0" in (rebuild(out)).read_text()
