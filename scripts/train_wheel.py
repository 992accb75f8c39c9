#!/usr/bin/env python3
"""Runs what a profile-guided build of the wheel is optimised for: simulations, and datagrams over loopback.

`make wheel` runs this with an instrumented wheel, and builds the wheel again with the counts. The simulations
differ from the benchmark's (`crates/lab/examples/speed.rs`): other rates, loads and seeds.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import whimbrel

SCENARIOS = Path(__file__).resolve().parent.parent / "examples" / "scenarios"
RUNS: dict[str, list[list[str]]] = {
    "dumbbell.toml": [["variables.tcp=4", "variables.tfrc=6"], ["variables.tcp=0"], ["variables.tfrc=0"]],
    "tcp_dumbbell.toml": [[]],
    "wb.toml": [[], ["variables.classifier=zbs"]],
    "wlh.toml": [[]],
    "video_wb.toml": [[]],
    "media.toml": [[]],
    "mesh.toml": [[]],
    "adhoc.toml": [[]],
    "handoff.toml": [[]],
    "wifi_cell.toml": [[]],
}
"""Scenarios, and the changes of each run."""
CCIDS = ("2", "3", "4")


def simulate() -> None:
    """Runs each scenario with each of its changes."""
    for name, runs in RUNS.items():
        for changes in runs:
            whimbrel.run(SCENARIOS / name, seed=7, overrides=changes)


def free_port() -> int:
    """A UDP port that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def transfer() -> None:
    """Sends datagrams over loopback, with each congestion control."""
    perf = [sys.executable, "-m", "whimbrel", "perf"]
    for ccid in CCIDS:
        address = f"127.0.0.1:{free_port()}"
        with subprocess.Popen([*perf, "server", "--bind", address, "--one-off"]) as server:
            time.sleep(0.5)
            subprocess.run([*perf, "client", address, "--ccid", ccid, "--time", "2", "--bidir"], check=True)
            server.wait(10)


if __name__ == "__main__":
    simulate()
    transfer()
