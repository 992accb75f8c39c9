"""The metrics of Section 3.5 from a run: equations 1 to 8, for both schemes of a confront."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from whimbrel import flow_means
from whimbrel.errors import StatisticsError
from whimbrel.papers.confront.topology import CONFRONTS, FIRST, NAMES, OTHERS, PAPER_TIMES, Confront
from whimbrel.result import Result
from whimbrel.sheet import POSITIVE, Metric
from whimbrel.statistics import N_BASE, FloatArray, defined, jain_index, repetitions_needed

KB = 1024.0
"""Bytes of a "KByte": with 1024 the printed throughputs and loads of TCP agree to 0.01 %."""

LOAD_S = PAPER_TIMES.total
"""Loads are stated for 300 s; loads of a shorter run are scaled."""

METRICS = [
    Metric("throughput", "kbit/s", "Throughput", 0),
    Metric("transmitted", "KB", "Transmitted", 0, title="Transmitted data", bounds=POSITIVE),
    Metric("lost", "KB", "Lost", 0, title="Lost data", bounds=POSITIVE),
    Metric("load", "KB", "Effective", 0, title="Effective load of transmitted data", bounds=POSITIVE),
    Metric("lost_share", "%", "Lost, of transmitted", 2),
    Metric(
        "at_source", "%", "At the source, of lost", 1, title="Of the lost packets, those lost by the host"
    ),
    Metric("jitter", "ms", "Jitter", 2, title="Jitter (equation 7, of iperf's column)"),
    Metric("delay_jitter", "ms", "Jitter of delays", 2, title="Jitter (equation 7, of one delay a second)"),
    Metric("reordered", "%", "Out of order", 2, title="Packets that arrive out of order"),
    Metric("jain", "", "Jain's index", 3, title="Jain's index of the three flows", bounds=(0, 1)),
]
"""The tables' metrics, two shares of lost packets, another reading of equation 7, and Jain's index."""

# Without hosts there is no `lost_host`.
_LOST = ("lost_host", "lost_queue", "lost_wireless", "lost_down", "lost_other")


@dataclass(frozen=True)
class Span:
    """The times of a run.

    Attributes:
        total: T in seconds.
        waited: S of the scheme in seconds: 0 for the flow that starts first.
    """

    total: float
    waited: float


def span(result: Result, flow: str) -> Span:
    """T and S, in the proportion of the paper if the run is shorter."""
    total = float(result["intervals"]["time_s"][-1])
    waited = PAPER_TIMES.await_ / PAPER_TIMES.total * total
    return Span(total, 0.0 if flow == FIRST else waited)


def flows_of(confront: Confront, scheme: str) -> tuple[str, ...]:
    """The flows of a scheme of a confront."""
    return (FIRST,) if scheme == confront.first else OTHERS


def of_flows(result: Result, flows: tuple[str, ...], value: Callable[[str], float]) -> float:
    """The mean of a quantity over the flows (equations 1 to 4), normalised (equations 5 and 8)."""
    times = span(result, flows[0])
    partial = flow_means.mean_of_flows([value(flow) for flow in flows])
    return flow_means.normalised(partial, times.waited, times.total)


def readings(result: Result, flow: str, column: str) -> FloatArray:
    """A column of a flow, one number per second."""
    table = result["intervals"]
    return np.asarray(table[column][table["flow"] == flow], dtype=np.float64)


def delays_ms(result: Result, flow: str) -> FloatArray:
    """The delay of the last packet of each second, without the seconds before the flow starts."""
    return 1e3 * readings(result, flow, "delay_s")


def fairness(result: Result) -> float:
    """Jain's index of the three flows, each over its own time."""
    rates = []
    for flow in (FIRST, *OTHERS):
        times = span(result, flow)
        rates.append(float(result.flows.one("delivered_bytes", flow=flow)) / (times.total - times.waited))
    return jain_index(rates)


def measure(result: Result, confront: Confront, size: int, scheme: str) -> dict[str, float]:
    """The metrics of one scheme. TCP has neither transmitted nor lost data: it repeats what is lost."""
    flows = flows_of(confront, scheme)
    table = result.flows
    kilobytes = LOAD_S / span(result, flows[0]).total / KB

    def count(*columns: str) -> float:
        return of_flows(
            result,
            flows,
            lambda flow: sum(float(table.one(key, flow=flow)) for key in columns if key in table),
        )

    is_tcp = scheme.startswith("tcp")
    transmitted = math.nan if is_tcp else count("sent_packets") * size * kilobytes
    lost = math.nan if is_tcp else count(*_LOST) * size * kilobytes
    delivered = count("delivered_bytes") * kilobytes
    lost_packets = count(*_LOST)
    return {
        "throughput": of_flows(
            result,
            flows,
            lambda flow: flow_means.mean_over_experiment(readings(result, flow, "goodput_bps")) / 1e3,
        ),
        "transmitted": transmitted,
        "lost": lost,
        "load": delivered if is_tcp else flow_means.effective(transmitted, lost),
        "lost_share": lost / transmitted * 100,
        "at_source": count("lost_host") / lost_packets * 100 if lost_packets else math.nan,
        "jitter": of_flows(
            result, flows, lambda flow: flow_means.reported_jitter(1e3 * readings(result, flow, "jitter_s"))
        ),
        "delay_jitter": of_flows(result, flows, lambda flow: flow_means.jitter(delays_ms(result, flow))),
        "reordered": count("reordered_packets") / count("received_packets") * 100,
        "jain": fairness(result),
    }


def papers_n(samples: Mapping[str, FloatArray]) -> float:
    """The number of repetitions by equation 15 from the first three, for the throughput."""
    first = defined(samples["throughput"])[:N_BASE]
    try:
        return float(repetitions_needed(first)) if first.size == N_BASE else math.nan
    except StatisticsError:
        return math.nan


def row_of(confront: Confront) -> str:
    """The key of a confront's row: its number and its short name."""
    first, other = (NAMES[scheme].removeprefix("TCP ") for scheme in confront.schemes)
    return f"{confront.number}: {first} x {other}"


ROWS = {row_of(confront): confront for confront in CONFRONTS.values()}
"""The rows of Tables 3 and 4."""
