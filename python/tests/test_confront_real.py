"""The real confronts' recorded figures, their table and the guest's job; nothing here needs a guest."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import confront
import confront_cells
import pytest
from confront_cells import (
    CCID2,
    CUBIC,
    LINUX,
    OURS,
    PAIRS,
    RECORDED_PAIRS,
    SECONDS,
    SIMULATED,
    UDP,
    VARIED,
    Cell,
)
from confront_table import HEAD, Row, lines, names, read, rows, table, write

ROOT = Path(__file__).parents[2]
PAIR = (CUBIC, CCID2)


def counters(sent: int, got: int, octets: int) -> str:
    """Counters as the guest leaves them: both flows alike, the second with twice the packets."""
    text = ""
    for factor in (1, 2):
        for direction, packets in (("tx", sent), ("rx", got)):
            stats = {direction: {"packets": factor * packets, "bytes": factor * octets}}
            text += json.dumps([{"ifname": "x", "stats64": stats}]) + "\n"
    return text + json.dumps([{"kind": "tbf", "drops": 7}]) + "\n"


def test_throughput_is_of_ip_packets_over_the_time_of_the_flow() -> None:
    cell = Cell(0, PAIR, OURS, 1)
    first, second = rows(cell, counters(10, 10, 1000), counters(1010, 1000, 991000))
    # 990 packets of 1000 bytes, of which 14 are Ethernet's.
    assert first.throughput_bps == pytest.approx(8 * 990 * 986 / SECONDS)
    assert first.loss == pytest.approx(0.01)
    assert second.throughput_bps == pytest.approx(8 * 2 * 990 * 986 / (SECONDS - cell.offset_s))
    assert (second.pair, second.stack, second.run, second.flow) == (names(PAIR), OURS, 1, 1)


def row(stack: str, flow: int, rate: float, run: int = 0) -> Row:
    return Row(names(PAIR), stack, run, flow, rate, 0.01)


def test_a_line_has_means_spreads_and_deviations() -> None:
    found = [
        row(SIMULATED, 1, 6e6),
        row(OURS, 1, 4e6),
        row(OURS, 1, 6e6, run=1),
        row(LINUX, 1, 8e6),
    ]
    (line,) = lines(found)
    assert line.deviation(SIMULATED, OURS) == pytest.approx(0.2)
    assert line.deviation(SIMULATED, LINUX) == pytest.approx(-0.25)
    assert line.deviation(VARIED, OURS) is None
    assert not line.is_close
    assert str(line) == "| DCCP-2 against TCP Cubic | 6.00 ± 0 % |  | 5.00 ± 20 % | 8.00 ± 0 % | +20 % |  |"
    assert table(found) == [*HEAD, str(line)]


def test_simulated_dccp_has_to_agree_with_our_sockets_and_a_tcp_without_it_with_linux() -> None:
    near_ours = [row(SIMULATED, 1, 5.7e6), row(OURS, 1, 5e6), row(LINUX, 1, 9e6)]
    assert lines(near_ours)[0].is_close
    assert not lines([replace(each, pair=names((CUBIC, UDP))) for each in near_ours])[0].is_close
    assert not lines(near_ours[1:])[0].is_close


def test_a_file_has_every_row(tmp_path: Path) -> None:
    found = [row(SIMULATED, 1, 6e6), row(OURS, 0, 4e6)]
    write(found, tmp_path / "runs.csv")
    assert read(tmp_path / "runs.csv") == found


def test_the_documents_table_is_that_of_the_recorded_runs() -> None:
    found = read(confront.RECORDED)
    assert {each.pair for each in found} == {names(pair) for pair in RECORDED_PAIRS}
    # The deviations that the text states.
    apart = [line for line in lines(found) if not line.is_close and line.pair[line.flow] != "UDP"]
    pair = ("TCP Cubic", "DCCP-2")
    assert [(line.pair[line.flow], line.pair) for line in apart] == [("TCP Cubic", pair), ("DCCP-2", pair)]
    known = table(found)
    _, section = (ROOT / "papers" / "confront" / "beyond.md").read_text().split("\n## Real stacks\n")
    printed = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("|")]
    assert [line for line in printed if line in known] == known


def test_the_recorded_simulations_are_those_of_the_scenario() -> None:
    recorded = [each for each in read(confront.RECORDED) if each.stack == SIMULATED and each.run == 0]
    for pair in ((CUBIC, UDP), PAIR):
        then = [each.throughput_bps for each in recorded if each.pair == names(pair)]
        again = [rate for rate, _ in confront.simulated(pair, 0)]
        assert again == pytest.approx(then, rel=0.05)


def test_the_interruptions_of_the_scenario_lose_packets() -> None:
    document = confront_cells.scenario((CUBIC, UDP), 0)
    assert [event["up"] for event in document["event"]] == [False, True, False, True]
    _, (_, loss) = confront.simulated((CUBIC, UDP), 0)
    # The losses of UDP in two gaps alone.
    assert loss > 2 * confront_cells.GAP_S / SECONDS * 0.9


def test_the_job_has_every_confront_once() -> None:
    cells = confront_cells.cells(PAIRS, 2)
    assert [cell.number for cell in cells] == list(range(len(cells)))
    # Without DCCP there is one stack.
    assert len({replace(cell, number=0) for cell in cells}) == len(cells) == 2 * (3 + 2 * 8)
    job = confront_cells.script(cells, 3)
    assert all(job.count(f"\nconfront {cell.number} ") == 1 for cell in cells)
    assert job.count("\n) &") == 3


@pytest.mark.parametrize("shell", ["sh", "busybox"])
def test_the_job_is_a_script(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "job.sh"
    file.write_text(confront_cells.script(confront_cells.cells(PAIRS, 1), 3))
    applet = ["sh"] if shell == "busybox" else []
    subprocess.run([program, *applet, "-n", str(file)], check=True)


def report(tmp_path: Path, **changes: Any) -> str | None:
    """The problem of a confront with such a report of its DCCP sender."""
    said = {"end": "closed", "error": "", "tx_ccid": 2} | changes
    (tmp_path / "0.source0.errors").write_text("")
    (tmp_path / "0.source1").write_text(json.dumps(said))
    return confront.problem(Cell(0, PAIR, OURS, 0), tmp_path)


def test_a_flow_that_failed_or_used_another_ccid_is_a_problem(tmp_path: Path) -> None:
    assert report(tmp_path) is None
    assert "too long" in (report(tmp_path, end="failed", error="too long") or "")
    assert report(tmp_path, tx_ccid=3) is not None
