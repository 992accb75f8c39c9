"""Reordering on each path by the metrics of RFC 4737 and RFC 5236, with datagrams at a constant rate.

The paper states, after others, that "the probability of packet reordering is increased as the transmission
rate increases" (Section I), hence three rates.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import beyond_paths
from whimbrel.papers.reorder.beyond_paths import END_S, PATHS, WARM_UP_S
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

Numbers = npt.NDArray[np.int64]
Times = npt.NDArray[np.float64]

PROBES: Mapping[str, float] = {"10 %": 0.1, "40 %": 0.4, "90 %": 0.9}
"""Rate of the probe, relative to the path's."""

PACKET = 1000
"""Bytes on the link."""

NDUPACK = 3
"""RFC 5348, Section 5.1."""

METRICS = [
    Metric("ratio", "%", "Reordered", 2),
    Metric("overtaken", "%", f"Overtaken by {NDUPACK} or more", 2),
    Metric("extent", "packets", "Mean extent"),
    Metric("extent_99", "packets", "99 % of extents"),
    Metric("late", "ms", "Mean late time"),
    Metric("late_99", "ms", "99 % of late times"),
    Metric("buffer", "packets", "To put into order, 99 %"),
]


def late_arrivals(sequence: Numbers) -> npt.NDArray[np.bool_]:
    """Marks reordered packets: they arrive after one with a greater number (RFC 4737, Section 3).

    Args:
        sequence: of each packet, in order of arrival.
    """
    greatest = np.maximum.accumulate(sequence)
    return np.asarray(sequence < greatest)


def extents(sequence: Numbers) -> Numbers:
    """Of each reordered packet: the number of arrivals since the first that passed it (Section 4.2)."""
    greatest = np.maximum.accumulate(sequence)
    late = np.flatnonzero(late_arrivals(sequence))
    # The first arrival at which the greatest number so far exceeds a packet's own.
    first = np.searchsorted(greatest, sequence[late], side="right")
    return np.asarray(late - first)


def late_times(sequence: Numbers, received_s: Times) -> Times:
    """The same in seconds: the time since that packet arrived (RFC 4737, Section 4.3)."""
    late = np.flatnonzero(late_arrivals(sequence))
    return np.asarray(received_s[late] - received_s[late - extents(sequence)])


def overtaken(sequence: Numbers) -> Numbers:
    """Of each reordered packet: the number of greater ones that arrived before it, as NDUPACK counts."""
    late = np.flatnonzero(late_arrivals(sequence))
    ago = extents(sequence)
    counts = [
        int(np.count_nonzero(sequence[at - back : at] > sequence[at]))
        for at, back in zip(late, ago, strict=True)
    ]
    return np.array(counts, dtype=np.int64)


def occupancy(sequence: Numbers) -> Numbers:
    """After each arrival, the number of packets in a buffer that delivers in order (RFC 5236: RBD).

    Args:
        sequence: of each packet, in order of arrival; none is missing, so that no threshold is needed.
    """
    held: set[int] = set()
    expected, counts = int(sequence.min()), []
    for number in sequence.tolist():
        held.add(number)
        while expected in held:
            held.remove(expected)
            expected += 1
        counts.append(len(held))
    return np.array(counts, dtype=np.int64)


def scenario(row: str, column: str) -> Scenario:
    """Datagrams at a constant rate over one of the paths."""
    path = PATHS[row]
    return Scenario(
        {
            "title": f"{row}, a probe of {column}",
            "simulation": {"duration": f"{END_S:g} s"},
            **beyond_paths.network(path),
            "flow": [
                {
                    "name": "probe",
                    "from": "sender",
                    "to": "receiver",
                    "transport": "udp",
                    "packet_size": f"{PACKET} B",
                    "traffic": {"kind": "cbr", "rate": f"{PROBES[column] * path.rate_bps:g} bit/s"},
                    "start_jitter": "1 s",
                }
            ],
            "record": {"packets": True},
        }
    )


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """The RFCs' metrics, after the warm-up."""
    rows = result.packets.where(flow="probe", fate="received")
    inside = np.asarray(rows["sent_s"]) >= WARM_UP_S
    arrived = np.argsort(np.asarray(rows["received_s"])[inside], kind="stable")
    received = np.asarray(rows["received_s"], dtype=np.float64)[inside][arrived]
    sequence = np.asarray(rows["tag"], dtype=np.int64)[inside][arrived]
    late, ago = extents(sequence), late_times(sequence, received)
    return {
        "ratio": 100 * late.size / sequence.size,
        "overtaken": 100 * float(np.count_nonzero(overtaken(sequence) >= NDUPACK)) / sequence.size,
        "extent": float(late.mean()) if late.size else np.nan,
        "extent_99": float(np.quantile(late, 0.99)) if late.size else np.nan,
        "late": 1e3 * float(ago.mean()) if late.size else np.nan,
        "late_99": 1e3 * float(np.quantile(ago, 0.99)) if late.size else np.nan,
        "buffer": float(np.quantile(occupancy(sequence), 0.99)),
    }


ITEM = Item(
    key="beyond-order",
    title="Reordering on each path",
    source="not in the paper",
    rows=list(PATHS),
    columns=list(PROBES),
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(3),
    quick=Quick(precision=Precision.exactly(3)),
    is_drawn=False,
    row_label="Path",
    column_label="Probe's rate, of the path's",
    note=f"UDP datagrams of {PACKET} B. Ratio, extent and late time by RFC 4737; the last column is the "
    "reorder buffer-occupancy density of RFC 5236. "
    + " ".join(f"{key}: {path.about}." for key, path in PATHS.items()),
)
