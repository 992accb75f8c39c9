#!/usr/bin/env python3
"""Processor time of programs that carry a video with repair: whimbrel relay, SRT and RIST.

Usage: benches/relay.py [--rate MBIT] [--seconds 20] [--rounds 3] [--latency MS] [--delay MS]

Both ends together while the video is sent, without the processes that make, delay and count the datagrams;
medians of alternating rounds. The relay is encrypted; SRT is measured with and without encryption (AES-128),
RIST without. The last row is socat, which forwards each datagram without a protocol. Between the ends is a
path with a delay: on a path without one, feedback once per round-trip time is feedback for each datagram. The
last line is JSON.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import select
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
CAMERA, VIEWER, LINK, PATH = 5104, 5106, 9100, 9110
SIZE, FRAMES_PER_S = 1200, 30
SETTLE_S, DRAIN_S = 2.0, 1.0
LEAST = 0.98
"""A program that delivers less has not done the work. The first frames after a pause wait for the rate."""
SRT_KEYS = "passphrase=sixteen-characters&pbkeylen=16"
PROGRAMS: dict[str, tuple[str, str]] = {
    "whimbrel relay": (
        f"{WHIMBREL} relay server --bind 127.0.0.1:{LINK} --to 127.0.0.1:{VIEWER} --secret-file {{secret}} "
        "--latency {latency}ms",
        f"{WHIMBREL} relay client 127.0.0.1:{PATH} --from 127.0.0.1:{CAMERA} --secret-file {{secret}} "
        "--latency {latency}ms",
    ),
    "SRT": (
        f"srt-live-transmit 'srt://:{LINK}?mode=listener&latency={{latency}}' udp://127.0.0.1:{VIEWER}",
        f"srt-live-transmit udp://127.0.0.1:{CAMERA} "
        f"'srt://127.0.0.1:{PATH}?mode=caller&latency={{latency}}'",
    ),
    "SRT, encrypted": (
        f"srt-live-transmit 'srt://:{LINK}?mode=listener&latency={{latency}}&{SRT_KEYS}' "
        f"udp://127.0.0.1:{VIEWER}",
        f"srt-live-transmit udp://127.0.0.1:{CAMERA} "
        f"'srt://127.0.0.1:{PATH}?mode=caller&latency={{latency}}&{SRT_KEYS}'",
    ),
    "RIST": (
        f"ristreceiver -p 1 -i 'rist://@127.0.0.1:{LINK}?buffer={{latency}}' -o udp://127.0.0.1:{VIEWER}",
        f"ristsender -p 1 -i udp://127.0.0.1:{CAMERA} -o 'rist://127.0.0.1:{PATH}?buffer={{latency}}'",
    ),
    "socat": (
        f"socat -u UDP4-RECV:{LINK} UDP4-SENDTO:127.0.0.1:{VIEWER}",
        f"socat -u UDP4-RECV:{CAMERA} UDP4-SENDTO:127.0.0.1:{PATH}",
    ),
}
"""The commands at the viewer and at the camera."""


def stream(rate_mbps: float, seconds: float) -> int:
    """Sends frames as RTP to the camera's program at their times; returns the number of datagrams."""
    payload = bytearray(SIZE)
    payload[8:12] = b"\x00\x00\x00\x01"
    per_frame = round(rate_mbps * 1e6 / 8 / SIZE / FRAMES_PER_S)
    sent, begin = 0, time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for frame in range(round(seconds * FRAMES_PER_S)):
            time.sleep(max(0.0, begin + frame / FRAMES_PER_S - time.monotonic()))
            for part in range(per_frame):
                # Version 2, payload type 96, and the marker of a frame's last packet.
                payload[0:2] = bytes((0x80, 96 | (0x80 if part + 1 == per_frame else 0)))
                payload[2:4] = (sent % 65536).to_bytes(2, "big")
                payload[4:8] = (frame * 90_000 // FRAMES_PER_S).to_bytes(4, "big")
                out.sendto(payload, ("127.0.0.1", CAMERA))
                sent += 1
    return sent


def delay(seconds: float, ended: threading.Event) -> None:
    """Carries datagrams between the ends, each after a delay, until the end."""
    near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client: tuple[str, int] | None = None
    waiting: list[tuple[float, int, bool, bytes]] = []
    count = 0
    with near, far:
        near.bind(("127.0.0.1", PATH))
        while not ended.is_set():
            wait = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 0.1
            ready, _, _ = select.select([near, far], [], [], wait)
            due = time.monotonic() + seconds
            for end in ready:
                datagram, sender = end.recvfrom(65_536)
                client = sender if end is near else client
                count += 1
                heapq.heappush(waiting, (due, count, end is near, datagram))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, is_forward, datagram = heapq.heappop(waiting)
                if is_forward:
                    far.sendto(datagram, ("127.0.0.1", LINK))
                elif client:
                    near.sendto(datagram, client)


def processor_time(process: int) -> float:
    """Processor seconds of a process so far, of all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def count(sink: socket.socket, found: list[int]) -> None:
    """Counts the datagrams at the viewer until the socket times out."""
    buffer = bytearray(2048)
    while True:
        try:
            found[0] += int(sink.recv_into(buffer) > 0)
        except TimeoutError:
            return


def measure(name: str, secret: Path, given: argparse.Namespace) -> float:
    """Processor seconds of both ends while the stream is sent.

    Raises:
        SystemExit: less than `LEAST` of the datagrams were delivered.
    """
    found = [0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
        sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        sink.bind(("127.0.0.1", VIEWER))
        sink.settimeout(SETTLE_S * 2 + DRAIN_S)
        ended = threading.Event()
        path = threading.Thread(target=delay, args=(given.delay / 1e3, ended))
        path.start()
        ends = []
        for command in PROGRAMS[name]:
            words = shlex.split(command.format(secret=secret, latency=given.latency))
            ends.append(
                subprocess.Popen(
                    words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=secret.parent
                )
            )
            time.sleep(SETTLE_S / 2)
        viewer = threading.Thread(target=count, args=(sink, found))
        viewer.start()
        time.sleep(SETTLE_S / 2)
        before = sum(processor_time(end.pid) for end in ends)
        sent = stream(given.rate, given.seconds)
        time.sleep(DRAIN_S)
        cost = sum(processor_time(end.pid) for end in ends) - before
        for end in reversed(ends):
            end.send_signal(signal.SIGKILL)
            end.wait()
        ended.set()
        path.join()
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
    parser.add_argument("--delay", type=float, default=20.0, help="of the path in each direction in ms")
    given = parser.parse_args()
    costs: dict[str, list[float]] = {}
    for name, commands in PROGRAMS.items():
        program = shlex.split(commands[0])[0]
        if shutil.which(program) is None:
            print(
                f"{name}: skipped, no {program} (cargo build --release; "
                "apt-get install srt-tools rist-tools socat)"
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
                each.append(measure(name, secret, given))
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
