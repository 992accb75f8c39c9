"""Campaigns: as many runs as needed, none repeated, none lost."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import runs

from whimbrel._campaigns.campaign import Campaign, Case
from whimbrel._campaigns.jobs import Run
from whimbrel._campaigns.progress import Silent
from whimbrel.errors import CampaignError, CampaignInterrupted, ScenarioError
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision, student_repetitions_needed


def goodput(result: Result) -> Mapping[str, float]:
    return {"goodput": float(result.flows["goodput_bps"][0])}


def case(name: str, mean: float = 10.0, spread: float = 1.0) -> Case:
    return Case(name, Scenario({"mean": mean, "spread": spread}), goodput)


class Counting:
    """A run function that remembers its calls."""

    def __init__(self, inner: Run = runs.noisy) -> None:
        self.inner = inner
        self.seeds: list[int] = []
        self._lock = threading.Lock()

    def __call__(self, scenario: Scenario, seed: int) -> Result:
        with self._lock:
            self.seeds.append(seed)
        return self.inner(scenario, seed)


class Notes(Silent):
    """Records the campaign's messages."""

    def __init__(self) -> None:
        self.planned = 0
        self.done = 0
        self.said: list[str] = []

    def add(self, runs: int) -> None:
        self.planned += runs

    def advance(self) -> None:
        self.done += 1

    def say(self, message: str) -> None:
        self.said.append(message)


def campaign(directory: Path, run: Run, **options: object) -> Campaign:
    return Campaign(directory, run=run, engine="test", **options)  # type: ignore[arg-type]


def test_a_noisy_case_is_repeated_until_its_interval_is_narrow(tmp_path: Path) -> None:
    counting, notes = Counting(), Notes()
    outcomes = campaign(tmp_path, counting, precision=Precision(maximum=100), jobs=3, progress=notes).execute(
        [case("calm", spread=0.001), case("noisy", spread=1.0)]
    )
    calm, noisy = outcomes["calm"], outcomes["noisy"]
    assert calm.seeds == (1, 2, 3)
    assert len(noisy.seeds) > 10
    # it stopped because the values so far suffice, not before
    assert student_repetitions_needed(noisy.values["goodput"]) <= len(noisy.seeds)
    assert student_repetitions_needed(noisy.values["goodput"][:3]) > 3
    interval = noisy.interval("goodput")
    assert interval is not None
    assert interval.half_width / interval.mean <= 0.05
    assert noisy.seeds == tuple(range(1, 1 + len(noisy.seeds)))
    assert len(counting.seeds) == notes.planned == notes.done == 3 + len(noisy.seeds)


def test_a_case_that_does_not_vary_is_run_once(tmp_path: Path) -> None:
    counting = Counting()
    fixed = Case("fixed", Scenario({"mean": 10.0, "spread": 0.0}), goodput, varies=False)
    outcome = campaign(tmp_path, counting, precision=Precision.exactly(5)).execute([fixed])["fixed"]
    assert counting.seeds == [1]
    interval = outcome.interval("goodput")
    assert interval is not None
    assert interval.n == 1
    assert math.isnan(interval.half_width)
    # One that shares its scenario and is declared to vary is repeated.
    both = [fixed, Case("other", fixed.scenario, goodput)]
    assert len(campaign(tmp_path, counting, precision=Precision.exactly(5)).execute(both)["fixed"].seeds) == 5


def test_the_number_of_jobs_does_not_change_results(tmp_path: Path) -> None:
    cases = [case("a"), case("b", spread=0.5), case("c", mean=20.0)]
    one = campaign(tmp_path / "1", runs.noisy, jobs=1).execute(cases)
    four = campaign(tmp_path / "4", runs.noisy, jobs=4).execute(cases)
    assert list(one) == list(four) == ["a", "b", "c"]
    for name in one:
        np.testing.assert_array_equal(one[name].values["goodput"], four[name].values["goodput"])
    files = [
        {path.name: path.read_bytes() for path in (tmp_path / jobs).glob("*.record")} for jobs in ("1", "4")
    ]
    assert files[0] == files[1]


def test_finished_runs_are_never_repeated(tmp_path: Path) -> None:
    first = campaign(tmp_path, runs.noisy).execute([case("a")])
    counting = Counting()
    second = campaign(tmp_path, counting).execute([case("renamed")])
    assert counting.seeds == []
    np.testing.assert_array_equal(first["a"].values["goodput"], second["renamed"].values["goodput"])
    # another seed, scenario or engine is another run
    campaign(tmp_path, counting, seed=1000).execute([case("a", spread=0.0)])
    assert sorted(counting.seeds) == [1000, 1001, 1002]
    Campaign(tmp_path, run=counting, engine="newer", precision=Precision.exactly(1)).execute([case("a")])
    assert counting.seeds[3:] == [1]


def test_cases_with_one_scenario_share_their_runs(tmp_path: Path) -> None:
    scenario = Scenario({"mean": 10.0, "spread": 1.0})
    counting = Counting()
    half = Case("half", scenario, lambda result: {"half": goodput(result)["goodput"] / 2})
    steady = Case("steady", scenario, lambda _: {"one": 1.0})
    whole = Case("whole", scenario, goodput)
    outcomes = campaign(tmp_path, counting, precision=Precision(maximum=100)).execute([half, steady, whole])
    assert len(counting.seeds) == len(set(counting.seeds)) == len(outcomes["steady"].seeds) > 3
    np.testing.assert_allclose(outcomes["half"].values["half"] * 2, outcomes["whole"].values["goodput"])


