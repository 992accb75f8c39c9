#!/usr/bin/env python3
"""Runs an encrypted relay for a while over a path with random events, and checks that it survives them.

Usage: scripts/relay_soak.py [--minutes 30] [--seed 1] [--program target/release/whimbrel] [--record FILE]

A path in this process carries the datagrams between `whimbrel relay client` and `whimbrel relay server`.
The path fails, loses, delays, reorders and repeats them, drops large ones, and changes the address from which
they reach the listening end, as a NAT does; the ends are stopped for a while, as in a suspended laptop.
Programs at both ends send video, speech and answers. It exits with 1 if the connection was lost, if speech
did not return after an event, or if the memory of an end grew. With `--record`, a JSON file gets
the run as well (tests/lasting/soak.json): hours add up over runs with different seeds.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

# Speech returns within this time after an event, in seconds: some retransmission times, and the search for
# a smaller packet size.
RETURN_TIME = 15.0
# Growth of resident memory between the second and the last quarter, in bytes.
GROWTH = 1 << 20
SPEECH, VIDEO = 0.02, 0.04
LARGEST = 1 << 16


@dataclass
class Link:
    """A path between the two ends."""

    far: tuple[str, int]
    dice: random.Random
    near: socket.socket = field(init=False)
    out: socket.socket = field(init=False)
    client: tuple[str, int] | None = None
    up: bool = True
    loss: float = 0.0
    repeat: float = 0.0
    delay: float = 0.01
    jitter: float = 0.0
    mtu: int = LARGEST
    waiting: list[tuple[float, int, bool, bytes]] = field(default_factory=list)
    count: int = 0
    dropped: int = 0

    def __post_init__(self) -> None:
        self.near = udp()
        self.rebind()

    def rebind(self) -> None:
        """Another address towards the far end."""
        self.out = udp()
        self.out.connect(self.far)

    def calm(self) -> None:
        """No losses any more."""
        self.up, self.loss, self.repeat, self.jitter, self.mtu = True, 0.0, 0.0, 0.0, LARGEST

    def take(self, now: float, upwards: bool, data: bytes) -> None:
        """Takes a datagram."""
        if not self.up or len(data) + 28 > self.mtu or self.dice.random() < self.loss:
            self.dropped += 1
            return
        for _ in range(2 if self.dice.random() < self.repeat else 1):
            self.count += 1
            at = now + self.delay + self.jitter * self.dice.random()
            heapq.heappush(self.waiting, (at, self.count, upwards, data))

    def pass_on(self, now: float) -> None:
        """Delivers the datagrams that are due."""
        while self.waiting and self.waiting[0][0] <= now:
            _, _, upwards, data = heapq.heappop(self.waiting)
            try:
                if upwards:
                    self.out.send(data)
                elif self.client:
                    self.near.sendto(data, self.client)
            except OSError:
                self.dropped += 1


def udp() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", 0))
    made.setblocking(False)
    return made


def datagrams(of: socket.socket) -> list[tuple[bytes, tuple[str, int]]]:
    found: list[tuple[bytes, tuple[str, int]]] = []
    while len(found) < 256:
        try:
            found.append(of.recvfrom(LARGEST))
        except OSError:
            break
    return found


class End:
    """A relay's end in the background."""

    def __init__(self, program: str, arguments: list[str], log: Path) -> None:
        self.log = log
        self.output = log.open("w")
        command = [program, "relay", *arguments, "--http", "127.0.0.1:0", "--json", "--interval", "10"]
        self.process = subprocess.Popen(command, stdout=self.output, stdin=subprocess.DEVNULL)

    def address(self, pattern: str) -> tuple[str, int]:
        """The address in a line about being ready."""
        for _ in range(200):
            if found := re.search(pattern + r"([\d.]+):(\d+)", self.log.read_text()):
                return found[1], int(found[2])
            time.sleep(0.05)
        raise SystemExit(f"no {pattern!r} in {self.log}: {self.log.read_text()}")

    def memory(self) -> int:
        """Resident memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def descriptors(self) -> int:
        """Number of open descriptors."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def cpu(self) -> float:
        """Processor time in seconds."""
        return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) * 1e-9

    def state(self, at: tuple[str, int]) -> dict[str, object]:
        """The state that the end serves."""
        with urllib.request.urlopen(f"http://{at[0]}:{at[1]}/", timeout=5) as answer:
            read: dict[str, object] = json.load(answer)
            return read


Event = tuple[str, float, Callable[[], None], Callable[[], None]]


