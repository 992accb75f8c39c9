"""Delivery times of a video's datagrams in a simulated run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whimbrel._simulate import result as tables
from whimbrel._simulate.result import Result

_TCP_HEADERS = 40


def arrivals(
    result: Result, flow: str, sizes: npt.NDArray[np.int64], start_s: float
) -> npt.NDArray[np.float64]:
    """Delivery time of each complete datagram, in seconds after the video's beginning; NaN: never.

    A byte stream hands a datagram over when all bytes up to its end are there.

    Args:
        result: of a scenario that records packets.
        flow: the flow that carried the video.
        sizes: bytes of the schedule's datagrams, in sending order.
        start_s: start of the video.
    """
    if not result.flows.where(flow=flow)["scheme"][0].startswith("tcp"):
        return tables.arrivals(result.packets, flow, sizes.size, start_s)
    rows = result.packets.where(flow=flow)
    received = np.asarray(rows["received_s"], dtype=np.float64)
    here = ~np.isnan(received)
    starts = np.asarray(rows["tag"])[here].astype(np.int64)
    lengths = np.asarray(rows["size_bytes"])[here].astype(np.int64) - _TCP_HEADERS
    return _in_order(starts, lengths, received[here] - start_s, np.cumsum(sizes))


def _in_order(
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    times: npt.NDArray[np.float64],
    ends: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Times at which all bytes up to each of the ends had arrived, given the segments by their first byte."""
    bytes_arrived = np.full(int(ends[-1]), np.inf)
    for start, length, time in zip(starts, lengths, times, strict=True):
        part = bytes_arrived[start : start + length]
        np.minimum(part, time, out=part)
    in_order = np.maximum.accumulate(bytes_arrived)[ends - 1]
    return np.where(np.isinf(in_order), np.nan, in_order)
