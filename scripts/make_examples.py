#!/usr/bin/env python3
"""Writes the made-up recordings below examples/: traces of losses and rates, a capture, a list of arrivals.

Usage: .venv/bin/python scripts/make_examples.py

The files are in the repository; run this to change them. A test checks that it reproduces the traces. The
capture depends on the version of the simulator.
"""

from __future__ import annotations

import gzip
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

CALL = """
title = "A call and a video over a lossy radio link"
[simulation]
duration = "12 s"
[[node]]
name = "phone"
[[node]]
name = "server"
[[link]]
name = "radio"
between = ["phone", "server"]
rate = "1 Mbit/s"
delay = "30 ms"
queue = "20 packets"
loss = { model = "gilbert-elliott", good_to_bad = "2 %", bad_to_good = "60 %" }
[[flow]]
name = "video"
from = "phone"
to = "server"
transport = "dccp"
classifier = "zbs3"
packet_size = "700 B"
traffic = { kind = "cbr", rate = "500 kbit/s" }
stop = "10 s"
[[flow]]
name = "voice"
from = "phone"
to = "server"
transport = "dccp"
ccid = 4
classifier = "zbs3"
packet_size = "200 B"
traffic = { kind = "cbr", rate = "64 kbit/s" }
start = "1 s"
stop = "10 s"
"""

ARRIVALS = """\
sequence,sent,received
0,0.00,0.520
1,0.01,0.530
2,0.02,0.540
4,0.04,0.560
5,0.05,0.570
6,0.06,0.580
7,0.07,0.590
9,0.09,0.680
10,0.10,0.690
11,0.11,0.700
"""


def losses(seconds: float = 120.0) -> str:
    """Intervals in which a radio link loses everything: mostly milliseconds, now and then half a second."""
    draw = random.Random(20)  # noqa: S311 - reproducible, not secret
    lines = ["from_s,to_s"]
    now = 2.0
    while True:
        now += draw.expovariate(1 / 0.55)
        length = 0.002 + (draw.expovariate(1 / 0.012) if draw.random() < 0.93 else draw.uniform(0.1, 0.5))
        if now + length >= seconds:
            return "\n".join(lines) + "\n"
        lines.append(f"{now:.4f},{now + length:.4f}")
        now += length


def rate(milliseconds: int = 60_000) -> str:
    """Milliseconds at which 1500 bytes may leave: 2.5 Mbit/s that vary, and 1.5 s without a link."""
    draw = random.Random(20)  # noqa: S311
    marks: list[int] = []
    credit = state = packets_per_ms = 0.0
    for now in range(milliseconds):
        if now % 100 == 0:
            state = 0.9 * state + draw.gauss(0, 0.35)
            mean = 2.5 + 1.5 * math.sin(2 * math.pi * now / 25_000)
            outage = 41_000 <= now < 42_500
            packets_per_ms = 0.0 if outage else max(0.15, mean * math.exp(0.35 * state)) * 1e3 / 8 / 1500
        credit += packets_per_ms
        while credit >= 1:
            marks.append(now)
            credit -= 1
    return "\n".join(map(str, marks)) + "\n"


def main() -> int:
    """Writes the files; returns the exit code."""
    (EXAMPLES / "traces" / "drive_losses.csv").write_text(losses())
    (EXAMPLES / "traces" / "drive.mahimahi.gz").write_bytes(gzip.compress(rate().encode(), mtime=0))
    (EXAMPLES / "captures" / "arrivals.csv").write_text(ARRIVALS)
    with tempfile.TemporaryDirectory() as scratch:
        scenario, capture = Path(scratch, "call.toml"), Path(scratch, "call.pcapng")
        scenario.write_text(CALL)
        command = [sys.executable, "-m", "whimbrel", "run", str(scenario), "--quiet", "--pcap", str(capture)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        packed = gzip.compress(capture.read_bytes(), mtime=0)
    (EXAMPLES / "captures" / "call.pcapng.gz").write_bytes(packed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