def event(dice: random.Random, path: Link, ends: list[End]) -> Event:
    """A random event: its name, duration, beginning and end."""
    kind = dice.choice(
        ["outage", "long outage", "rebinding", "loss", "reordering", "repetition", "delay", "small", "stop"]
    )
    seconds = dice.uniform(0.5, 5.0)

    def set_(**values: float | bool) -> Callable[[], None]:
        def run() -> None:
            for name, value in values.items():
                setattr(path, name, value)

        return run

    match kind:
        case "outage":
            return kind, seconds, set_(up=False), path.calm
        case "long outage":
            return kind, 4 * seconds, set_(up=False), path.calm
        case "rebinding":
            return kind, 0.0, path.rebind, path.calm
        case "loss":
            return kind, seconds, set_(loss=dice.uniform(0.01, 0.2)), path.calm
        case "reordering":
            return kind, seconds, set_(jitter=dice.uniform(0.01, 0.1)), path.calm
        case "repetition":
            return kind, seconds, set_(repeat=dice.uniform(0.1, 1.0)), path.calm
        case "delay":
            return kind, 0.0, set_(delay=dice.uniform(0.001, 0.1)), path.calm
        case "small":
            return kind, 2 * seconds, set_(mtu=dice.randint(900, 1250)), path.calm
        case _:
            process = dice.choice(ends).process
            stop, go = signal.SIGSTOP, signal.SIGCONT
            return kind, 4 * seconds, lambda: process.send_signal(stop), lambda: process.send_signal(go)


@dataclass
class Programs:
    """The programs at both ends."""

    ports: list[tuple[str, int]]
    viewers: list[socket.socket]
    speaker: socket.socket = field(default_factory=udp)
    camera: socket.socket = field(default_factory=udp)
    number: int = 0
    frame: int = 0
    next_speech: float = 0.0
    next_frame: float = 0.0
    last_speech: float = 0.0
    received: list[int] = field(default_factory=lambda: [0, 0])

    def send(self, now: float) -> None:
        """Sends the packets that are due."""
        if now >= self.next_speech:
            self.next_speech = max(self.next_speech + SPEECH, now)
            self.number += 1
            self.packet(self.speaker, 0, 0, self.number, 160)
        if now >= self.next_frame:
            self.next_frame = max(self.next_frame + VIDEO, now)
            self.frame += 1
            for part in range(5):
                self.packet(self.camera, 1, 96, 5 * self.frame + part, 1000)

    def packet(self, out: socket.socket, port: int, kind: int, number: int, size: int) -> None:
        """Sends an RTP packet."""
        stamp = self.frame if kind else number
        header = struct.pack("!BBHII", 0x80, kind, number & 0xFFFF, stamp & 0xFFFFFFFF, kind)
        try:
            out.sendto(header + bytes(size), self.ports[port])
        except OSError:
            return

    def receive(self, now: float) -> None:
        """Counts what has arrived, and answers."""
        for which, viewer in enumerate(self.viewers):
            for data, source in datagrams(viewer):
                self.received[which] += 1
                if which == 0:
                    self.last_speech = now
                if self.received[which] % 50 == 0:
                    viewer.sendto(data[:12], source)
        for sender in (self.speaker, self.camera):
            # Answers are read, so that they do not fill the sockets.
            datagrams(sender)


