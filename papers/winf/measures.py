"""The paper's metrics, and claims that compare two schemes over the rows of a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from whimbrel.claims import Claim, Verdict, above, average, below
from whimbrel.result import Result
from whimbrel.sheet import Metric, Sheet, Value

NAMES = {
    "tcp": "TCP",
    "xcp": "XCP",
    "rcp": "RCP",
    "xcp-winf": "XCP-Winf",
    "rcp-winf": "RCP-Winf",
    "xcp-winf-literal": "the literal XCP-Winf",
    "xcp-winf-corrected": "the corrected XCP-Winf",
    "rcp-winf-corrected": "the corrected RCP-Winf",
    "tcp-ecn": "TCP with CoDel and ECN",
    "prague": "Prague over DualPI2",
    "abc": "ABC",
    "blind-xcp": "XCP without a capacity",
}
METRICS = [
    Metric("throughput", "kbit/s", "Throughput", 0, title="Throughput of all flows, repetitions included"),
    Metric("delay", "ms", "Mean delay", 0),
    Metric("received", "", "Received packets", 0),
    Metric("lost", "%", "Lost packets", 1, title="Packets lost on the way, of those lost or received"),
    Metric("goodput", "kbit/s", "Goodput", 0, title="Goodput of all flows"),
]
"""The first three are the paper's."""

_LOST = ("lost_queue", "lost_wireless", "lost_down", "lost_other")


def measure(result: Result) -> dict[str, float]:
    """The sums over all flows; the delay is the mean over their packets."""
    flows = result.flows
    packets = flows["received_packets"]
    received = float(sum(packets))
    delays = zip(flows["delay_mean_s"], packets, strict=True)
    sum_of_delays = sum(delay * count for delay, count in delays if count > 0)
    lost = float(sum(sum(flows[key]) for key in _LOST))
    return {
        "throughput": float(sum(flows["throughput_bps"])) / 1e3,
        "delay": sum_of_delays / received * 1e3 if received else math.nan,
        "received": received,
        "lost": lost / (lost + received) * 100 if lost + received else math.nan,
        "goodput": float(sum(flows["goodput_bps"])) / 1e3,
    }


def over_rows(sheet: Sheet, column: str, metric: str, rows: Sequence[str] | None = None) -> Value:
    """The mean of a curve over rows, run by run."""
    chosen = [row for row in sheet.rows if rows is None or row in rows]
    name = NAMES.get(column, column)
    return average([sheet.value(column, metric, row=row) for row in chosen], name)


_WORDS: Mapping[str, tuple[Callable[[Value, Value], Verdict], str]] = {
    "throughput": (above, "The throughput of {a} is above that of {b}"),
    "received": (above, "With {a} more packets are received than with {b}"),
    "delay": (below, "The delay of {a} is below that of {b}"),
    "lost": (below, "{a} loses a smaller share of the packets than {b}"),
    "goodput": (above, "The goodput of {a} is above that of {b}"),
}


def compared(
    key: str,
    metric: str,
    a: str,
    b: str,
    where: str = "",
    rows: Sequence[str] | None = None,
    ending: str = "",
) -> Claim:
    """A claim that `a` is better than `b`, in the mean over all or some rows of an item."""
    test, sentence = _WORDS[metric]
    return Claim(
        f"{key}-{metric}-{a}-{b}{ending}",
        f"{sentence.format(a=NAMES[a], b=NAMES[b])}.",
        (key,),
        lambda sheets: test(over_rows(sheets[key], a, metric, rows), over_rows(sheets[key], b, metric, rows)),
        where,
    )


def once(claim: Claim) -> Claim:
    """The claim without further runs if it is undecided, because the runs of its items take long."""
    return replace(claim, check=lambda sheets: replace(claim.check(sheets), cells=frozenset()))
