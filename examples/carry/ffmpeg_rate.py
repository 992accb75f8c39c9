#!/usr/bin/env python3
"""Runs an encoder without a control of its rate, such as ffmpeg's, at the step of a rate that a relay allows.

Usage: ffmpeg_rate.py http://127.0.0.1:9612/rate --steps 300k,600k,1200k -- ffmpeg ... -b:v {rate} ...

{rate} in the command is the step in bit/s. The relay's encoder_rate_bps is read four times a second. A step
that exceeds it for half a second is left for the highest one that fits, by a restart of the command; a higher
one is taken when it has fitted for five seconds.
"""

import argparse
import json
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress

SHARE = 0.9
PERIOD_S = 0.25
DOWN_S = 0.5
UP_S = 5.0


def bits(text: str) -> int:
    """A rate in bit/s: 300k, 1.2M or a plain number."""
    factor = {"k": 1e3, "M": 1e6}.get(text[-1:], 1.0)
    return int(float(text.rstrip("kM")) * factor)


def allowed(url: str) -> float | None:
    """The rate for the encoder in bit/s; None while there is no connection."""
    with suppress(OSError, ValueError), urllib.request.urlopen(url, timeout=1) as answer:  # noqa: S310
        rate = json.load(answer).get("encoder_rate_bps")
        return None if rate is None else float(rate)
    return None


class Steps:
    """The step that fits, with patience."""

    def __init__(self, steps: list[int]) -> None:
        self._steps = sorted(steps)
        self.current = self._steps[0]
        self._since: float | None = None

    def update(self, now: float, rate: float | None) -> bool:
        """Takes the rate that is allowed now. True if the step changes."""
        if rate is None:
            self._since = None
            return False
        fitting = [step for step in self._steps if step <= SHARE * rate] or self._steps[:1]
        if fitting[-1] == self.current:
            self._since = None
            return False
        self._since = now if self._since is None else self._since
        if now - self._since < (DOWN_S if fitting[-1] < self.current else UP_S):
            return False
        self.current, self._since = fitting[-1], None
        return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--steps", required=True, help="rates, separated by commas: 300k,600k,1200k")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    command: list[str] = given.command
    if not given.url.startswith("http://"):
        parser.error("expected the URL of a relay, http://...")
    if not any("{rate}" in word for word in command):
        parser.error("expected a command with {rate}")
    steps = Steps([bits(step) for step in given.steps.split(",")])

    def start() -> "subprocess.Popen[bytes]":
        print(f"{steps.current} bit/s", flush=True)
        return subprocess.Popen([word.replace("{rate}", str(steps.current)) for word in command])

    def stop(process: "subprocess.Popen[bytes]") -> None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    process = start()
    try:
        while process.poll() is None:
            time.sleep(PERIOD_S)
            if steps.update(time.monotonic(), allowed(given.url)):
                stop(process)
                process = start()
    except KeyboardInterrupt:
        return 0
    finally:
        stop(process)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
