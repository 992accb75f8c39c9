"""`whimbrel contest`: matches, their decision, and contestants that nobody should trust."""

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask_cluster import DaskCluster
from shell_blocks import ROOT, Shell, blocks

import whimbrel
from whimbrel.__main__ import main
from whimbrel._simulate.controllers import Stepper
from whimbrel._simulate.scenario import Scenario
from whimbrel._values.sheet import Value
from whimbrel.contest import league, match
from whimbrel.contest.contestant import Limits
from whimbrel.contest.kinds import CONTROL
from whimbrel.contest.league import Match, Network
from whimbrel.contest.match import DECISIONS, SIDES, Entrant
from whimbrel.errors import UsageError

EXAMPLES = Path(whimbrel.__file__).parent / "examples" / "contest"
NETWORK = Scenario(
    {
        "simulation": {"duration": "5 s"},
        "node": [{"name": "x"}, {"name": "y"}],
        "link": [{"between": ["x", "y"], "rate": "4 Mbit/s", "delay": "20 ms", "queue": "50 packets"}],
        "flow": [
            {
                "name": name,
                "from": "x",
                "to": "y",
                "transport": "media",
                "payload": "1160 B",
                "media": {"controller": "gcc", "max_rate": "8 Mbit/s"},
                "start_jitter": "100 ms",
            }
            for name in ("first", "second")
        ],
        "record": {"interval": "500 ms"},
    }
)
STEADY = "class Controller:\n    def on_feedback(self, feedback):\n        return 1e6\n"


def _played(source: str, limits: Limits | None = None) -> whimbrel.Result:
    pair = [Entrant("mine", source), Entrant("steady", STEADY)]
    scenario = match.scenario_of(CONTROL, NETWORK, match.places(CONTROL, NETWORK), pair, limits or Limits())
    return match.play(scenario, 1)


def _reason(result: whimbrel.Result) -> str:
    return str(result.tables[SIDES]["forfeit"][0])


def test_the_rates_are_those_of_the_files() -> None:
    result = _played(STEADY.replace("1e6", "2e6"))
    assert list(result.tables[SIDES]["forfeit"]) == ["", ""]
    for flow, rate in (("first", 2e6), ("second", 1e6)):
        # Headers are 40 of 1200 bytes; the flow begins up to 100 ms late, at 300 kbit/s.
        assert result.flows.one("goodput_bps", flow=flow) == pytest.approx(rate * 1160 / 1200, rel=0.05)
    assert result.tables[DECISIONS].rows == 200


def test_feedback_arrives_as_it_is() -> None:
    """A contestant decides as it does in this process, without a wall between."""
    source = (EXAMPLES / "patient.py").read_text()
    space = runpy.run_path(str(EXAMPLES / "patient.py"))
    pair = [Entrant("patient", source), Entrant("gcc", reference="gcc")]
    scenario = match.scenario_of(CONTROL, NETWORK, match.places(CONTROL, NETWORK), pair, Limits())
    plain = whimbrel.drive(
        NETWORK.changed("flow.first.media.controller=external"), {"first": space["Controller"]()}, 1
    )
    here, there = plain.flows, match.play(scenario, 1).flows
    for column in here:
        np.testing.assert_array_equal(here[column], there[column], err_msg=column)


def _body(line: str) -> str:
    return f"class Controller:\n    def on_feedback(self, feedback):\n        {line}\n"


