#!/usr/bin/env python3
"""One handover in separate namespaces: run by `handover.py` for each line of its table.

Usage: unshare ... handover_walk.py GAP_SECONDS WAY_OF_FREEZING --whimbrel FILE --schedule FILE

Prints one JSON object: the report of the client of `whimbrel perf`, the datagrams that left its interface
with their times, and the number of datagrams handed to its kernel while the interface was down.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from handover_paths import SERVER, Lab, Way

HOME = Way("home", "10.1.0", 4000, 0.010)
"""A home's Wi-Fi, followed by a longer and slower path."""
AWAY_KBPS, AWAY_DELAY_S = 2500, 0.025
BEFORE_S = 5.0
"""Time enough for slow start to reach the clip's rate."""
AFTER_S = 4.0
NOTICE_S = 0.3
"""Time between a warning, if there is one, and the outage."""
REACTION_S = 0.05
"""Longest reaction time of the trigger: no datagram may follow later."""
PATIENCE_S = 60.0
# The handovers are measured for the transport alone, without encryption.
PLAIN = "--insecure-plaintext"

OPTIONS: dict[str, list[str]] = {
    "tfrc": ["--follow-link=air"],
    "link": ["--freeze-on-link-loss=air"],
    "warned": ["--freeze-on-link-loss=air", "--freeze-lead", "1rtt", "--freeze-notice", str(NOTICE_S)],
    "silence": ["--follow-link=air", "--freeze-on-silence"],
}


@dataclass(slots=True)
class Moments:
    """Times of events, in seconds on the monotonic clock, and the datagrams handed to the kernel by then."""

    down_s: float = 0.0
    up_s: float = 0.0
    handed_at_down: int = 0
    handed_after_reaction: int = 0
    handed_at_up: int = 0


def hand_over(lab: Lab, client: subprocess.Popen[str], gap_s: float, warned: bool) -> Moments:
    """Takes the client's link down for a while."""
    moments = Moments()
    if warned:
        client.send_signal(signal.SIGUSR1)
        time.sleep(NOTICE_S)
    moments.down_s = lab.go_away()
    moments.handed_at_down = lab.handed_over()
    time.sleep(REACTION_S)
    moments.handed_after_reaction = lab.handed_over()
    time.sleep(max(moments.down_s + gap_s - time.monotonic(), 0.0))
    moments.handed_at_up = lab.handed_over()
    moments.up_s = lab.come_back(1)
    return moments


def main() -> int:
    """Runs one handover."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("gap", type=float)
    parser.add_argument("way", choices=OPTIONS)
    parser.add_argument("--away", type=int, default=AWAY_KBPS, help="rate of the new path in kbit/s")
    parser.add_argument("--whimbrel", required=True)
    parser.add_argument("--schedule", required=True)
    arguments = parser.parse_args()
    ways = [HOME, Way("away", "10.2.0", arguments.away, AWAY_DELAY_S)]
    lab = Lab(ways)
    server = subprocess.Popen(
        [*Lab.inside(lab.server), arguments.whimbrel, "perf", "server", "--one-off", "--json", PLAIN],
        stdout=subprocess.PIPE,
        text=True,
    )
    if server.stdout is not None:
        # The server prints a line when it can be reached.
        server.stdout.readline()
    length = BEFORE_S + arguments.gap + AFTER_S
    options = ["--schedule", arguments.schedule, "--time", str(length), "--interval", "0.5", "--json"]
    options += [PLAIN, "--patience", str(PATIENCE_S), *OPTIONS[arguments.way]]
    client = subprocess.Popen(
        [*Lab.inside(lab.client), arguments.whimbrel, "perf", "client", SERVER, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = time.monotonic() + 10
    while not lab.relay.seen and client.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    time.sleep(BEFORE_S)
    moments = Moments()
    if client.poll() is None:
        moments = hand_over(lab, client, arguments.gap, arguments.way == "warned")
    try:
        report, errors = client.communicate(timeout=length + PATIENCE_S + 10)
    except subprocess.TimeoutExpired:
        client.kill()
        report, errors = client.communicate()
    server.kill()
    server.wait()
    json.dump(
        {
            "gap_s": arguments.gap,
            "way": arguments.way,
            "exit_code": client.returncode,
            "errors": errors.strip(),
            "record": json.loads(report) if report else None,
            "moments": asdict(moments),
            "away_kbps": arguments.away,
            "rtt_s": [way.rtt_s for way in ways],
            "seen": [[seen.at_s, seen.sequence, seen.made_s, seen.path] for seen in lab.relay.seen],
        },
        sys.stdout,
    )
    lab.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
