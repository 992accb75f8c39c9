"""Data between two processes of a program: do they arrive, and how much memory do relays need?"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workspace import ReleaseError

SECRET = "a-secret-for-a-trial-of-a-release"  # noqa: S105
PACKETS = 300
SIZE = 1_200
INTERVAL_S = 0.01
PATIENCE_S = 60.0
LEAST_SHARE = 0.98
"""Of the datagrams over loopback: a machine that does much else may drop some."""


@dataclass(frozen=True)
class Carried:
    """A stream that was carried.

    Attributes:
        sent: datagrams, after the first that arrived.
        arrived: of them.
        memory: the most resident memory of a relay, in bytes; 0 if the system does not tell.
    """

    sent: int
    arrived: int
    memory: int

    def __str__(self) -> str:
        return f"{self.arrived} of {self.sent} datagrams, {self.memory / 1e6:.1f} MB resident"


def carry(command: Sequence[str]) -> Carried:
    """Carries an encrypted stream over loopback through two relays.

    Raises:
        ReleaseError: too few of its datagrams arrive.
        TimeoutError: nothing arrives.
    """
    ports = free_ports(2)
    environment = {**os.environ, "WHIMBREL_SECRET": SECRET}
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as camera,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as player,
    ):
        player.bind(("127.0.0.1", 0))
        player.settimeout(0.2)
        to = f"127.0.0.1:{player.getsockname()[1]}"
        relays = [
            [*command, "relay", "server", "--bind", f"127.0.0.1:{ports[0]}", "--to", to],
            [*command, "relay", "client", f"127.0.0.1:{ports[0]}", "--from", f"127.0.0.1:{ports[1]}"],
        ]
        quiet = subprocess.DEVNULL
        running = [subprocess.Popen(relay, env=environment, stdout=quiet) for relay in relays]
        try:
            wait_for_the_first(camera, player, ports[1])
            arrived = 0
            for number in range(PACKETS):
                camera.sendto(number.to_bytes(4) + bytes(SIZE), ("127.0.0.1", ports[1]))
                time.sleep(INTERVAL_S)
                arrived += received(player, 0.0)
            arrived += received(player, 1.0)
            carried = Carried(PACKETS, arrived, max(memory(relay.pid) for relay in running))
        finally:
            for relay in running:
                relay.terminate()
            for relay in running:
                relay.wait(PATIENCE_S)
    if carried.arrived < LEAST_SHARE * carried.sent:
        raise ReleaseError(f"{' '.join(command)}: {carried}, expected at least {LEAST_SHARE:.0%} of them")
    return carried


def measure(command: Sequence[str]) -> str:
    """Measures the path over loopback with `perf`, encrypted.

    Raises:
        ReleaseError: the client fails, or too few of its datagrams arrive.
    """
    address = f"127.0.0.1:{free_ports(1)[0]}"
    environment = {**os.environ, "WHIMBREL_SECRET": SECRET}
    with subprocess.Popen(
        [*command, "perf", "server", "--bind", address, "--one-off"], env=environment, stdout=subprocess.PIPE
    ) as server:
        try:
            if server.stdout is not None:
                server.stdout.readline()
            client = [*command, "perf", "client", address, "--rate", "1Mbit/s", "--time", "3", "--json"]
            done = subprocess.run(client, env=environment, capture_output=True, text=True, check=False)
        finally:
            server.terminate()
    if done.returncode != 0:
        raise ReleaseError(f"{' '.join(client)}: exit status {done.returncode}: {done.stderr}{done.stdout}")
    way = json.loads(done.stdout)["summary"]["up"]
    sent, arrived = way["sent"]["datagrams"], way["received"]["datagrams"]
    delay = way["received"]["delay_variation_p50_s"] * 1e3
    result = f"{arrived} of {sent} datagrams of perf, delay varies by {delay:.1f} ms (median)"
    if arrived < LEAST_SHARE * sent or sent == 0:
        raise ReleaseError(f"{' '.join(command)}: {result}, expected at least {LEAST_SHARE:.0%} of them")
    return result


def free_ports(count: int) -> list[int]:
    """UDP ports that were free a moment ago."""
    probes = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def wait_for_the_first(camera: socket.socket, player: socket.socket, port: int) -> None:
    """Sends until something arrives, and takes what was on the way."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        camera.sendto(b"first", ("127.0.0.1", port))
        if received(player, 0.2):
            received(player, 0.5)
            return
    raise TimeoutError(f"nothing has arrived in {PATIENCE_S:.0f} s")


def received(player: socket.socket, patience: float) -> int:
    """The number of datagrams that arrive, until none does for that time."""
    player.settimeout(patience)
    count = 0
    try:
        while player.recv(2_000):
            count += 1
    except (TimeoutError, BlockingIOError):
        return count
    return count


def memory(process: int) -> int:
    """The most resident memory of a process so far, in bytes."""
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    peaks = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")]
    return max(peaks, default=0)
