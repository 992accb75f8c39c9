"""The program at an end of the path: runs the rival's program, and sends the stream or logs what arrives.

Usage: python -m live.end camera|viewer PLAN.json

Both ends read the same clock. The kernel stamps datagrams when they arrive, so that this program's own
scheduling does not count. By the files `started`, `sent` and `viewer.json` in the run's folder each end knows
what the other one has done.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from live import stream

NEAR, FAR = ("127.0.0.1", 5004), 5006
"""The address at which the rival's program takes the stream, and the port to which it delivers it."""
SETTLE_S = 2.25
"""From the start of this program, with which the path begins, to the first frame."""
DRAIN_S = 1.5
"""After the last frame, packets on the way arrive."""
END_S = 10.0
STREAMING = 10
"""The real-time priority of programs while they carry the stream."""
ENCODER_SHARE = 0.95
"""The part of the offered rate for which the encoder is set: packets need a little more than the video."""
RECORD = struct.Struct("=QH")
_SO_TIMESTAMPNS = 35
_SO_RCVBUFFORCE = 33
_TIMESPEC = struct.Struct("qq")
_KEY_FRAME_REQUESTS = ((1, 206), (4, 206))
"""The formats and the type of a Picture Loss Indication and of a Full Intra Request."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Programs:
    """Programs at this end: the rival's, or the competing traffic's."""

    def __init__(self, commands: list[list[str]], log: Path) -> None:
        """Starts the commands; what they print goes to a file."""
        self.before_s = 0.0
        with log.open("wb") as file:
            self.started = [
                subprocess.Popen(each, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
                for each in commands
            ]

    def cpu_s(self) -> float:
        """Processor time since `begin`."""
        total = 0.0
        for each in self.started:
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{each.pid}/stat").read_text().rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) * _TICK_S
        return total - self.before_s

    def begin(self) -> None:
        """From now on the programs run ahead of others, and their processor time counts."""
        for each in self.started:
            with contextlib.suppress(OSError):
                hurry(*(int(thread.name) for thread in Path(f"/proc/{each.pid}/task").iterdir()))
        self.before_s = 0.0
        self.before_s = self.cpu_s()

    def ended(self) -> list[int]:
        """The exit codes of the processes that have ended by themselves."""
        return [each.returncode for each in self.started if each.poll() is not None]

    def wait(self, limit_s: float) -> None:
        """Waits until they end by themselves."""
        deadline = time.monotonic() + limit_s
        for each in self.started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                each.wait(max(0.0, deadline - time.monotonic()))

    def stop(self) -> None:
        """Ends all of them."""
        for number in (signal.SIGINT, signal.SIGKILL):
            for each in self.started:
                each.send_signal(number)
            self.wait(2.0)


def age_s() -> float:
    """Time since this process was started, of which the interpreter has used a part; to 10 ms."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) * _TICK_S


def hurry(*threads: int) -> None:
    """Runs threads ahead of processes of normal priority, if permitted.

    A program that waits for a busy processor delays the stream: the fault of the machine, not of the rival.
    """
    for each in threads:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(each, os.SCHED_RR, os.sched_param(STREAMING))


