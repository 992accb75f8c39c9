"""Requirements on single tests, and on the bulk transfers together."""

from __future__ import annotations

import json
import math
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from captures import SYNC, Capture, read
from machine import EQUATION
from suite import ADDRESSES, Test, deviations

# Largest relative difference between Whimbrel and Linux.
TOLERANCE = 0.15
# The two-sided 95 % quantile of Student's t for 9 degrees of freedom: the least number of compared parts.
STUDENT = 2.262
Report = dict[str, Any]


@dataclass
class Result:
    """One test with its verdict."""

    number: int
    test: Test
    problems: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    reports: dict[str, Report] = field(default_factory=dict)

    def check(self, holds: bool, otherwise: str) -> None:
        """Records a problem unless a condition holds."""
        if not holds:
            self.problems.append(otherwise)


def check(number: int, test: Test, out: Path) -> Result:
    """Reads the guest's files of a test."""
    result = Result(number, test)
    try:
        for role in ("server", "client"):
            result.reports[role] = json.loads((out / f"{number}.{role}").read_text())
    except (OSError, json.JSONDecodeError) as error:
        said = (
            (out / f"{number}.errors").read_text(errors="replace")
            if (out / f"{number}.errors").exists()
            else ""
        )
        result.problems.append(f"no report: {error}; output: {said.strip()[-300:]}")
        return result
    dropped = (out / f"{number}.dropped").read_text().split()[:1]
    result.check(dropped == ["0"], f"the capture lost packets: {dropped}")
    capture = read(out / f"{number}.pcap")
    wire(result, capture)
    for role, report in result.reports.items():
        result.check(report["corrupt"] == 0, f"{role}: {report['corrupt']} datagrams with a wrong payload")
        result.check(report["duplicates"] == 0, f"{role}: {report['duplicates']} datagrams delivered twice")
    {"exchange": exchange, "refusal": refusal, "bulk": bulk, "both ways": both_ways}[test.kind](result)
    return result


def is_lossy(test: Test) -> bool:
    """True if the path drops packets at random."""
    return any(" loss " in netem for netem in test.netem)


def wire(result: Result, capture: Capture) -> None:
    """Requirements on every packet."""
    result.check(capture.packets > 0, "nothing was captured")
    result.check(capture.malformed == 0, f"{capture.malformed} malformed packets")
    result.check(capture.bad_checksums == 0, f"{capture.bad_checksums} wrong checksums")
    expected = result.test.facts["resets"]
    # If the path loses the Reset that answers a Close, the Close is repeated and meets no connection: "No
    # Connection" (RFC 4340, Section 8.3.1), or the capture ends before.
    is_repeated = is_lossy(result.test) and expected == [1] and set(capture.resets) <= {3}
    # Packets overtaken by the Reset arrive at an end without the connection.
    after = set(capture.resets[1:])
    is_overtaken = bool(result.test.facts.get("orders")) and capture.resets[:1] == expected and after <= {3}
    result.check(
        capture.resets == expected or is_repeated or is_overtaken,
        f"Resets {capture.resets}, expected {expected}",
    )
    ours = set(ADDRESSES["tun"].values())
    theirs = {address for address, _ in capture.types} - ours
    # Linux answers packets that fail Step 6 of RFC 4340, Section 8.5, with a Sync.
    syncs = {"linux": capture.sent_by(theirs, SYNC), "whimbrel": capture.sent_by(ours, SYNC)}
    result.figures |= {"packets": capture.packets, "syncs": syncs}


def closed(result: Result) -> None:
    """The closing end reports that it closed, and the other that it was closed."""
    for role, report in result.reports.items():
        expected = "closed" if role == result.test.facts["closer"] else "eof"
        said = f"{role} ended with {report['end']} {report['error']}, expected {expected}"
        result.check(report["end"] == expected, said)
        for direction in ("tx_ccid", "rx_ccid"):
            result.check(report[direction] == result.test.ccid, f"{role}: {direction} is {report[direction]}")


