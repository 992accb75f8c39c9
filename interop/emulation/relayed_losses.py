"""Compares loss verdicts over real sockets with simulated ones, on the same path.

The program `relayed_losses` of interop/peers sends over a relay in user space, which loses packets to a
queue and to a radio and records the cause; `whimbrel run` simulates that path. The script prints the shares
of right verdicts, on losses to the radio and to the queue. The exit code is 1 if the former differ by more
than ten points.

Usage, as root so that the relay gets real-time priority:

    cargo build --release -p whimbrel-peers -p whimbrel-cli
    python interop/emulation/relayed_losses.py [--binaries DIRECTORY] [SCHEME ...]

Each scheme takes the measured time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCHEMES = ("biaz", "mbiaz", "spike", "zigzag", "zbs")
SECONDS = 40
RATE_KBPS = 500
DELAY_MS = 20
QUEUE_PACKETS = 20
LOSS = 0.04
SEEDS = 20
"""Simulated runs; one over real sockets."""
WITHIN = 0.10
"""Largest difference between shares of right verdicts on radio losses."""

SCENARIO = """
[simulation]
duration = "{duration} s"
[[node]]
name = "sender"
[[node]]
name = "receiver"
[[link]]
name = "radio"
between = ["sender", "receiver"]
rate = "{rate} kbit/s"
delay = "{delay} ms"
queue = "{queue} packets"
loss = {{ model = "bernoulli", rate = {loss} }}
[[flow]]
name = "data"
from = "sender"
to = "receiver"
transport = "dccp"
ccid = 3
classifier = "{scheme}"
packet_size = "1000 B"
dccp = {{ guard = false }}
"""

Shares = tuple[float, float, int, int]
"""Shares of right verdicts on radio losses and on queue losses, and the numbers of each."""


def relayed(binaries: Path, scheme: str) -> Shares:
    """Verdicts over real sockets."""
    path = [SECONDS, RATE_KBPS, DELAY_MS, QUEUE_PACKETS, LOSS, 1]
    command = [str(binaries / "relayed_losses"), scheme, *map(str, path)]
    if os.geteuid() == 0:
        command = ["chrt", "--fifo", "20", *command]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=10 * SECONDS)
    found = json.loads(output.stdout)
    causes = [found[cause] for cause in ("wireless", "congestion")]
    lost = [cause["lost"] for cause in causes]
    shares = [cause["right"] / max(cause["lost"], 1) for cause in causes]
    return shares[0], shares[1], lost[0], lost[1]


def simulated(binaries: Path, scheme: str) -> Shares:
    """The same of simulations of the same path."""
    text = SCENARIO.format(
        duration=SECONDS, rate=RATE_KBPS, delay=DELAY_MS, queue=QUEUE_PACKETS, loss=LOSS, scheme=scheme
    )
    classified, wrong = [0, 0], [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "path.toml"
        scenario.write_text(text)
        for seed in range(1, SEEDS + 1):
            command = [str(binaries / "whimbrel"), "run", str(scenario), "--seed", str(seed), "--json"]
            output = subprocess.run(command, check=True, capture_output=True, text=True)
            flows = json.loads(output.stdout)["tables"]["flows"]
            for at, cause in enumerate(("wireless", "congestion")):
                classified[at] += flows[f"{cause}_judged"][0]
                wrong[at] += flows[f"{cause}_misclassified"][0]
    shares = [1 - bad / max(all_, 1) for bad, all_ in zip(wrong, classified, strict=True)]
    return shares[0], shares[1], classified[0], classified[1]


def main() -> int:
    """Measures each scheme over the relay and in the simulator, and compares."""
    parser = argparse.ArgumentParser(description="Verdicts over real sockets compared with simulated ones.")
    parser.add_argument("schemes", nargs="*", default=SCHEMES, metavar="SCHEME")
    parser.add_argument("--binaries", type=Path, default=ROOT / "target" / "release")
    arguments = parser.parse_args()
    header = ("scheme", "radio, real", "radio, simulated", "queue, real", "queue, simulated")
    print("{:8} {:>16} {:>17} {:>16} {:>17}".format(*header))
    is_far = False
    for scheme in arguments.schemes:
        real, model = relayed(arguments.binaries, scheme), simulated(arguments.binaries, scheme)
        cells = [f"{shares[at]:6.1%} of {shares[at + 2]}" for at in (0, 1) for shares in (real, model)]
        print("{:8} {:>16} {:>17} {:>16} {:>17}".format(scheme, *cells), flush=True)
        is_far |= abs(real[0] - model[0]) > WITHIN
    return int(is_far)


if __name__ == "__main__":
    sys.exit(main())
