"""The phone's program: runs a carrier, asks for the stream, and records what arrives when.

    python -m whimbrel.testbed.phone PLAN.json

The program follows the carriers of the phone's interfaces. With `notices`, it announces each outage to the
carrier (SIGUSR1) at the given time, as a driver that sees the signal fade would.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from whimbrel._base import documents
from whimbrel.testbed.interfaces import Change, Monitor
from whimbrel.testbed.source import address

ASK_AGAIN_S = 0.5
GRAIN_S = 0.02
"""Longest time between two looks at the clock."""
NO_MARK_S = 30.0
"""Without the mark by then, this program was started after it."""


class Phone:
    """A test from the phone's side."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Starts the carrier; `plan` comes from `runs.phone_plan`."""
        self.plan = plan
        self.monitor = Monitor()
        self.changes: list[Change] = []
        self.arrivals: list[tuple[float, int]] = []
        self.epoch: float | None = None
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.log = Path(plan["log"]).open("w", encoding="utf-8")  # noqa: SIM115 - open as long as the test
        self.carrier = subprocess.Popen(plan["carrier"], stdout=self.log, stderr=subprocess.STDOUT)

    def now(self) -> float:
        """Seconds on the network's clock; negative before the mark."""
        return time.monotonic() - self.epoch if self.epoch is not None else -1.0

    def run(self) -> dict[str, Any]:
        """Runs the test to its end; the report."""
        notices = list(self.plan["notices"])
        ask_at = self.plan["ask_at_s"]
        no_mark_at = time.monotonic() + NO_MARK_S
        while self.now() < self.plan["end_s"] and self.carrier.poll() is None:
            if self.epoch is None and time.monotonic() > no_mark_at:
                break
            self._look()
            now = self.now()
            if not self.arrivals and now >= ask_at:
                self.udp.sendto(b"PLAY", address(self.plan["carrier_at"]))
                ask_at = now + ASK_AGAIN_S
            if notices and now >= notices[0]:
                self.carrier.send_signal(signal.SIGUSR1)
                notices.pop(0)
            self._receive()
        ended = self.carrier.poll()
        self.carrier.send_signal(signal.SIGINT)
        try:
            self.carrier.wait(3)
        except subprocess.TimeoutExpired:
            self.carrier.kill()
        return {
            "epoch_s": self.epoch,
            "carrier_ended": ended,
            "changes": [[each.at_s, each.interface, each.has_carrier] for each in self.changes],
            "arrivals": self.arrivals,
        }

    def _look(self) -> None:
        for change in self.monitor.changes():
            self.changes.append(change)
            if self.epoch is None and not change.has_carrier:
                self.epoch = change.at_s - self.plan["mark_s"]

    def _receive(self) -> None:
        self.udp.settimeout(GRAIN_S)
        try:
            packet = self.udp.recv(2048)
        except (TimeoutError, ConnectionRefusedError):
            return
        self.arrivals.append((time.monotonic(), int.from_bytes(packet[2:4], "big")))


def main() -> int:
    """Runs the program."""
    plan = documents.read_json(Path(sys.argv[1]))
    report = Phone(plan).run()
    Path(plan["report"]).write_text(json.dumps(report), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
