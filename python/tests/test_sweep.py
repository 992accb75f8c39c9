"""`whimbrel sweep` with the real simulator."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars
import pytest

from whimbrel.__main__ import main
from whimbrel._base import output
from whimbrel._reproduce import sweep as sweep_runs
from whimbrel._reproduce.plan import Cell, Plan
from whimbrel._simulate.record_format import encode
from whimbrel._simulate.records import Records
from whimbrel._values.table import Table
from whimbrel.errors import OutputError
from whimbrel.sheet import read_sheet

SCENARIO = """
title = "A call"
[variables]
classifier = "none"
[simulation]
duration = "5 s"
warm_up = "1 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
rate = "2 Mbit/s"
delay = "20 ms"
queue = "20 packets"
loss = { model = "bernoulli", rate = "1 %" }
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "dccp"
ccid = 3
classifier = "$classifier"
[[flow]]
name = "scenery"
from = "a"
to = "b"
transport = "udp"
background = true
traffic = { kind = "on-off", rate = "400 kbit/s" }
[sweep]
"""


Sweep: TypeAlias = Callable[..., tuple[int, str, str]]
"""Axes, options and a scenario; status, output and standard error."""


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Sweep:
    """Runs a sweep over the given axes; returns its status, its output and its standard error."""
    monkeypatch.chdir(tmp_path)

    def run(axes: str, *options: str, text: str = SCENARIO) -> tuple[int, str, str]:
        (tmp_path / "call.toml").write_text(text + axes)
        status = main(["sweep", "call.toml", "--out", "out", *options])
        actual = capsys.readouterr()
        return status, actual.out, actual.err

    return run


def rows(name: str) -> list[dict[str, str]]:
    with Path(f"out/call/{name}").open(newline="") as file:
        return list(csv.DictReader(file))


DELAY = '"link.radio.delay" = ["10 ms", "40 ms"]\n'
LOSS = '"link.radio.loss.rate" = ["0.5 %", "2 %"]\n'


def test_two_keys_have_columns_and_curves_of_their_own(sweep: Sweep) -> None:
    status, actual, _ = sweep(DELAY + LOSS, "--max-runs", "3", "--precision", "0.5", "--json")
    assert status == 0
    named = json.loads(actual)
    found = rows("sweep.csv")
    # Two metrics each; background flows are left out.
    assert {line["flow"] for line in found} == {"call"}
    assert [(line["link.radio.delay"], line["link.radio.loss.rate"]) for line in found[::2]] == [
        ("10 ms", "0.5 %"),
        ("10 ms", "2 %"),
        ("40 ms", "0.5 %"),
        ("40 ms", "2 %"),
    ]
    sheet = read_sheet(Path("out/call"), "sweep").sheet
    assert (sheet.row_label, list(sheet.rows)) == ("link.radio.delay (ms)", ["10", "40"])
    assert (sheet.column_label, list(sheet.columns)) == ("link.radio.loss.rate", ["0.5 %", "2 %"])
    chart = json.loads(Path("out/call/sweep-goodput.vl.json").read_text())
    assert {point["column"] for point in chart["data"]["values"]} == {"0.5 %", "2 %"}
    # The runs themselves are next to their means.
    runs = rows("sweep-runs.csv")
    assert len(runs) == 12
    assert named["runs"] == "out/call/sweep-runs.csv"
    for line in found:
        if line["metric"] == "goodput":
            same = [
                float(run["goodput_bps"]) / 1e3
                for run in runs
                if all(run[key] == line[key] for key in ("link.radio.delay", "link.radio.loss.rate", "flow"))
            ]
            assert sum(same) / len(same) == pytest.approx(float(line["ours"]))
    assert {run["seed"] for run in runs} == {"1", "2", "3"}


def test_the_report_names_the_command_that_repeats_the_sweep(sweep: Sweep) -> None:
    options = ("--set", "link.radio.rate=1 Mbit/s", "--quick", "--seed", "3")
    assert sweep('"flow.call.ccid" = [2, 3]\n', *options)[0] == 0
    command = "whimbrel sweep call.toml --set &#x27;link.radio.rate=1 Mbit/s&#x27; --quick --seed 3"
    assert f"Again: <code>{command}</code>" in Path("out/index.html").read_text()


def test_what_is_recorded_is_drawn_over_time_and_by_delay(sweep: Sweep) -> None:
    recorded = SCENARIO.replace("[sweep]", '[record]\ninterval = "1 s"\npackets = true\n[sweep]')
    assert sweep(DELAY, "--quick", text=recorded)[0] == 0
    sheet = read_sheet(Path("out/call"), "sweep")
    assert {"sweep-rate_over_time", "sweep-delay_distribution"} <= set(sheet.about["charts"])
    chart = json.loads(Path("out/call/sweep-rate_over_time.vl.json").read_text())
    points = chart["data"]["values"]
    names = ["call (10 ms)", "call (40 ms)", "capacity of 2 Mbit/s"]
    assert chart["layer"][0]["encoding"]["color"]["scale"]["domain"] == names
    # The rates cover the capacity.
    assert list(dict.fromkeys(point["column"] for point in points)) == [names[2], *names[:2]]
    rates = [point["y"] for point in points if point["column"] == names[0]]
    assert len(rates) == 5
    assert 0 < max(rates) <= 2
    assert {point["y"] for point in points if point["column"] == names[2]} == {2}
    chart = json.loads(Path("out/call/sweep-delay_distribution.vl.json").read_text())
    for name, propagation in (("call (10 ms)", 10), ("call (40 ms)", 40)):
        curve = [(each["x"], each["y"]) for each in chart["data"]["values"] if each["column"] == name]
        # A packet has at least the link's delay, and at most the delay of its queue in addition.
        assert (curve[0][1], curve[-1][1]) == (0, 1)
        assert curve == sorted(curve)
        assert propagation < curve[0][0] < curve[-1][0] < propagation + 150
    assert "Delays of packets" in Path("out/index.html").read_text()


def test_the_runs_are_also_parquet_on_request(sweep: Sweep) -> None:
    status, actual, _ = sweep(DELAY + LOSS, "--max-runs", "2", "--precision", "0.5", "--parquet", "--json")
    assert status == 0
    table = polars.read_parquet(json.loads(actual)["parquet"])
    runs = rows("sweep-runs.csv")
    assert table.columns == list(runs[0])
    assert table.height == len(runs) == 8
    assert table["link.radio.delay"].to_list() == [run["link.radio.delay"] for run in runs]
    assert table["goodput_bps"].dtype == polars.Float64
    assert table["goodput_bps"].to_list() == [float(run["goodput_bps"]) for run in runs]
    assert table["seed"].dtype == polars.Int64
    assert not list(Path("out/call").glob("*.tmp"))


def test_parquet_without_polars_is_an_error_before_the_first_run(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    status, _, complaint = sweep(DELAY, "--max-runs", "2", "--parquet")
    assert status == 2
    assert "pip install 'whimbrel[tables]'" in complaint
    assert not Path("out").exists()


def test_the_terminal_shows_the_table_and_the_wide_intervals(sweep: Sweep) -> None:
    status, actual, _ = sweep(DELAY, "--max-runs", "3", "--precision", "0.0001")
    assert status == 0
    head = next(line for line in actual.splitlines() if "link.radio.delay" in line)
    assert "Goodput (kbit/s)" in head
    assert "Delay mean (ms)" in head
    assert "runs" in head
    line = next(line for line in actual.splitlines() if line.startswith("40 ms"))
    assert "±" in line
    assert "*" in line
    assert line.split()[-1] == "3"
    assert "4 of 4 intervals are wider than ±0.01 % of the mean after 3 runs." in actual.replace("\n", " ")
    assert "wider than" in read_sheet(Path("out/call"), "sweep").sheet.note
    _, actual, _ = sweep(DELAY, "--max-runs", "40", "--precision", "0.9")
    assert "wider" not in actual
    assert "*" not in actual


def test_every_interval_not_reported_as_wide_is_as_narrow_as_required(sweep: Sweep) -> None:
    status, actual, _ = sweep(DELAY + LOSS, "--max-runs", "12", "--precision", "0.08", "--json")
    assert status == 0
    wide = 0
    for line in rows("sweep.csv"):
        half = (float(line["ci_high"]) - float(line["ci_low"])) / 2
        is_wide = half > 0.08 * abs(float(line["ours"]))
        assert not is_wide or int(line["n"]) == 12, line
        wide += is_wide
    assert json.loads(actual)["wide"] == wide


def test_runs_without_randomness_are_made_once(sweep: Sweep) -> None:
    fixed = SCENARIO.replace('{ model = "bernoulli", rate = "1 %" }', '"none"').replace(
        'kind = "on-off"', 'kind = "cbr"'
    )
    status, actual, _ = sweep(DELAY, text=fixed)
    assert status == 0
    assert {(line["n"], line["ci_low"], line["ci_high"]) for line in rows("sweep.csv")} == {("1", "", "")}
    assert "Nothing in these runs is random" in actual
    assert "±" not in actual
    assert len(list(Path("out/call/records").glob("*.record"))) == 2


def test_transports_can_be_swept(sweep: Sweep) -> None:
    status, _, said = sweep('"flow.call.transport" = ["dccp", "tcp"]\n', "--quick", "--json")
    assert status == 0, said
    assert [run["scheme"] for run in rows("sweep-runs.csv")] == ["ccid3", "tcp-sack"]
    together = """transport = [
        { name = "TFRC", "flow.call.ccid" = 3, "link.radio.delay" = "10 ms" },
        { name = "TCP", "flow.call.transport" = "tcp", "flow.call.tcp.variant" = "reno" },
    ]"""
    status, _, said = sweep(together, "--quick", "--json")
    assert status == 0, said
    assert [(run["transport"], run["scheme"]) for run in rows("sweep-runs.csv")] == [
        ("TFRC", "ccid3"),
        ("TCP", "tcp-reno"),
    ]


@pytest.mark.parametrize(
    ("axes", "options", "words"),
    [
        ('"variables.clasifier" = ["zbs"]\n', (), "did you mean `classifier`?"),
        ('"link.radio.delai" = ["1 ms"]\n', (), "did you mean `delay`?"),
        ('"link.radio.delay" = ["1 ms", "2"]\n', (), "a time with its unit"),
        ('"link.radio.delay" = ["1 ms", "1 ms"]\n', (), "lists 1 ms twice"),
        ('"flow.call.ccid" = [3, 9]\n', (), "= 9: ccid"),
        (DELAY, ("--metric", "speed"), "no metric 'speed'"),
        (DELAY, ("--precision", "0"), "positive"),
        (DELAY, ("--set", "variables.clasifier=zbs"), "did you mean `classifier`?"),
        (DELAY, ("--set", "flow.call.background=true"), "all are marked as background"),
    ],
)
def test_errors_are_reported_before_the_first_run(
    sweep: Sweep, axes: str, options: tuple[str, ...], words: str
) -> None:
    status, _, said = sweep(axes, *options, "--json")
    assert status != 0
    assert words.split(":")[0] in said, said
    assert not Path("out").exists()


def test_a_read_only_directory_is_reported_before_the_first_run(sweep: Sweep) -> None:
    Path("out").write_text("a file")
    status, _, said = sweep(DELAY)
    # As of `whimbrel run --out`.
    assert status == 1
    assert "--out out: cannot write results there" in said
    assert Path("out").read_text() == "a file"


RECORDED = SCENARIO.replace(
    'rate = "2 Mbit/s"', 'trace = { file = "rates.csv", format = "rate", start = "%s" }'
).replace('loss = { model = "bernoulli", rate = "1 %" }', 'reverse = { rate = "1 Mbit/s" }')
RECORDED = RECORDED[: RECORDED.index('[[flow]]\nname = "scenery"')] + "[sweep]\n"


def test_seeds_over_a_recording_are_repetitions_if_it_starts_at_random(sweep: Sweep) -> None:
    Path("rates.csv").write_text(
        "time_s,rate_kbps\n" + "".join(f"{at},{500 + 40 * at}\n" for at in range(60))
    )
    options = ("--max-runs", "4", "--precision", "0.001")
    # A random start makes the runs random, within a nanosecond; the recording is the same in all of them.
    fixed = (RECORDED % "beginning").replace("ccid = 3", 'ccid = 3\nstart_jitter = "1 ns"')
    status, actual, said = sweep(DELAY, *options, text=fixed)
    assert status == 0, said
    note = " ".join(actual.split())
    assert "identical in 3 runs" in note
    assert "± 0.0" not in note
    assert "Every run meets the recording link.radio.trace from its beginning" in note
    assert "identical in 3 runs" in Path("out/index.html").read_text()
    status, actual, said = sweep(DELAY, *options, text=RECORDED % "random")
    assert status == 0, said
    assert "identical" not in actual
    assert "from its beginning" not in actual
    spread = [float(line["ci_high"]) - float(line["ci_low"]) for line in rows("sweep.csv")]
    assert all(each > 0 for each in spread), spread


def test_json_contains_the_results(sweep: Sweep) -> None:
    status, actual, _ = sweep(DELAY, "--max-runs", "3", "--precision", "0.5", "--json")
    assert status == 0
    found = json.loads(actual)["results"]
    assert [each["settings"] for each in found[::2]] == [
        {"link.radio.delay": delay} for delay in ("10 ms", "40 ms")
    ]
    for each, line in zip(found, rows("sweep.csv"), strict=True):
        assert (each["flow"], each["metric"], each["unit"]) == (line["flow"], line["metric"], line["unit"])
        assert each["mean"] == float(line["ours"])
        assert (each["low"], each["high"]) == (float(line["ci_low"]), float(line["ci_high"]))
        assert (each["runs"], each["identical"]) == (3, False)


def test_an_error_names_the_value_at_fault_and_no_other_case(sweep: Sweep) -> None:
    axes = """case = [
        { name = "first", "flow.call.transport" = "tcp" },
        { name = "second", "flow.call.ccid" = 9 },
    ]"""
    status, _, said = sweep(axes, "--quick", "--json")
    assert status == 1
    assert "second: flow[0].ccid = 9" in said, said
    status, _, said = sweep(axes.replace('"flow.call.ccid" = 9', '"link.radio.delay" = "2"'), "--json")
    assert status == 1
    assert 'call.toml: sweep.case[1].link[0].delay = "2"' in said, said
    assert "first" not in said
    # A combination is at fault where each of its values is right.
    axes = '"link.radio.trace" = [{ file = "none.csv", format = "rate" }]\n'
    status, _, said = sweep(axes, "--quick", "--json")
    assert status == 1
    assert "link[0].trace" in said, said


def test_a_sweep_of_millions_is_refused(sweep: Sweep) -> None:
    values = ", ".join(f'"{value} us"' for value in range(3500))
    status, _, said = sweep(
        f'"link.radio.delay" = [{values}]\n"flow.call.start" = [{values}]\n', "--quick", "--json"
    )
    assert status == 1
    assert "12250000 combinations" in said
    assert not Path("out").exists()


def test_text_that_no_figure_can_have_is_refused_before_the_first_run(sweep: Sweep) -> None:
    for text in (SCENARIO.replace("A call", "A \\u0007call"), SCENARIO.replace("A call", "A\\uFFFEcall")):
        status, _, said = sweep(DELAY, "--quick", "--json", text=text)
        assert status == 1
        assert "title = " in said
        assert not Path("out").exists()


def test_results_print_in_any_encoding(sweep: Sweep, tmp_path: Path) -> None:
    (tmp_path / "call.toml").write_text(SCENARIO.replace("A call", "Gespräch") + DELAY)
    done = subprocess.run(
        [sys.executable, "-m", "whimbrel", "sweep", "call.toml", "--max-runs", "3", "--precision", "0.0001"],
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"+-" in done.stdout
    assert b"wider than +-0.01 %" in b" ".join(done.stdout.split())


def test_a_narrow_terminal_shows_whole_numbers(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    status, actual, _ = sweep(DELAY + LOSS, "--quick")
    assert status == 0
    assert max(map(len, actual.splitlines()[:-3])) <= 60
    found = "".join(actual.split())
    assert all(
        f"{float(line['ours']):.1f}" in found for line in rows("sweep.csv") if line["metric"] == "goodput"
    )


def test_notes_of_the_runs_reach_the_table(sweep: Sweep) -> None:
    Path("fade.txt").write_text("0001" * 5)
    axes = DELAY + LOSS.replace("link.radio.loss.rate", "link.radio.loss").replace(
        '"0.5 %", "2 %"', '{ model = "mask", file = "fade.txt" }'
    )
    status, actual, _ = sweep(axes, "--quick")
    assert status == 0
    assert "radio: its recorded losses have come to an end" in actual.replace("\n", " ")


HOLD = """
import sys, time
from pathlib import Path
from whimbrel._base import output
with output.claimed(Path(sys.argv[1])):
    print("claimed", flush=True)
    time.sleep(60)