HOSTILE = {
    "raises": (_body("return 1 / 0"), r"^raised ZeroDivisionError in line 3: division by zero$"),
    "wrong word": (_body("return 'fast'"), r"^raised ValueError in line \d+|could not convert"),
    "no number": (_body("return float('nan')"), r"^set the rate nan; expected bit/s, 0 or more$"),
    "below zero": (_body("return -1"), r"^set the rate -1\.0; expected bit/s"),
    "syntax": ("x = (\n", r"^raised SyntaxError in line 1: "),
    "no class": ("a = 1\n", r"the file defines no class Controller"),
    "recursion": ("def f(): f()\nf()\n", r"^raised RecursionError in line 1"),
    "exit": ("import sys\nsys.exit(3)\n", r"^raised SystemExit in line 2: 3$"),
    "hard exit": ("import os\nos._exit(0)\n", r"^ended with the exit code 0$"),
    "memory": (_body("[bytearray(1 << 20) for _ in range(9999)]"), r"^needed more than 1024 MiB of memory$"),
    "removes": (
        "import os\nos.remove('VICTIM')\n",
        r"^called os\.remove\('VICTIM'\), which a contestant may not$",
    ),
    "removes all": ("import shutil\nshutil.rmtree('FOLDER')\n", r"^called shutil\.rmtree\('FOLDER'\)"),
    "a long name": (
        f"import os\nos.remove('/{'x' * 999}')\n",
        r"^called os\.remove\('/x+\.\.\.x+'\), which a contestant may not$",
    ),
    "a long file": (f"open('/{'x' * 999}')\n", r"^called open\('/x+\.\.\.x+'\), which a contestant may not$"),
    "renames": ("import os\nos.rename('VICTIM', 'FOLDER/a')\n", r"^called os\.rename\('VICTIM'\)"),
    "writes": ("open('FOLDER/new', 'w').write('a')\n", r"^called open\('FOLDER/new'\)"),
    "truncates": ("import os\nos.open('VICTIM', os.O_TRUNC)\n", r"^called open\('VICTIM'\)"),
    "reads": ("open('VICTIM').read()\n", r"^called open\('VICTIM'\)"),
    "catches": (
        "try:\n    open('VICTIM', 'w')\nexcept BaseException:\n    pass\n" + STEADY,
        r"^called open\('VICTIM'\)",
    ),
    "forks": (_body("import os; [os.fork() for _ in range(99)]"), r"^called os\.fork\(\)"),
    "runs": ("import subprocess\nsubprocess.run(['rm', 'VICTIM'])\n", r"^called subprocess\.Popen\('rm'\)"),
    "runs a shell": ("import os\nos.system('rm VICTIM')\n", r"^called os\.system\("),
    "kills": ("import os\nos.kill(os.getppid(), 9)\n", r"^called os\.kill\(\d+\)"),
    "connects": ("import socket\nsocket.socket()\n", r"^called socket\.__new__\("),
    "calls C": ("import ctypes\nctypes.CDLL(None)\n", r"^called ctypes\.dlopen\("),
    "says much": ("raise ValueError('x' * 9999)\n", r"^raised ValueError in line 1: x{200,280}$"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_loses_its_match_and_harms_nothing(name: str, tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    folder.mkdir()
    (folder / "inside").write_text("precious")
    victim.write_text("precious")
    source, expected = (
        text.replace("VICTIM", str(victim)).replace("FOLDER", str(folder)) for text in HOSTILE[name]
    )
    result = _played(source)
    assert re.search(expected, _reason(result)), _reason(result)
    assert len(_reason(result)) <= 300
    assert result.tables[SIDES]["forfeit"][1] == ""
    # The other one plays on.
    assert result.flows.one("goodput_bps", flow="second") > 0.9e6
    assert victim.read_text() == (folder / "inside").read_text() == "precious"
    assert [path.name for path in folder.iterdir()] == ["inside"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("while True: pass", r"^used more than 1 s of processor time$"),
        # A gigabyte takes more than a second, and leads nowhere.
        ("[print('x' * (1 << 20)) for _ in range(1 << 20)]", r"^used more than 1 s of processor time$"),
    ],
)
def test_a_file_that_does_not_end_loses_its_match(line: str, expected: str) -> None:
    result = _played(_body(line), Limits(processor_s=1, patience_s=120.0))
    assert re.search(expected, _reason(result)), _reason(result)


def test_a_file_that_sleeps_loses_its_match() -> None:
    pair = [Entrant("mine", _body("import time; time.sleep(1000)")), Entrant("gcc", reference="gcc")]
    limits = Limits(patience_s=10.0)
    result = match.play(match.scenario_of(CONTROL, NETWORK, match.places(CONTROL, NETWORK), pair, limits), 1)
    assert _reason(result) == "gave no answer within 10 s"


ATTEMPTS = """
import ctypes, os, signal, socket, sys
from whimbrel.contest import confined
victim = sys.argv[1]
confined._isolate(confined._library_folders())
def refused(attempt):
    try:
        attempt()
    except OSError as error:
        return True
    return False
print(
    refused(lambda: open(victim)),
    refused(lambda: open(victim, "w")),
    refused(lambda: os.remove(victim)),
    refused(lambda: os.mkdir(victim + ".d")),
    refused(lambda: os.kill(os.getppid(), 0)),
    refused(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[2])), 5)),
)
import statistics
"""


def test_the_system_refuses_what_the_audit_hook_does_not_see(tmp_path: Path) -> None:
    import ctypes
    import socket

    if sys.platform != "linux" or ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) < 6:
        pytest.skip("no Landlock of version 6, which refuses signals as well")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = [sys.executable, "-c", ATTEMPTS, str(victim), str(server.getsockname()[1])]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 6, done
    assert victim.read_text() == "precious"


def test_a_replay_is_the_game_without_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import random\n" + _body("return random.uniform(5e5, 3e6)")
    pair = [Entrant("mine", source), Entrant("gcc", reference="gcc")]
    scenario = match.scenario_of(CONTROL, NETWORK, match.places(CONTROL, NETWORK), pair, Limits())
    result = match.play(scenario, 3)
    ended: list[Stepper] = []
    page = Stepper.replay_page

    def kept(stepper: Stepper) -> str:
        ended.append(stepper)
        return page(stepper)

    monkeypatch.setattr(Stepper, "replay_page", kept)
    monkeypatch.setattr(match, "Confined", None)
    html = match.replay(scenario, 3, result)
    assert html.startswith("<!DOCTYPE html>")
    again = ended[0].finish()
    for column, values in result.flows.items():
        np.testing.assert_array_equal(again.flows[column], values, err_msg=column)


def _match(
    pair: tuple[str, str], first: list[float], second: list[float], forfeits: dict[str, str] | None = None
) -> Match:
    seeds = tuple(range(len(first)))
    net = Network("n", NETWORK, ("first", "second"), True)
    scores = tuple(Value(np.array(each), seeds=seeds) for each in (first, second))
    difference = None if forfeits else league._difference(scores[0], scores[1])
    winner = league._winner(pair, difference)
    if forfeits:
        winner = "".join(name for name in pair if name not in forfeits)
    return Match(
        net,
        pair,
        (scores[0], scores[1]),
        seeds,
        forfeits or {},
        difference,
        winner,
        NETWORK,
        whimbrel.Result({}),
    )


def test_intervals_decide_matches_and_places() -> None:
    better = _match(("a", "b"), [1.0, 1.1, 1.2], [0.0, 0.2, 0.1])
    assert (better.winner, better.points("a"), better.points("b")) == ("a", 2, 0)
    # The means differ as much, the pairs do not agree.
    draw = _match(("a", "b"), [1.0, -1.1, 3.0], [0.0, 0.2, 0.1])
    assert (draw.winner, draw.points("a"), draw.points("b")) == ("", 1, 1)
    assert draw.result().startswith("a draw: +0.87 ±")
    # One game has no interval.
    assert _match(("a", "b"), [1.0], [0.0]).winner == ""
    lost = _match(("a", "b"), [9.0, 9.0], [0.0, 0.0], {"a": "raised X"})
    assert (lost.winner, lost.result()) == ("b", "b wins: a raised X")
    both = _match(("a", "b"), [0.0], [0.0], {"a": "x", "b": "y"})
    assert (both.points("a"), both.points("b"), both.result()) == (0, 0, "nobody wins: a x; b y")


def test_equal_points_share_a_place_unless_their_own_matches_decide() -> None:
    who = [Entrant(name, STEADY) for name in "abc"]

    def table(*matches: Match) -> list[tuple[int, str, int]]:
        return [(each.place, each.name, each.points) for each in league.standings(who, matches)]

    up, down = [1.0, 1.1, 1.2], [0.0, 0.2, 0.1]
    ordered = [_match(pair, up, down) for pair in (("a", "b"), ("a", "c"), ("b", "c"))]
    assert table(*ordered) == [(1, "a", 4), (2, "b", 2), (3, "c", 0)]
    circle = [_match(("a", "b"), up, down), _match(("b", "c"), up, down), _match(("a", "c"), down, up)]
    assert table(*circle) == [(1, "a", 2), (1, "b", 2), (1, "c", 2)]
    # Equal points of two, whose own matches do not decide; then do, by their difference.
    even = _match(("a", "b"), up, up[::-1])
    assert table(even)[:2] == [(1, "a", 1), (1, "b", 1)]
    two = [_match(("a", "b"), up, down), _match(("a", "b"), [0.0, 0.0, 0.3], [0.1, 0.2, 0.4])]
    assert [each[:2] for each in table(*two)][:2] == [(1, "a"), (2, "b")]


Said = Callable[..., dict[str, Any]]


@pytest.fixture(name="said")
def _said(capsys: pytest.CaptureFixture[str]) -> Said:
    def run(*words: object) -> dict[str, Any]:
        capsys.readouterr()
        assert main(["contest", *map(str, words), "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run


def _network_file(folder: Path) -> Path:
    file = folder / "short.toml"
    file.write_text((EXAMPLES / "home.toml").read_text().replace('duration = "30 s"', 'duration = "3 s"'))
    return file


def test_a_contest_has_a_page_with_curves_and_replays(tmp_path: Path, said: Said) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(_body("return feedback.nothing"))
    words = (
        EXAMPLES / "patient.py",
        wrong,
        "--reference",
        "gcc",
        "--network",
        _network_file(tmp_path),
        "--runs",
        "2",
    )
    found = said(*words, "--out", tmp_path / "out")
    assert [line["contestant"] for line in found["league"]][-1] == "wrong"
    assert found["league"][-1]["points"] == 0
    lost = [each for each in found["matches"] if each["forfeits"]]
    assert len(lost) == 2
    assert all(each["result"].endswith("has no attribute 'nothing'") for each in lost)
    page = Path(found["report"])
    text = page.read_text()
    links = re.findall(r'(?:href|src)="([^"]+)"', text)
    assert len(links) == 6
    assert all((page.parent / link).is_file() for link in links)
    assert "wrong raised AttributeError in line 3" in text.replace("&#x27;", "'")
    assert (page.parent / "league.csv").read_text().startswith("contestant,place,points")
    # The same command plays nothing again.
    records = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/records").glob("*.record")}
    assert len(records) == 6
    assert said(*words, "--out", tmp_path / "out") == found
    assert {path: path.stat().st_mtime_ns for path in records} == records
    # Another text of the same name is another contestant.
    wrong.write_text(STEADY)
    assert not any(each["forfeits"] for each in said(*words, "--out", tmp_path / "out")["matches"])


def test_a_cluster_plays_the_same_games(tmp_path: Path, said: Said) -> None:
    pytest.importorskip("distributed")
    words = [
        EXAMPLES / "patient.py",
        EXAMPLES / "cautious.py",
        "--network",
        _network_file(tmp_path),
        "--runs",
        "2",
    ]
    said(*words, "--out", tmp_path / "here")
    (tmp_path / "cluster").mkdir()
    with DaskCluster(tmp_path / "cluster") as cluster:
        said(*words, "--out", tmp_path / "there", "--scheduler", cluster.address)
    here, there = (
        {path.name: path.read_bytes() for path in (tmp_path / out / "records").glob("*.record")}
        for out in ("here", "there")
    )
    assert len(here) == 2
    assert here == there


def test_wrong_contestants_and_networks_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(STEADY)
    long = tmp_path / "long.py"
    long.write_text("#" * ((1 << 20) + 1))
    one = tmp_path / "one.toml"
    one.write_text((EXAMPLES / "home.toml").read_text().rpartition("[[flow]]")[0])
    for words, expected in (
        (f"{mine}", "a contest has at least two contestants: 1 named"),
        (f"{mine} {mine}", "two contestants are called 'mine'"),
        (f"{mine} {tmp_path}/none.py", "none.py cannot be read"),
        (f"{mine} {long}", "expected a text of at most 1048576 bytes"),
        (f"{mine} --reference fastest", "--reference fastest: "),
        (f"{mine} --reference gcc --network {one}", '1 flows have transport = "media"'),
        (f"{mine} --reference gcc --network {tmp_path / 'cluster'}", "cluster"),
    ):
        assert main(["contest", *shlex.split(words), "--out", str(tmp_path / "out")]) in (1, 2)
        assert expected in capsys.readouterr().err, words
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="is no name of contestants"):
        league._check_names(["a/b"], "contestants")


def test_no_process_of_a_contestant_survives() -> None:
    before = _children()
    _played(_body("raise ValueError"))
    assert _children() == before


def _children() -> set[str]:
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = status.read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if parent == str(os.getpid()):
            found.add(status.parent.name)
    return found


def test_the_page_on_contests_says_what_happens(tmp_path: Path) -> None:
    page = ROOT / "docs" / "contest.md"
    shell = Shell(tmp_path, shortened={"--runs 3": "--runs 1"})
    shell.all_of(page)
    assert len(shell.run) == 2
    assert (tmp_path / "league" / "index.html").is_file()
    assert (tmp_path / "repairs" / "index.html").is_file()
    cautious, asking, *solutions = blocks(page, "python")
    assert (EXAMPLES / "cautious.py").read_text().endswith(cautious)
    assert (EXAMPLES.parent / "contest_repair" / "asking.py").read_text().endswith(asking)
    said = [
        subprocess.run([sys.executable, "-c", each], capture_output=True, text=True, check=True, cwd=tmp_path)
        for each in solutions
    ]
    assert "at home a delay of 315 ms; by radio 0.70 of 4 Mbit/s" in said[0].stdout
    assert "radio [1.0, True]: 0% of the frames missed, overhead 1.02" in said[1].stdout
