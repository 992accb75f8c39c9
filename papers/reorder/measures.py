"""Measurements of a run: throughput, loss event rate, round-trip time, jitter, and the efficiency ratio."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from whimbrel.result import Result, Table
from whimbrel.sheet import Metric

FloatArray = npt.NDArray[np.float64]

RATE = Metric("rate", "kbit/s", "X", title="Throughput X")
LER = Metric("ler", "%", "LER", 2, title="Loss event rate")
RTT = Metric("rtt", "ms", "R", 0, title="Round-trip time R")


def rate_kbps(result: Result, flow: str) -> float:
    """Rate of the arrived data, headers not counted, in kbit/s."""
    return result.flows.one("goodput_bps", flow=flow) / 1e3


def loss_event_rate(result: Result, flow: str) -> float:
    """The sender's p, the mean over time, in percent."""
    return 100 * result.flows.one("loss_event_rate_mean", flow=flow)


def rtt_ms(result: Result, flow: str) -> float:
    """R, the mean over time."""
    return 1e3 * result.flows.one("rtt_mean_s", flow=flow)


def seen(result: Result, flow: str) -> Mapping[str, float]:
    """The three together, by the keys of `RATE`, `LER` and `RTT`."""
    return {
        "rate": rate_kbps(result, flow),
        "ler": loss_event_rate(result, flow),
        "rtt": rtt_ms(result, flow),
    }


def efficiency(with_buffer: float, without: float) -> float:
    """The ratio z_b / (z_nb + z_b) of Section III: 0.5 if both are the same, NaN if both are 0."""
    total = without + with_buffer
    return with_buffer / total if total > 0 else math.nan


def interarrival_jitter(sent: FloatArray, received: FloatArray) -> float:
    """The mean over packets of |D|, which RFC 3550, Section 6.4.1, smooths into its jitter.

    D is the difference of the transit times of two packets delivered to the application one after the other.

    Args:
        sent: times in seconds.
        received: times of delivery to the application in seconds; in any order.

    Returns:
        Seconds; NaN for less than two packets.
    """
    if received.size < 2:
        return math.nan
    order = np.argsort(received, kind="stable")
    return float(np.mean(np.abs(np.diff((received - sent)[order]))))


def spread_of_gaps(received: FloatArray) -> float:
    """The standard deviation of the times between packets, in seconds; NaN for less than three."""
    return float(np.std(np.diff(np.sort(received)))) if received.size > 2 else math.nan


def delivered(packets: Table, flow: str, since_s: float) -> tuple[FloatArray, FloatArray]:
    """Departure times and delivery times of the packets of a flow, from a time on."""
    mine = packets.where(flow=flow, fate="received")
    sent, received = (np.asarray(mine[key], dtype=np.float64) for key in ("sent_s", "received_s"))
    counted = received >= since_s
    return sent[counted], received[counted]