class Offered:
    """The rate that the rival offers to the encoder, asked ten times a second."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.rate_bps = 0.0
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        while True:
            with (
                contextlib.suppress(OSError, ValueError, KeyError, TypeError),
                urllib.request.urlopen(self.url, timeout=1) as answer,  # noqa: S310 - of this host
            ):
                self.rate_bps = float(json.load(answer)["encoder_rate_bps"])
            time.sleep(0.1)


def is_asked(out: socket.socket) -> bool:
    """True if a request for a key frame has come to the port that sends (RFC 4585 and 5104, RFC 5506)."""
    found = False
    with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
        while message := out.recv(1500, socket.MSG_DONTWAIT):
            found |= len(message) > 1 and (message[0] & 0x1F, message[1]) in _KEY_FRAME_REQUESTS
    return found


def camera(plan: dict[str, Any], folder: Path) -> None:
    """Sends the stream, and writes which encoding each frame had and when it was sent."""
    rival = Programs(plan["camera"], folder / "camera.log")
    offered = Offered(plan["rate_url"]) if plan["rate_url"] else None
    ladder = [stream.read(Path(each)) for each in plan["encodings"]]
    # However long the interpreter and the files take, the stream meets the path's outages at the same frames.
    time.sleep(max(0.0, SETTLE_S - age_s()))
    target = NEAR if plan["camera"] else (plan["viewer_address"], FAR)
    beside = Programs(plan["beside"]["camera"], folder / "beside")
    (folder / "started").touch()
    hurry(0)
    rival.begin()
    sent: list[tuple[int, int, int]] = []
    late_s = []
    sequence, rung, asked = 0, 0 if plan["restarts"] else len(ladder) - 1, False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        start = time.monotonic()
        for number in range(len(ladder[0].frames)):
            wait = start + number / stream.FRAMES_PER_S - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            late_s.append(time.monotonic() - start - number / stream.FRAMES_PER_S)
            if offered is not None and ladder[0].is_key[number]:
                rung = stream.choose(ENCODER_SHARE * offered.rate_bps, plan["ladder_bps"])
            if plan["restarts"]:
                asked |= is_asked(out)
                if asked and number % stream.RESTART_EVERY == 0:
                    rung, asked = number % stream.KEY_EVERY // stream.RESTART_EVERY, False
            sent.append((rung, sequence, time.time_ns()))
            for packet in ladder[rung].frames[number]:
                # Nothing listens any more if the rival has ended.
                with contextlib.suppress(ConnectionRefusedError):
                    out.sendto(stream.numbered(packet, sequence, number), target)
                sequence += 1
    time.sleep(DRAIN_S)
    report = {"sent": sent, "cpu_s": rival.cpu_s(), "ended": rival.ended(), "late_s": max(late_s)}
    beside.wait(END_S)
    beside.stop()
    (folder / "camera.json").write_text(json.dumps(report))
    (folder / "sent").touch()
    deadline = time.monotonic() + END_S
    while not (folder / "viewer.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    rival.stop()


def viewer(plan: dict[str, Any], folder: Path) -> None:
    """Logs what arrives until the camera's end has sent everything."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        for option in (_SO_RCVBUFFORCE, socket.SO_RCVBUF):
            with contextlib.suppress(PermissionError):
                receiver.setsockopt(socket.SOL_SOCKET, option, 1 << 22)
                break
        receiver.bind(("", FAR))
        receiver.settimeout(0.1)
        beside = Programs(plan["beside"]["viewer"], folder / "beside-viewer.log")
        rival = Programs(plan["viewer"], folder / "viewer.log")
        with (folder / "received.bin").open("wb") as file:
            has_begun = False
            while not (folder / "sent").exists():
                if not has_begun and (folder / "started").exists():
                    hurry(0)
                    rival.begin()
                    has_begun = True
                with contextlib.suppress(TimeoutError):
                    data, control, _, _ = receiver.recvmsg(65_535, 256)
                    file.write(RECORD.pack(_stamp(control), len(data)) + data)
            report = {"cpu_s": rival.cpu_s(), "ended": rival.ended()}
        partial = folder / "viewer.partial"
        partial.write_text(json.dumps(report))
        partial.replace(folder / "viewer.json")
    rival.stop()
    beside.stop()


def _stamp(control: list[tuple[int, int, bytes]]) -> int:
    """The kernel's time of arrival, in ns."""
    for level, kind, value in control:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanos = _TIMESPEC.unpack(value)
            return int(seconds * 1_000_000_000 + nanos)
    return time.time_ns()


def main() -> None:
    """Runs one end."""
    role, file = sys.argv[1:]
    plan = json.loads(Path(file).read_text())
    names = {name: os.environ[f"WHIMBREL_ADDRESS_{name.upper()}"] for name in ("camera", "viewer")}
    for commands in (plan["camera"], plan["viewer"], *plan["beside"].values()):
        for command in commands:
            command[:] = [word.format(**names) for word in command]
    plan["viewer_address"] = names["viewer"]
    (camera if role == "camera" else viewer)(plan, Path(plan["folder"]))


if __name__ == "__main__":
    main()