def exchange(result: Result) -> None:
    """Everything arrives, and both ends close in order."""
    closed(result)
    server, client = result.reports["server"], result.reports["client"]
    for there, here in ((server, client), (client, server)):
        said = f"{here['role']} sent {here['sent']}, {there['role']} got {there['received']}"
        result.check(here["sent"] == there["received"], said)
        if there["who"] == "whimbrel" and result.test.facts["orders"]:
            said = f"{there['role']} got {there['disordered']} of {there['received']} out of order"
            result.check(there["disordered"] == 0, said)
    result.check(client["sent"] + server["sent"] > 0, "nothing was sent")
    result.figures["connect_ms"] = client["connect_ms"]


def refusal(result: Result) -> None:
    """The client reports the Reset's code."""
    client, expected = result.reports["client"], result.test.facts["client_error"]
    result.check(
        client["error"] == expected, f"client: {client['end']} {client['error']}, expected {expected}"
    )
    result.figures["client"] = client["error"]


def both_ways(result: Result) -> None:
    """Data flow in both directions."""
    closed(result)
    goodput = [sum(report["measured"]) for report in result.reports.values()]
    result.check(min(goodput) > 0, f"measured bytes {goodput}")
    result.figures["received"] = [report["received"] for report in result.reports.values()]


def bulk(result: Result) -> None:
    """One direction; the rates known to both ends are compared."""
    closed(result)
    facts = result.test.facts
    sender = result.reports[facts["sender"]]
    receiver = result.reports["client" if facts["sender"] == "server" else "server"]
    result.figures |= {
        "goodput_bps": sum(receiver["measured"]) * 8 / facts["measure"],
        "parts_bps": [
            part * 8 / facts["measure"] * len(receiver["measured"]) for part in receiver["measured"]
        ],
        "sent": sender["sent"],
        "received": receiver["received"],
    }
    if result.test.ccid == 3 and receiver["received"]:
        start = receiver["first"] + facts["warm"]
        window = (start, start + facts["measure"])
        sent, got = means(sender["tx"], window), means(receiver["rx"], window)
        result.figures["sender"] = dict(zip(("x", "x_recv", "p", "rtt"), sent, strict=True))
        result.figures["receiver"] = dict(zip(("x", "x_recv", "p", "rtt"), got, strict=True))
        if facts["kind"] != "linux -> linux" and facts["cell"][1]:
            result.figures["allowed"] = allowed(facts, sender, receiver, window)


def allowed(
    facts: Report, sender: Report, receiver: Report, window: tuple[float, float]
) -> dict[str, tuple[float, float]]:
    """The allowed rate X, and the equation's result: Whimbrel's and Linux's, in bytes per second."""
    size, rtt = facts["size"], means(sender["tx"], window)[3]
    # The receiver's state implies a rate: the equation's, at most twice X_recv (RFC 5348, Section 4.3).
    known = [row for row in receiver["rx"] if window[0] <= row[0] <= window[1] and row[3] > 0]
    rates = throughput(size, [(rtt, row[3]) for row in known])
    implied = mean([min(rate, 2 * row[2]) for rate, row in zip(rates, known, strict=True)])
    had = means(sender["tx"], window)[0]
    if facts["kind"].startswith("whimbrel"):
        return {"x": (had, implied)}
    # At each of its own samples of p and R the kernel reports its calculated rate.
    said = [
        (row, said)
        for row, said in zip(sender["tx"], sender["x_calc"], strict=True)
        if window[0] <= row[0] <= window[1] and row[3] > 0
    ]
    ours = throughput(size, [(row[4], row[3]) for row, _ in said])
    return {"x": (implied, had), "x_calc": (mean(ours), mean([float(x) for _, x in said]))}


def throughput(size: int, samples: Sequence[tuple[float, float]]) -> list[float]:
    """Whimbrel's throughput equation at pairs of R in seconds and p, in bytes per second."""
    lines = "".join(f"{size} {rtt:.9f} {p:.9f}\n" for rtt, p in samples)
    said = subprocess.run([EQUATION], input=lines, capture_output=True, text=True, check=True).stdout
    return [float(line) for line in said.split()]


def means(samples: Sequence[Sequence[float]], window: tuple[float, float]) -> list[float]:
    """The mean of each column over the window, times left out."""
    rows = [row[1:] for row in samples if window[0] <= row[0] <= window[1]]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)] if rows else [math.nan] * 4


