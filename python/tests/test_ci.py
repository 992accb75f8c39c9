"""The template "test your media stack on a bad network": the script, the networks and the workflow."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shell_blocks import ROOT

from whimbrel.__main__ import main
from whimbrel._base import documents, extras

CI = ROOT / "examples" / "ci"
NETWORKS = ROOT / "examples" / "networks"
WHIMBREL = Path(sys.executable).parent / "whimbrel"
SENDER = """
import socket, time
out = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
while True:
    for _ in range({burst}):
        out.sendto(bytes(1000), ("receiver", 5000))
    time.sleep(0.02)
"""


def _run(
    programs: Path, results: Path, *networks: str, runs: int = 3, time: str = "1s"
) -> "subprocess.CompletedProcess[str]":
    settings = {
        "WHIMBREL": str(WHIMBREL),
        "RUNS": str(runs),
        "TIME": time,
        "NETWORKS": str(NETWORKS),
        "PYTHON": sys.executable,
    }
    words = ["/bin/sh", str(CI / "bad_networks.sh"), str(programs), str(results), *networks]
    return subprocess.run(
        words,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
        cwd=programs.parent,
    )


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """A folder with programs; without rights to emulate the test is skipped."""
    trial = [str(WHIMBREL), "emulate", str(NETWORKS / "fibre.toml"), "--quiet", "--", "true"]
    done = subprocess.run(trial, capture_output=True, text=True, check=False)
    if done.returncode:
        if os.environ.get("REQUIRE_ALL") == "1":
            pytest.fail(done.stderr)
        pytest.skip(f"no emulation here: {done.stderr}")
    for name, burst in (("main", 1), ("worse", 40)):
        (tmp_path / f"{name}.py").write_text(SENDER.format(burst=burst))
        text = f"SEND='exec {sys.executable} {tmp_path}/{name}.py'\nRECEIVE='exec sleep 60'\n"
        (tmp_path / f"{name}.sh").write_text(text)
    return tmp_path


def _compare_of_the_workflow() -> list[str]:
    """The words of the command that decides."""
    text = (CI / "bad-networks.yml").read_text().replace("\\\n", " ")
    (line,) = re.findall(r"whimbrel (compare .*?) \|", text)
    return shlex.split(line)


def test_a_change_that_floods_a_slow_uplink_fails_and_none_does_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, results in (("main", "main"), ("worse", "results"), ("main", "same")):
        done = _run(folder / f"{name}.sh", folder / results, "dsl", "far")
        assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.chdir(folder)
    assert main(_compare_of_the_workflow()) == 1
    assert "dsl, media" in (folder / "compare.html").read_text()
    # A flooded queue delays by 0.6 s; a loaded machine delays by less.
    assert main(["compare", "main", "same", "--metric", "delay_p95_s", "--tolerance", "100%"]) == 0


def test_a_sender_that_fails_is_named(folder: Path) -> None:
    (folder / "broken.sh").write_text("SEND='echo no camera >&2; exit 3'\nRECEIVE='exec sleep 60'\n")
    done = _run(folder / "broken.sh", folder / "broken", "fibre", runs=1)
    assert done.returncode == 1
    assert "no camera" in done.stderr
    assert "fibre, run 1: the sending program failed" in done.stderr
    (folder / "none.sh").write_text("SEND='exec true'\n")
    assert "does not set RECEIVE" in _run(folder / "none.sh", folder / "none").stderr
    script = ["/bin/sh", str(CI / "bad_networks.sh")]
    usage = subprocess.run(script, capture_output=True, text=True, check=False)
    assert usage.returncode == 2
    assert usage.stderr.startswith("Runs two programs over the networks of a folder")


@pytest.mark.parametrize(
    ("name", "program"),
    [("ffmpeg", "ffmpeg"), ("gstreamer", "gst-launch-1.0"), ("iperf3", "iperf3"), ("webrtc", "aiortc")],
)
def test_programs_of_others_send_over_a_network(name: str, program: str, folder: Path) -> None:
    if shutil.which(program) is None and not extras.is_installed(program):
        pytest.skip(f"no {program}")
    for file in (f"{name}.sh", "webrtc_peer.py"):
        shutil.copy(CI / file, folder)
    done = _run(folder / f"{name}.sh", folder / "results", "fibre", runs=1, time="5s")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = [row for row in documents.CsvFile(folder / "results" / "flows.csv") if row["flow"] == "media"]
    assert int(row["delivered_packets"]) > 20


def test_ten_networks_have_the_nodes_and_the_rows_of_the_page() -> None:
    files = {path.stem: documents.read_toml(path) for path in NETWORKS.glob("*.toml")}
    assert len(files) == 10
    for document in files.values():
        assert {node["name"] for node in document["node"]} == {"sender", "receiver"}
        assert document["flow"][0] | {"from": "sender", "to": "receiver"} == document["flow"][0]
    page = (ROOT / "docs" / "ci.md").read_text()
    assert set(re.findall(r"^\| `([a-z]+)` \|", page, re.MULTILINE)) == set(files)


def test_the_workflow_names_files_that_exist() -> None:
    named = re.findall(r"ci/([\w.]+\.sh)", (CI / "bad-networks.yml").read_text())
    assert {"bad_networks.sh", "ffmpeg.sh"} == set(named)
    assert all((CI / name).is_file() for name in named)
