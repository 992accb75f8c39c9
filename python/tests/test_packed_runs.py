"""`whimbrel pack` of the directory of `run --out`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from whimbrel.__main__ import main

SCENARIO = """
[simulation]
duration = "2 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
trace = { file = "../walk.csv", format = "rate" }
delay = "10 ms"
queue = "20 packets"
loss = { model = "bernoulli", rate = "1 %" }
reverse = { rate = "2 Mbit/s" }
[[flow]]
name = "f"
from = "a"
to = "b"
transport = "udp"
traffic = { kind = "cbr", rate = "1 Mbit/s" }
"""


@pytest.fixture(name="run")
def _run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a run whose scenario is not there any more, under another name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "walk.csv").write_text("time_s,rate_kbps\n0,2000\n1,1500\n")
    (tmp_path / "my").mkdir()
    (tmp_path / "my/a.toml").write_text(SCENARIO)
    words = ["run", "my/a.toml", "--seed", "7", "--set", "link.radio.delay=30 ms", "--out", "run", "--quiet"]
    # The compiled part prints past the streams of this process.
    subprocess.run([sys.executable, "-m", "whimbrel", *words], capture_output=True, check=True)
    shutil.rmtree("my")
    (tmp_path / "walk.csv").unlink()
    return Path(shutil.move("run", "mine"))


def test_a_run_is_packed_with_its_scenario(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(run), "--to", "run.zip"]) == 0
    capsys.readouterr()
    code = main(["verify", "run.zip", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 0, found
    (claim,) = found["claims"]
    assert claim["command"].startswith("whimbrel sweep results/run/scenario/run.json ")
    assert claim["command"].endswith(" --quick --seed 7")


def test_a_run_that_its_scenario_does_not_give_is_not_packed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = run / "scenario/run.json"
    scenario = json.loads(kept.read_text())

    def refused() -> str:
        capsys.readouterr()
        assert main(["pack", str(run), "--to", "run.zip"]) == 1
        assert not Path("run.zip").exists()
        return capsys.readouterr().err

    def changed(**simulation: object) -> str:
        kept.write_text(json.dumps({**scenario, "simulation": {"duration": "2 s", **simulation}}))
        return refused()

    assert f"{kept} does not give the tables in mine" in changed(seed=8)
    assert f"{kept}: simulation.seed is None, expected a whole number" in changed()
    # A file of this machine that the run did not keep.
    Path("secret.csv").write_text("0,1\n")
    kept.write_text(json.dumps({**scenario, "trace": {"file": "../../secret.csv"}}))
    assert f"{kept} names '../../secret.csv'" in refused()
    kept.unlink()
    assert "mine has the tables of a run without its scenario, scenario/run.json" in refused()