def test_a_damaged_record_is_repeated_and_reported(tmp_path: Path) -> None:
    before = campaign(tmp_path, runs.noisy).execute([case("a", spread=0.0)])
    broken = sorted(tmp_path.glob("*.record"))[1]
    good = broken.read_bytes()
    broken.write_bytes(good[:-30])
    counting, notes = Counting(), Notes()
    after = campaign(tmp_path, counting, progress=notes).execute([case("a", spread=0.0)])
    assert len(counting.seeds) == 1
    assert len(notes.said) == 1
    assert broken.name in notes.said[0]
    assert broken.read_bytes() == good
    np.testing.assert_array_equal(before["a"].values["goodput"], after["a"].values["goodput"])


def test_a_failing_run_is_named_and_does_not_affect_others(tmp_path: Path) -> None:
    def failing(scenario: Scenario, seed: int) -> Result:
        if seed == 2:
            raise ScenarioError("link.a.rate is -1, expected a positive rate")
        return runs.noisy(scenario, seed)

    with pytest.raises(CampaignError, match=r"^a, seed 2: link\.a\.rate is -1"):
        campaign(tmp_path, failing, jobs=1).execute([case("a", spread=0.0)])
    counting = Counting()
    campaign(tmp_path, counting).execute([case("a", spread=0.0)])
    assert 1 not in counting.seeds
    assert 2 in counting.seeds


def test_an_unexpected_error_keeps_its_kind(tmp_path: Path) -> None:
    def broken(_: Scenario, __: int) -> Result:
        return Result({"flows": {"other": [1]}})

    with pytest.raises(CampaignError, match="a, seed 1: KeyError") as caught:
        campaign(tmp_path, broken, jobs=1).execute([case("a")])
    assert isinstance(caught.value.__cause__, KeyError)


def test_metrics_that_differ_between_runs_are_refused(tmp_path: Path) -> None:
    def fickle(result: Result) -> Mapping[str, float]:
        value = goodput(result)["goodput"]
        return {"high": 1.0} if value > 10 else {"low": 1.0}

    with pytest.raises(CampaignError, match="other metrics from run to run"):
        campaign(tmp_path, runs.noisy, precision=Precision.exactly(20)).execute(
            [Case("a", Scenario({"mean": 10.0, "spread": 1.0}), fickle)]
        )


def test_a_metric_undefined_in_a_run_has_a_smaller_n(tmp_path: Path) -> None:
    def sometimes(result: Result) -> Mapping[str, float]:
        value = goodput(result)["goodput"]
        return {"if_high": value if value > 10 else float("nan"), "never": float("nan")}

    outcome = campaign(tmp_path, runs.noisy, precision=Precision.exactly(20)).execute(
        [Case("a", Scenario({"mean": 10.0, "spread": 1.0}), sometimes)]
    )["a"]
    interval = outcome.interval("if_high")
    assert interval is not None
    assert interval.n == np.sum(~np.isnan(outcome.values["if_high"]))
    assert 3 < interval.n < 20
    assert outcome.interval("never") is None


def test_two_cases_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="two cases are called 'a'"):
        campaign(tmp_path, runs.noisy).execute([case("a"), case("a", mean=3.0)])


def test_a_run_function_needs_an_engine(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="needs an engine"):
        Campaign(tmp_path, run=runs.noisy)


def start(directory: Path, log: Path, count: int = 40) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("campaign_process.py")), str(directory), str(count)],
        env={**os.environ, "WHIMBREL_TEST_LOG": str(log), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )


def wait_for_records(directory: Path, count: int) -> None:
    for _ in range(2000):
        if len(list(directory.glob("*.record"))) >= count:
            return
        time.sleep(0.01)
    pytest.fail("the campaign does not start")


def test_after_a_kill_the_same_command_resumes(tmp_path: Path) -> None:
    records, log = tmp_path / "records", tmp_path / "log"
    killed = start(records, log)
    wait_for_records(records, 6)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    finished = len(list(records.glob("*.record")))
    assert 6 <= finished < 40
    begun = len(log.read_text().split())
    again = start(records, log)
    output, _ = again.communicate()
    assert again.returncode == 0
    # finished runs were not repeated; at most the two in progress were
    assert len(log.read_text().split()) == begun + 40 - finished
    assert not list(records.glob(".partial-*"))
    undisturbed, _ = start(tmp_path / "other", tmp_path / "log2").communicate()
    assert output == undisturbed


def test_ctrl_c_finishes_runs_in_progress(tmp_path: Path) -> None:
    records, log = tmp_path / "records", tmp_path / "log"
    process = start(records, log)
    wait_for_records(records, 4)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == CampaignInterrupted.exit_code == 130
    begun, finished = len(log.read_text().split()), len(list(records.glob("*.record")))
    assert begun == finished < 40
    assert f"keeps {finished} finished runs; the same command resumes" in output


def test_a_second_ctrl_c_drops_runs_in_progress(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[sweep]\nmean = [1]\n")
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("stubborn_process.py")), "sweep", "a.toml"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(3000):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "press Ctrl-C again to drop them" in said
    assert "whimbrel: interrupted: out/a/records keeps 0 finished runs" in said
