"""The command with a simulator that takes a minute: `python stubborn_process.py ARGUMENT...`."""

import sys
import time
from pathlib import Path
from types import SimpleNamespace

from whimbrel.__main__ import main
from whimbrel._base import compiled


def slow_run(*_: object) -> None:
    """Creates a file where it runs, and takes a minute."""
    Path("started").touch()
    time.sleep(60)


if __name__ == "__main__":
    found = {
        "flows": ["a"],
        "background": [False],
        "metrics": ["goodput_bps", "delay_mean_s"],
        "is_random": True,
        "fixed_recordings": [],
    }
    core = SimpleNamespace(run=slow_run, examine=lambda *_: found, __file__=__file__)
    compiled.core = lambda: core  # type: ignore[assignment]
    sys.exit(main())
