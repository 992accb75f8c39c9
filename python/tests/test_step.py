"""`scripts/step.sh`: one line per step of `make`."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

STEP = Path(__file__).parents[2] / "scripts" / "step.sh"


def test_a_step_prints_one_line_and_keeps_its_output(tmp_path: Path) -> None:
    log = tmp_path / "log" / "step.log"
    done = subprocess.run(
        [STEP, "counting", log, "sh", "-c", "echo one; echo two >&2"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(r"== counting: \d+ s\n", done.stdout)
    assert done.stderr == ""
    assert log.read_text() == "one\ntwo\n"


def test_a_step_that_fails_prints_its_output_and_its_status(tmp_path: Path) -> None:
    log = tmp_path / "step.log"
    done = subprocess.run(
        [STEP, "failing", log, "sh", "-c", "echo the reason; exit 3"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("the reason\n")
    assert str(log) in done.stderr


def test_an_interrupted_step_ends_the_children_of_its_command(tmp_path: Path) -> None:
    number = tmp_path / "number"
    command = ["sh", "-c", f"sh -c 'echo $$ > {number}; exec sleep 60'; true"]
    step = subprocess.Popen([STEP, "sleeping", tmp_path / "step.log", *command], start_new_session=True)
    while not (number.is_file() and number.read_text()):
        time.sleep(0.01)
    # As Ctrl-C does: to the whole process group of the terminal's foreground.
    os.killpg(step.pid, signal.SIGINT)
    assert step.wait(timeout=10) == 130
    child = Path("/proc") / number.read_text().strip()
    if Path("/proc/self").exists():
        for _ in range(200):
            if not child.exists():
                return
            time.sleep(0.01)
        raise AssertionError("the command's child is still running")