@dataclass
class Comparison:
    """One quantity of one cell: Whimbrel's compared with Linux's."""

    cell: tuple[int, int, int]
    kind: str
    quantity: str
    ours: float
    linux: float
    # Half of the 95 % interval of the ratio; 0 if both are of the same packets.
    half_width: float
    # Limits of the ratio, and the reason for deviating from the tolerance.
    band: tuple[float, float] = (1 - TOLERANCE, 1 + TOLERANCE)
    reason: str = ""

    @property
    def ratio(self) -> float:
        """Ratio of ours to Linux's."""
        return self.ours / self.linux if self.linux else math.nan

    @property
    def is_close(self) -> bool:
        """True if the tolerance is met, also for a ratio outside its band."""
        return abs(self.ratio - 1) <= TOLERANCE + self.half_width

    @property
    def holds(self) -> bool:
        """True if the ratio is in its band, within its interval."""
        return self.band[0] - self.half_width <= self.ratio <= self.band[1] + self.half_width


def compare(results: Iterable[Result]) -> list[Comparison]:
    """Throughput compared with Linux's on the same path, and each end's figures with the other's."""
    goodputs: dict[tuple[int, int, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    views: dict[tuple[tuple[int, int, int], str, str], list[tuple[float, float]]] = defaultdict(list)
    for result in results:
        if result.test.kind != "bulk" or "goodput_bps" not in result.figures:
            continue
        cell, kind = result.test.facts["cell"], result.test.facts["kind"]
        goodputs[cell][kind] += result.figures["parts_bps"]
        if "sender" not in result.figures or kind == "linux -> linux":
            continue
        for quantity in ("x_recv", "p", "rtt"):
            pair = (result.figures["sender"][quantity], result.figures["receiver"][quantity])
            ours_first = pair if kind.startswith("whimbrel") else pair[::-1]
            if quantity == "rtt" and kind.startswith("whimbrel"):
                # Linux's receiver samples the round-trip time only before its first loss, so that its figure
                # rests on a few packets of slow start (net/dccp/ccids/ccid3.c). The path's value is used
                # instead.
                ours_first = (pair[0], 2 * cell[2] / 1000)
            views[cell, kind, quantity].append(ours_first)
        for quantity, pair in result.figures.get("allowed", {}).items():
            views[cell, kind, quantity].append(pair)
    found = []
    for cell, kinds in goodputs.items():
        linux = kinds.pop("linux -> linux", [])
        for kind, ours in kinds.items():
            if linux:
                found.append(ratio_of_means(cell, kind, ours, linux))
    for (cell, kind, quantity), pairs in views.items():
        ours, theirs = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
        if is_sound(cell, quantity):
            found.append(Comparison(cell, kind, quantity, ours, theirs, 0.0))
    for one in found:
        for deviation in deviations():
            described = (deviation["ccid"], deviation["kind"], deviation["quantity"], deviation["lossy"])
            if described == (one.cell[0], one.kind, one.quantity, one.cell[1] > 0):
                one.band, one.reason = (deviation["band"][0], deviation["band"][1]), deviation["reason"]
    return found


def is_sound(cell: tuple[int, int, int], quantity: str) -> bool:
    """True if both ends measure the same quantity, so that it can be compared."""
    loss = cell[1]
    if quantity == "p":
        # Without loss there is almost nothing to measure it on.
        return loss > 0
    # Without loss a queue adds a varying time to the round trip.
    return quantity != "rtt" or loss > 0


def ratio_of_means(
    cell: tuple[int, int, int], kind: str, ours: Sequence[float], linux: Sequence[float]
) -> Comparison:
    """The ratio of two means with the interval of it."""
    spread = [relative_half_width(values) for values in (ours, linux)]
    ratio = mean(ours) / mean(linux)
    return Comparison(cell, kind, "goodput", mean(ours), mean(linux), ratio * math.hypot(*spread))


def mean(values: Sequence[float]) -> float:
    """The mean."""
    return sum(values) / len(values)


def relative_half_width(values: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean, as a share of it."""
    n = len(values)
    if n < 2:
        return 0.0
    variance = sum((value - mean(values)) ** 2 for value in values) / (n - 1)
    return STUDENT * math.sqrt(variance / n) / mean(values) if variance else 0.0
