"""README.md and the pages by task: their commands and programs run as printed."""

import json
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from shell_blocks import ROOT, Shell, blocks, commands

DOCS = ROOT / "docs"
SETUP = (r"^make ", r"^\. ", r"venv", r"^pip install")
"""Tested by the build itself, and below."""


@contextmanager
def _perf_server() -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, "-m", "whimbrel", "perf", "server", "--bind", "127.0.0.1:0", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        yield str(json.loads(server.stdout.readline())["listening"])
    finally:
        server.kill()
        server.communicate()


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _python(program: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{program}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_commands_of_the_readme_run_with_the_printed_output(tmp_path: Path) -> None:
    with _perf_server() as server:
        shell = Shell(
            tmp_path,
            left_out=SETUP,
            shortened={
                r"perf client 127.0.0.1 --rate 5M --time 3": f"perf client {server} --rate 5M --time 0.5"
            },
        )
        shell.all_of(ROOT / "README.md")
    # The last command of the installation, and the four doors.
    assert len(shell.run) == 5
    assert (tmp_path / "out" / "index.html").is_file()
    path, *others = blocks(ROOT / "README.md", "text")
    assert re.sub(r"\s+", " ", path.splitlines()[0]) in re.sub(r"\s+", " ", shell.printed[1])
    for shown, printed in zip(others, shell.printed[2:], strict=True):
        for line in shown.splitlines():
            assert re.sub(r"\s+", " ", line) in re.sub(r"\s+", " ", printed), line


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 90


def test_the_readme_quotes_the_measured_page() -> None:
    text, page = (ROOT / "README.md").read_text(), (DOCS / "live.md").read_text()
    quoted = re.search(r"leaves (\d+) % of the frames .* and (\d+) % with SRT.*?(\d+) %", text, re.DOTALL)
    rows = [line.split("|") for line in page.splitlines() if line.startswith(("| 120 ms", "| loss 3 %"))]
    heads = [word.strip() for word in rows[0]]
    cells = dict(
        zip(heads, (re.sub(r"[*±].*", "", word.replace("**", "")).strip() for word in rows[1]), strict=True)
    )
    assert quoted is not None
    assert list(quoted.groups()) == [cells[each] for each in ("RTP over UDP", "SRT", "whimbrel relay")]


def test_getting_started_runs(tmp_path: Path) -> None:
    page = DOCS / "getting-started.md"
    with _perf_server() as server:
        shortened = {
            r"perf client 127.0.0.1 --rate 5M --time 3": f"perf client {server} --rate 5M --time 0.5",
            r"(sweep .*)": r"\1 --max-runs 3",
        }
        Shell(tmp_path, left_out=SETUP, shortened=shortened).all_of(page)
    (program,) = blocks(page, "python")
    _python(program, tmp_path)


@pytest.mark.parametrize("shell", ["bash", "zsh", "sh"])
def test_the_environment_is_activated_as_printed(shell: str) -> None:
    activate = ROOT / ".venv" / "bin" / "activate"
    if shutil.which(shell) is None or not activate.is_file():
        pytest.skip(f"no {shell}, or the tests run in another environment")
    (line,) = {line.partition("#")[0].strip() for line in commands(ROOT / "README.md") if "activate" in line}
    script = f"{line} && command -v whimbrel"
    done = subprocess.run([shell, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(ROOT / ".venv" / "bin" / "whimbrel"), done.stderr


def test_the_installation_of_the_wheel_is_that_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^wheel:", makefile, re.MULTILINE)
    assert "--out $(OUT)/wheels" in makefile
    assert "pip install out/wheels/whimbrel-*.whl" in commands(ROOT / "README.md")


def test_comparing_over_a_trace_runs(tmp_path: Path) -> None:
    page = DOCS / "compare.md"
    shell = Shell(tmp_path, shortened={r"--max-runs \d+": "--max-runs 2 --quick"})
    (mine,) = blocks(page, "csv")
    (tmp_path / "my.csv").write_text(mine)
    shutil.copy(ROOT / "examples" / "captures" / "call.pcapng.gz", tmp_path / "my.pcapng.gz")
    shutil.copy(ROOT / "examples" / "traces" / "drive.mahimahi.gz", tmp_path / "my.mahimahi")
    (tmp_path / "my_rates.csv").write_text("time_s,rate_kbps\n0,1500\n20,3000\n40,800\n")
    shell.all_of(page)
    assert len(shell.run) == 9
    sweep = tomllib.loads(blocks(page, "toml")[0])["sweep"]
    scenario = tmp_path / "examples" / "scenarios" / "compare.toml"
    before, _, _ = scenario.read_text().partition("[sweep]")
    scenario.write_text(before + blocks(page, "toml")[0])
    listed = subprocess.run(
        [sys.executable, "-m", "whimbrel", "sweep", str(scenario), "--quick", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert listed.returncode == 0, listed.stderr
    rows = (tmp_path / "out" / "compare" / "sweep.csv").read_text()
    assert all(each["name"] in rows for each in sweep["control"])
    (program,) = blocks(page, "python")
    assert "CCID 3 carries" in _python(program, tmp_path)


def test_the_printed_comparison_is_that_of_the_packaged_trace(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "whimbrel", "sweep", "compare.toml", "--out", str(tmp_path), "--json"]
        + ["--metric", "goodput_bps", "--metric", "delay_p95_s", "--max-runs", "10"],
        cwd=ROOT / "examples" / "scenarios",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "compare" / "sweep.csv").read_text().splitlines()
    header = text[0].split(",")
    printed = {}
    for name, goodput, delay in re.findall(
        r"^\| (CCID [^|]*) \| ([\d.]+) Mbit/s \| (\d+) ms", (DOCS / "compare.md").read_text(), re.MULTILINE
    ):
        printed[name.replace("`", "").strip()] = (float(goodput), float(delay))
    assert len(printed) == 3
    for line in text[1:]:
        row = dict(zip(header, line.split(","), strict=True))
        expected = printed[row["control"]]
        if row["metric"] == "goodput":
            assert abs(float(row["ours"]) / 1e3 - expected[0]) < 0.006, row
        else:
            assert abs(float(row["ours"]) - expected[1]) < 0.6, row


def test_a_missing_recording_is_named_with_the_path_that_was_tried(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "whimbrel", "run", str(ROOT / "examples/scenarios/compare.toml")]
        + ["--set", "variables.losses=my.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"expected a readable file ({ROOT / 'examples/scenarios/my.csv'}: " in done.stderr


def test_the_exercises_and_their_solutions_run(tmp_path: Path) -> None:
    page = DOCS / "teach.md"
    shell = Shell(tmp_path, shortened={r"--max-runs \d+": "--quick"})
    shell.all_of(page)
    text = page.read_text()
    solutions = blocks(page, "python")
    assert len(solutions) == len(re.findall(r"^## \d\. ", text, re.MULTILINE)) == 8
    assert text.count("<details>") == text.count("</details>") == 8
    for solution in solutions:
        assert "assert" in solution
        _python(solution, tmp_path)


def test_a_video_is_carried_without_a_camera(tmp_path: Path) -> None:
    ports = {port: _free_port() for port in ("5004", "5005", "6511")}
    shell = Shell(
        tmp_path,
        # crates/cli/tests (carry_recipe, relay_players, relay_streams, pipe) and gst/tests run these.
        left_out=(
            "^curl",
            "^gst-launch",
            "^sudo",
            "^whimbrel relay",
            "whimbrel pipe",
            "^whimbrel emulate fly.toml",
        ),
    )
    page = DOCS / "relay.md"
    # One script, because the shell that starts background processes must not end before them.
    (trial,) = (block for block in blocks(page, "sh") if "udp_sink" in block)
    rest = "\n".join(f"```sh\n{block}```" for block in blocks(page, "sh") if block != trial)
    # In one pass, because a free port may contain the digits of a port that follows.
    trial = re.sub(rf"(?<=127\.0\.0\.1:)({'|'.join(ports)})\b", lambda found: str(ports[found[0]]), trial)
    (tmp_path / "trial.sh").write_text(trial)
    guide = tmp_path / "guide.md"
    guide.write_text(f"```sh\nbash -eu trial.sh > trial.log\n```\n{rest}\n")
    shell.all_of(guide)
    assert (tmp_path / "trial.log").read_text().endswith("complete\n")
    assert len(shell.run) == 3


def test_the_pages_by_task_begin_with_a_command_and_are_linked() -> None:
    for name in ("getting-started", "compare", "papers", "paper", "teach", "relay", "embed"):
        text = (DOCS / f"{name}.md").read_text()
        assert re.match(r"# [^\n]+\n\n```(sh|rust|toml)", text), name
        assert f"]({name}.md" in (DOCS / "index.md").read_text(), name


def test_the_citation_has_the_version_of_the_package() -> None:
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert cited is not None
    assert cited[1] == version
