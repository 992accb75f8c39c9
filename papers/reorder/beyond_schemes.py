"""Loss detection under reordering: by three packets, by the paper's buffer, by a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whimbrel.result import Table

D_MAX_MS = 50
"""The paper's D_max for video (Section III)."""
PACKET = 500
"""Bytes on the link: the paper's video packets (Section III)."""
HEADERS = 36
"""Bytes of IPv4 and DCCP."""
DATA_SHARE = (PACKET - HEADERS) / PACKET
"""The rate for data of a link's rate."""

PLAIN, FORGIVING, RACK, RACK_FORGIVING = "none", "forgiving", "rack", "rack, forgiving"
FIVE, TWELVE, DYNAMIC = "5", "12", "dynamic"


def buffer(size: str, delay_ms: float = D_MAX_MS) -> dict[str, Any]:
    """Details of a flow with the paper's buffer.

    Args:
        size: such as `12 packets`, `dynamic` (Q = X D_max) or a peak rate (Q = R_peak D_max).
        delay_ms: D_max.
    """
    return {"forgive_late": False, "reorder_delay": f"{delay_ms:g} ms", "reorder_size": size}


SCHEMES: Mapping[str, Mapping[str, Any]] = {
    PLAIN: {"forgive_late": False},
    FORGIVING: {"forgive_late": True},
    FIVE: buffer("5 packets"),
    TWELVE: buffer("12 packets"),
    DYNAMIC: buffer("dynamic"),
    RACK: {"forgive_late": False, "loss_detection": "rack"},
    RACK_FORGIVING: {"forgive_late": True, "loss_detection": "rack"},
}
"""Three later packets, and a loss is permanent; the same with forgiveness of late packets (RFC 5348, Section
5.1); buffers of 5 packets, 12 and Q = X D_max, all with D_max of 50 ms; the window after RACK, without and
with forgiveness."""

ABOUT = (
    "none: three later packets prove a loss. forgiving: the same, and a late packet withdraws it (RFC 5348, "
    "Section 5.1). 5, 12, dynamic: the buffer of that many packets, or Q = X D_max, with D_max of "
    f"{D_MAX_MS} ms. rack: a time after RFC 8985."
)


def flow(dccp: Mapping[str, Any], **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - values of a scenario
    """A CCID 3 flow from `sender` to `receiver` that always has data.

    Args:
        dccp: details, such as one of `SCHEMES`.
        changes: to the flow.
    """
    return {
        "name": "flow",
        "from": "sender",
        "to": "receiver",
        "transport": "dccp",
        "ccid": 3,
        "packet_size": f"{PACKET} B",
        "start_jitter": "1 s",
        "dccp": {"ecn": False, "initial_window": "rfc3390", "sequence_window": 10_000, **dccp},
        **changes,
    }


def late_share(flow: Table) -> float:
    """Percent of the arrived packets that the buffer discarded as too late; 0 without a buffer."""
    if "late_packets" not in flow:
        return 0.0
    return 100 * float(flow["late_packets"][0]) / float(flow["received_packets"][0])
