#!/usr/bin/env python3
"""Processor time of programs that carry a video with repair on loopback: whimbrel relay, SRT and RIST.

Usage: benches/relay.py [--rate MBIT] [--seconds 20] [--rounds 3] [--latency MS]

Both ends together, without the processes that make and count the datagrams; medians of alternating rounds.
The relay is encrypted; SRT is measured with and without encryption (AES-128), RIST without. The last line is
JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHIMBREL = ROOT / "target" / "release" / "whimbrel"
CAMERA, VIEWER, LINK = 5104, 5106, 9100
SIZE, FRAMES_PER_S = 1200, 30
SETTLE_S, DRAIN_S = 2.0, 1.0
LEAST = 0.99
"""A program that delivers less has not done the work."""
SRT_KEYS = "passphrase=sixteen-characters&pbkeylen=16"
PROGRAMS: dict[str, tuple[str, str]] = {
    "whimbrel relay": (
        f"{WHIMBREL} relay server --bind 127.0.0.1:{LINK} --to 127.0.0.1:{VIEWER} --secret-file {{secret}} "
        "--latency {latency}ms",
        f"{WHIMBREL} relay client 127.0.0.1:{LINK} --from 127.0.0.1:{CAMERA} --secret-file {{secret}} "
        "--latency {latency}ms",
    ),
    "SRT": (
        f"srt-live-transmit 'srt://:{LINK}?mode=listener&latency={{latency}}' udp://127.0.0.1:{VIEWER}",
        f"srt-live-transmit udp://127.0.0.1:{CAMERA} "
        f"'srt://127.0.0.1:{LINK}?mode=caller&latency={{latency}}'",
    ),
    "SRT, encrypted": (
        f"srt-live-transmit 'srt://:{LINK}?mode=listener&latency={{latency}}&{SRT_KEYS}' "
        f"udp://127.0.0.1:{VIEWER}",
        f"srt-live-transmit udp://127.0.0.1:{CAMERA} "
        f"'srt://127.0.0.1:{LINK}?mode=caller&latency={{latency}}&{SRT_KEYS}'",
    ),
    "RIST": (
        f"ristreceiver -p 1 -i 'rist://@127.0.0.1:{LINK}?buffer={{latency}}' -o udp://127.0.0.1:{VIEWER}",
        f"ristsender -p 1 -i udp://127.0.0.1:{CAMERA} -o 'rist://127.0.0.1:{LINK}?buffer={{latency}}'",
    ),
}
"""The commands at the viewer and at the camera."""


def stream(rate_mbps: float, seconds: float) -> int:
    """Sends frames to the camera's program at their times; returns the number of datagrams."""
    payload = bytearray(SIZE)
    # RTP of payload type 96, as RIST and the relay expect.
    payload[0:2] = bytes((0x80, 96))
    per_frame = round(rate_mbps * 1e6 / 8 / SIZE / FRAMES_PER_S)
    sent, begin = 0, time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for frame in range(round(seconds * FRAMES_PER_S)):
            time.sleep(max(0.0, begin + frame / FRAMES_PER_S - time.monotonic()))
            for _ in range(per_frame):
                payload[2:4] = (sent % 65536).to_bytes(2, "big")
                out.sendto(payload, ("127.0.0.1", CAMERA))
                sent += 1
    return sent


def count(sink: socket.socket, found: list[int]) -> None:
    """Counts the datagrams at the viewer until the socket times out."""
    buffer = bytearray(2048)
    while True:
        try:
            found[0] += int(sink.recv_into(buffer) > 0)
        except TimeoutError:
            return


def measure(name: str, secret: Path, rate_mbps: float, seconds: float, latency_ms: int) -> float:
    """Processor seconds of both ends for the stream.

    Raises:
        SystemExit: less than `LEAST` of the datagrams were delivered.
    """
    found = [0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
        sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        sink.bind(("127.0.0.1", VIEWER))
        sink.settimeout(SETTLE_S * 2 + DRAIN_S)
        ends = []
        for command in PROGRAMS[name]:
            words = shlex.split(command.format(secret=secret, latency=latency_ms))
            ends.append(
                subprocess.Popen(
                    words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=secret.parent
                )
            )
            time.sleep(SETTLE_S / 2)
        viewer = threading.Thread(target=count, args=(sink, found))
        viewer.start()
        sent = stream(rate_mbps, seconds)
        time.sleep(DRAIN_S)
        cost = 0.0
        for end in reversed(ends):
            end.send_signal(signal.SIGKILL)
            # Of this process alone.
            _, status, usage = os.wait4(end.pid, 0)
            end.returncode = os.waitstatus_to_exitcode(status)
            cost += usage.ru_utime + usage.ru_stime
        viewer.join()
    if found[0] < LEAST * sent:
        raise SystemExit(f"{name}: {found[0]} of {sent} datagrams were delivered, expected {LEAST:.0%}")
    return cost


def main() -> int:
    """Measures and prints; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=6.0, help="of the video in Mbit/s")
    parser.add_argument("--seconds", type=float, default=20.0, help="of video in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency", type=int, default=150, help="budget of repair in ms")
    given = parser.parse_args()
    costs: dict[str, list[float]] = {}
    for name, commands in PROGRAMS.items():
        program = shlex.split(commands[0])[0]
        if shutil.which(program) is None:
            print(
                f"{name}: skipped, no {program} (cargo build --release; apt-get install srt-tools rist-tools)"
            )
        else:
            costs[name] = []
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "secret"
        subprocess.run(
            [str(WHIMBREL), "key", "secret", "--file", str(secret)], check=True, stdout=subprocess.DEVNULL
        )
        for _ in range(given.rounds):
            for name, each in costs.items():
                each.append(measure(name, secret, given.rate, given.seconds, given.latency))
    base = statistics.median(costs.get("SRT") or [float("nan")])
    rows = [
        {
            "program": name,
            "cpu_s": round(statistics.median(each), 3),
            "from": round(min(each), 3),
            "to": round(max(each), 3),
            "to_srt": round(statistics.median(each) / base, 2),
        }
        for name, each in costs.items()
    ]
    for row in rows:
        print("{program:16} {cpu_s:6.2f} s [{from:.2f}, {to:.2f}]  {to_srt:.2f} of SRT's".format(**row))
    print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