"""


def test_a_directory_of_results_has_one_writer(tmp_path: Path, sweep: Sweep) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "claimed\n"
        status, _, said = sweep(DELAY, "--quick", "--json")
        assert status == 1
        assert "another whimbrel" in said
        assert "writes there" in said
        if sys.platform == "linux":
            assert f"(process {holder.pid})" in said
        # The lock ends with its holder, however that ends.
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    for _ in range(100):
        try:
            with output.claimed(tmp_path / "out"):
                break
        except OutputError:
            time.sleep(0.05)
    status, _, said = sweep(DELAY, "--quick", "--json")
    assert status == 0, said
    # No file remains.
    assert not [path.name for path in Path("out").iterdir() if path.name.startswith((".", "tmp"))]


def test_a_flow_that_is_not_in_each_run_is_left_out(tmp_path: Path) -> None:
    """As of an emulation, whose programs do not answer in each run."""
    records = Records(tmp_path / "dsl" / "records")
    for key, flows in (("k1", ["media", "answers"]), ("k2", ["media"])):
        table = Table({"flow": flows, "goodput_bps": np.array([1e6] * len(flows))})
        records.save(key, encode(key, {"flows": table}, {}))
    details = {"title": "DSL", "metrics": ["goodput_bps"], "settings": [{}], "random": [True], "maximum": 2}
    cell = Cell("-", "", (1, 2), ("k1", "k2"))
    plan = Plan("sweep", "dsl", "emulation", False, 1, "e", (cell,), {**details, "precision": None})
    (line,) = sweep_runs.read(plan, tmp_path).lines
    assert (line.flow, line.values["goodput_bps"].sample.tolist()) == ("media", [1000.0, 1000.0])
