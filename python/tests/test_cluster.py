"""Campaigns on a Dask cluster: the same bytes with any workers and after any failures."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import runs
from dask_cluster import DaskCluster

from whimbrel.__main__ import main
from whimbrel._campaigns import cluster as cluster_module
from whimbrel._campaigns import worker
from whimbrel._campaigns.campaign import Campaign, Case
from whimbrel._campaigns.jobs import Run
from whimbrel._campaigns.outcomes import Outcome
from whimbrel._campaigns.progress import Silent
from whimbrel.cluster import Cluster, connected
from whimbrel.errors import CampaignError
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

# Sockets of killed processes, and Dask's own warnings.
pytestmark = pytest.mark.filterwarnings("default::ResourceWarning", "default::DeprecationWarning")


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    with DaskCluster(tmp_path_factory.mktemp("dask")) as running:
        yield running


class Notes(Silent):
    """Counts finished runs, and calls an action at a given count."""

    def __init__(self, at: int = -1, then: Callable[[], object] = lambda: None) -> None:
        self.done = 0
        self.said: list[str] = []
        self._at = at
        self._then = then

    def advance(self) -> None:
        self.done += 1
        if self.done == self._at:
            self._then()

    def say(self, message: str) -> None:
        self.said.append(message)


def goodput(result: Result) -> Mapping[str, float]:
    return {"goodput": float(result.flows["goodput_bps"][0])}


def execute(
    directory: Path, run: Run, document: Mapping[str, Any], count: int, who: Cluster | None, **more: Any
) -> Outcome:
    campaign = Campaign(
        directory, run=run, engine="test", precision=Precision.exactly(count), scheduler=who, **more
    )
    return campaign.execute([Case("a", Scenario({"mean": 10.0, "spread": 1.0, **document}), goodput)])["a"]


def content(directory: Path, *, without: tuple[str, ...] = ()) -> dict[str, bytes]:
    files = [
        path for path in directory.rglob("*") if path.is_file() and path.name not in (*without, "times.csv")
    ]
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}


SCENARIO = """
title = "A link that a file drives"
[simulation]
duration = "5 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
trace = { file = "../traces/walk.csv", format = "rate" }
delay = "10 ms"
queue = "20 packets"
loss = { model = "mask", file = "lost.txt" }
reverse = { rate = "2 Mbit/s", loss = { model = "bernoulli", rate = 0 } }
[[flow]]
name = "data"
from = "a"
to = "b"
transport = "dccp"
ccid = 3
start_jitter = "100 ms"
[sweep]
"link.radio.delay" = ["10 ms", "20 ms"]
"""


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario with files next to it, above it, and under an absolute name."""
    for name, text in {
        "traces/walk.csv": "0 1.0\n2 0.4\n",
        "deep/lost.txt": "0000000001" * 40,
        "mask.txt": "00001" * 100,
        "deep/walk.toml": SCENARIO,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "deep" / "walk.toml"


def test_a_sweep_is_transferred_with_its_files_and_produces_the_same_bytes(
    dask: DaskCluster, scenario: Path, tmp_path: Path
) -> None:
    command = ["sweep", "deep/walk.toml", "--json", "--metric", "goodput_bps", "--max-runs", "6"]
    # an inline table, which the simulator parses as TOML
    command += ["--set", f'link.radio.loss={{ model = "mask", file = "{tmp_path}/mask.txt" }}']
    assert main([*command, "--out", "here"]) == 0
    assert main([*command, "--out", "there", "--scheduler", dask.address]) == 0
    here, there = (
        content(tmp_path / out, without=("manifest.json", "index.html")) for out in ("here", "there")
    )
    assert here == there
    assert len([name for name in here if name.endswith(".record")]) >= 6


def test_reproduce_produces_the_same_bytes(
    dask: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "lda", "table2", "--quick", "--json"]
    assert main([*command, "--out", "here"]) == 0
    assert main([*command, "--out", "there", "--scheduler", dask.address]) == 0
    here, there = (
        content(tmp_path / out, without=("manifest.json", "index.html")) for out in ("here", "there")
    )
    assert here == there
    assert {"lda/table2.csv", "lda/claims.json"} <= set(here)
    assert any(name.endswith(".svg") for name in here)


@pytest.mark.parametrize("finished", [False, True], ids=["at work", "with unfetched results"])
def test_a_killed_worker_loses_and_duplicates_nothing(
    finished: bool, dask: DaskCluster, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    document = {"log": f"log to {log}"}
    victim = dask.add_worker()
    dask.wait_for_workers()

    def kill() -> None:
        if finished:
            # The campaign receives nothing while it reports progress: the victim finished all its work.
            quiet = -1
            while quiet != (quiet := log.stat().st_size):
                time.sleep(0.2)
        victim.send_signal(signal.SIGKILL)
        victim.wait()

    notes = Notes(at=30, then=kill)
    with connected(dask.address) as who:
        there = execute(tmp_path / "there", runs.patient, document, 200, who, progress=notes)
    made = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    # it had begun some runs, and others made all that it did not finish
    assert victim.pid in {process for process, _ in made}
    assert {seed for _, seed in made} == set(range(1, 201))
    assert len(made) > 200
    assert notes.done == 200
    log.unlink()
    here = execute(tmp_path / "here", runs.patient, document, 200, None)
    np.testing.assert_array_equal(here.values["goodput"], there.values["goodput"])
    assert content(tmp_path / "here") == content(tmp_path / "there")


def test_a_run_that_fails_on_a_worker_is_named_and_does_not_affect_others(
    dask: DaskCluster, tmp_path: Path
) -> None:
    with connected(dask.address) as who, pytest.raises(CampaignError, match=r"^a, seed 2: ZeroDivisionError"):
        execute(tmp_path, runs.failing, {}, 3, who)
    assert len(list(tmp_path.glob("*.record"))) >= 1


def test_a_run_that_kills_its_workers_is_named(tmp_path: Path) -> None:
    (tmp_path / "dask").mkdir()
    # The first death is enough, instead of the fourth.
    settings = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with (
        DaskCluster(tmp_path / "dask", workers=1, settings=settings) as mortal,
        connected(mortal.address) as who,
        pytest.raises(CampaignError) as actual,
    ):
        execute(tmp_path / "records", runs.deadly, {}, 1, who)
    assert str(actual.value).startswith(
        "a, seed 1: every worker that tried it died, perhaps for lack of memory"
    )


def test_a_function_that_cannot_be_imported_runs_here(dask: DaskCluster, tmp_path: Path) -> None:
    notes = Notes()
    with connected(dask.address) as who:
        outcome = execute(tmp_path, lambda given, seed: runs.noisy(given, seed), {}, 3, who, progress=notes)
    assert len(outcome.seeds) == 3
    assert notes.said == [
        "test_a_function_that_cannot_be_imported_runs_here.<locals>.<lambda> cannot be imported on workers;"
        " it runs in this process"
    ]


def test_ctrl_c_cancels_outstanding_runs_and_keeps_finished_ones(dask: DaskCluster, tmp_path: Path) -> None:
    records, log = tmp_path / "records", tmp_path / "log"
    process = subprocess.Popen(
        [sys.executable, str(Path(runs.__file__).with_name("campaign_process.py")), str(records), "3000"]
        + [dask.address],
        env={**os.environ, "WHIMBREL_TEST_LOG": str(log), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(3000):
        if len(list(records.glob("*.record"))) > 3:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, complaints = process.communicate(timeout=30)
    assert process.returncode == 130, complaints
    kept = len(list(records.glob("*.record")))
    assert 3 < kept < 3000
    assert f"keeps {kept} finished runs; the same command resumes" in output
    assert complaints == ""
    with connected(dask.address) as who:
        for _ in range(500):
            left = who.client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
            if left == 0:
                break
            time.sleep(0.01)
    assert left == 0


def test_a_worker_of_another_build_is_refused(
    dask: DaskCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "older.py").write_text(
        "from whimbrel._base import compiled\ncompiled.engine = lambda: '0.0.9+older'\n"
    )
    stranger = dask.add_worker("--preload", str(tmp_path / "older.py"))
    dask.wait_for_workers()
    command = ["reproduce", "lda", "table2", "--quick", "--json", "--out", str(tmp_path / "out")]
    assert main([*command, "--scheduler", dask.address]) == 2
    stranger.kill()
    stranger.wait()
    actual = capsys.readouterr().err
    assert "has whimbrel 0.0.9+older with zlib" in actual
    assert f"this machine {worker.identity('')}" in actual
    assert "install the same build on both" in actual
    assert not (tmp_path / "out").exists()


def test_a_worker_without_whimbrel_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bare/whimbrel").mkdir(parents=True)
    (tmp_path / "bare/whimbrel/__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    with DaskCluster(tmp_path, workers=0) as strangers:
        strangers.add_worker(python_path=str(tmp_path / "bare"))
        strangers.wait_for_workers()
        assert main(["reproduce", "lda", "table2", "--quick", "--scheduler", strangers.address]) == 2
    actual = capsys.readouterr().err
    assert "worker tcp://" in actual
    assert "No module named 'whimbrel._campaigns'" in actual
    assert f"it needs {worker.identity('')}" in actual


def test_a_worker_that_joins_later_is_checked_too() -> None:
    batch = worker.Batch("whimbrel 9.9 with zlib 1", "", "engine", (), {})
    with pytest.raises(
        CampaignError, match=r"has whimbrel .*, this machine whimbrel 9.9 with zlib 1: install"
    ):
        worker.work(batch, [])


def test_after_the_loss_of_the_cluster_a_campaign_can_be_resumed(tmp_path: Path) -> None:
    (tmp_path / "dask").mkdir()
    document = {"log": f"log to {tmp_path}/log"}
    with DaskCluster(tmp_path / "dask", workers=1) as doomed:
        notes = Notes(at=20, then=doomed.scheduler.kill)
        with (
            connected(doomed.address) as who,
            pytest.raises(CampaignError, match=r"cluster is lost: .*; the same command resumes$") as actual,
        ):
            execute(tmp_path / "records", runs.patient, document, 150, who, progress=notes)
    kept = len(list((tmp_path / "records").glob("*.record")))
    assert 20 <= kept < 150
    assert f"keeps {kept} finished runs" in str(actual.value)
    (tmp_path / "log").unlink()
    again = execute(tmp_path / "records", runs.patient, document, 150, None)
    assert len((tmp_path / "log").read_text().splitlines()) == 150 - kept
    assert len(again.seeds) == 150


def test_the_loss_of_the_last_worker_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "PATIENCE_S", 0.5)
    monkeypatch.setattr(cluster_module, "_LOOK_S", 0.1)
    document = {"log": f"log to {tmp_path}/log"}
    (tmp_path / "dask").mkdir()
    with DaskCluster(tmp_path / "dask", workers=1) as doomed:
        notes = Notes(at=20, then=doomed.workers[0].kill)
        with connected(doomed.address) as who, pytest.raises(CampaignError, match="its last worker has gone"):
            execute(tmp_path / "records", runs.patient, document, 150, who, progress=notes)
    assert notes.said == ["the cluster has lost its last worker; waiting 0.5 s for another"]


@pytest.mark.parametrize(
    ("scheduler", "message"),
    [
        ("tcp://127.0.0.1:1", "no Dask scheduler answers there"),
        ("cluster:8786", "expected `local` or a Dask scheduler's address such as tcp://host:8786"),
    ],
)
def test_an_address_without_a_scheduler_is_named(
    scheduler: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT_S", 0.3)
    command = ["reproduce", "lda", "table2", "--out", str(tmp_path / "out"), "--scheduler", scheduler]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "--scheduler" in error
    assert scheduler in error
    assert message in error
    assert error.count("\n") == 1


def test_the_guide_to_campaigns_runs(
    dask: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = (
        (Path(__file__).parents[2] / "docs" / "campaigns.md")
        .read_text()
        .replace("tcp://host:8786", dask.address)
    )

    def blocks(language: str) -> list[str]:
        return re.findall(rf"^```{language}\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)

    scenario, together = blocks("toml")
    (tmp_path / "radio.toml").write_text(scenario)
    monkeypatch.chdir(tmp_path)
    here, there = (line.split()[1:] for block in blocks("sh") for line in block.splitlines())
    assert main([*here, "--json"]) == 0
    (tmp_path / "out").rename(tmp_path / "before")
    assert main([*there, "--json"]) == 0
    # four combinations, at least three runs of each
    assert len(list((tmp_path / "out/radio/records").glob("*.record"))) >= 12
    assert content(tmp_path / "out/radio") == content(tmp_path / "before/radio")
    (tmp_path / "transports.toml").write_text(scenario.partition("[sweep]")[0] + together)
    assert main(["sweep", "transports.toml", "--quick", "--json"]) == 0
    python = "\n".join(blocks("python"))
    done = subprocess.run([sys.executable, "-c", python], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out/delays").glob("*.record"))) == 20


def test_without_dask_the_error_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["reproduce", "lda", "table2", "--scheduler", "tcp://127.0.0.1:1"]) == 2
    assert (
        "needs distributed, which is not installed: pip install 'whimbrel[cluster]'"
        in capsys.readouterr().err
    )