def run(arguments: argparse.Namespace, folder: Path) -> list[str]:
    dice = random.Random(arguments.seed)  # noqa: S311
    secret = str(folder / "secret")
    subprocess.run(
        [arguments.program, "key", "secret", "--file", secret], check=True, stdout=subprocess.DEVNULL
    )
    viewers = [udp(), udp()]
    targets = [f"--to={host}:{port}" for host, port in (each.getsockname() for each in viewers)]
    far = End(
        arguments.program,
        ["server", "--bind", "127.0.0.1:0", *targets, "--secret-file", secret],
        folder / "far.log",
    )
    path = Link(far.address("at UDP "), random.Random(arguments.seed + 1))  # noqa: S311
    host, port = path.near.getsockname()
    sources = ["--from=127.0.0.1:0", "--from=127.0.0.1:0"]
    near = End(
        arguments.program,
        ["client", f"{host}:{port}", *sources, "--secret-file", secret],
        folder / "near.log",
    )
    states = [each.address("state at http://") for each in (far, near)]
    first = near.address("datagrams at UDP ")
    second = near.address(rf"datagrams at UDP [\d.]+:{first[1]}, ")
    programs = Programs([first, second], viewers)
    faults: list[str] = []
    samples: list[tuple[float, list[int], list[int]]] = []
    started = time.monotonic()
    ends, end = [far, near], started + 60 * arguments.minutes
    current: Event | None = None
    change = started + 5.0
    watched: tuple[str, float] | None = None
    longest: dict[str, float] = {}
    counts: dict[str, int] = {}
    sampled = started
    while (now := time.monotonic()) < end:
        programs.send(now)
        sockets = [path.near, path.out, *viewers, programs.speaker, programs.camera]
        select.select(sockets, [], [], 0.002)
        now = time.monotonic()
        for data, source in datagrams(path.near):
            path.client = source
            path.take(now, True, data)
        for data, _ in datagrams(path.out):
            path.take(now, False, data)
        path.pass_on(now)
        programs.receive(now)
        if watched and programs.last_speech > watched[1]:
            took = programs.last_speech - watched[1]
            longest[watched[0]] = max(longest.get(watched[0], 0.0), took)
            watched = None
        if watched and now > watched[1] + RETURN_TIME:
            faults.append(f"{now - started:.0f} s: no speech for {RETURN_TIME:.0f} s after: {watched[0]}")
            watched = None
        if now >= change and current is None and now + 40 < end:
            current = event(dice, path, ends)
            counts[current[0]] = counts.get(current[0], 0) + 1
            current[2]()
            change = now + current[1]
            watched = None
        elif now >= change and current is not None:
            current[3]()
            watched = (current[0], now)
            current = None
            change = now + dice.uniform(3.0, 20.0)
        if now >= sampled + 10:
            sampled = now
            samples.append(
                (now - started, [each.memory() for each in ends], [each.descriptors() for each in ends])
            )
            if faults or any(each.process.poll() is not None for each in ends):
                break
    path.calm()
    for each, at in zip(ends, states, strict=True):
        state = each.state(at)
        if state["established"] != 1:
            faults.append(f"{state['established']} connections were established, not one")
    quarter = max(len(samples) // 4, 1)
    for which, name in enumerate(("listening", "connecting")):
        sizes = [memory[which] for _, memory, _ in samples]
        before, after = max(sizes[quarter : 2 * quarter], default=0), max(sizes[-quarter:], default=0)
        opened = [descriptors[which] for _, _, descriptors in samples]
        share = ends[which].cpu() / (time.monotonic() - started)
        print(
            f"{name} end: {before / 1e6:.2f} MB in the second quarter, {after / 1e6:.2f} MB in the last; "
            f"{max(opened)} descriptors; {share:.1%} of a processor"
        )
        if after > before + GROWTH:
            faults.append(f"the memory of the {name} end grew from {before} to {after} bytes")
        if opened[-1] > opened[quarter] + 4:
            faults.append(f"the {name} end has {opened[-1]} descriptors, and had {opened[quarter]}")
    speech, video = programs.received
    print(
        f"{speech} of {programs.number} packets of speech arrived, {video} of {5 * programs.frame} of video"
    )
    for kind, number in sorted(counts.items()):
        print(f"{number:4} x {kind}: speech returned after {longest.get(kind, 0.0):.2f} s at most")
    for each in ends:
        each.process.send_signal(signal.SIGTERM)
    for each in ends:
        try:
            each.process.wait(10)
        except subprocess.TimeoutExpired:
            each.process.kill()
            faults.append("an end did not end when told to")
    return faults


def add(file: Path, run: dict[str, object]) -> None:
    """Adds a run to a file, and prints the hours of all runs."""
    runs: list[dict[str, object]] = json.loads(file.read_text()) if file.exists() else []
    file.write_text(json.dumps([*runs, run], indent=1) + "\n")
    hours = sum(float(str(each["minutes"])) for each in [*runs, run]) / 60
    print(f"{len(runs) + 1} runs, {hours:.1f} hours, written to {file}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default="target/release/whimbrel")
    parser.add_argument("--keep", type=Path, help="a folder for the ends' logs")
    parser.add_argument("--record", type=Path, help="a JSON file that gets this run as well")
    arguments = parser.parse_args()
    begun = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as folder:
        faults = run(arguments, arguments.keep or Path(folder))
    minutes = round((datetime.now(UTC) - begun).total_seconds() / 60, 1)
    if arguments.record:
        begin = begun.isoformat(timespec="minutes")
        add(arguments.record, {"begin": begin, "minutes": minutes, "seed": arguments.seed, "faults": faults})
    for fault in faults:
        print(f"FAULT: {fault}", file=sys.stderr)
    print("soak:", "ok" if not faults else f"{len(faults)} fault(s)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
