"""The page docs/speed.md from the record of the benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]

CARRIERS = {
    "udp": "UDP alone",
    "quic": "QUIC datagrams (quinn), encrypted",
    "ccid2": "DCCP, CCID 2",
    "ccid3": "DCCP, CCID 3",
    "ccid2-dtls": "DCCP, CCID 2, encrypted",
    "ccid3-dtls": "DCCP, CCID 3, encrypted",
}
CASES = {
    "F1": "wired bottleneck, TCP and TFRC",
    "F3": "wired backbone with random losses, 16 TFRC flows",
    "N1": "wired bottleneck, TCP",
    "AX": "802.11ax cell, 50 saturated stations",
    "L100": "three LTE cells, 100 terminals that drive",
    "F2": "50 mobile 802.11g nodes",
    "N2": "50 mobile 802.11g nodes, few packets",
}
PARTS = {
    "encode/window_of_one_frame": "encode over a frame of 20 datagrams",
    "encode/window_of_three_frames": "encode over three frames",
    "decode/nothing_lost": "encode and decode, nothing lost",
    "decode/four_of_twenty_lost": "encode and decode, four of twenty lost",
}
BEGIN = """# Speed

```sh
make bench   # measures this page anew; do not edit it
```

Processor time compared with a peer in the same run: medians of alternating rounds, and the range of the
rounds in brackets. The programs are in `benches/`; a machine under load changes ratios by up to a half.
Instructions per packet are counted by `make instructions`, and compared with recorded counts in every test.
"""

FLAME_GRAPH = (
    "[Where the relay's time goes](images/relay-flame.svg), sampled at 50 Mbit/s by "
    "`benches/busy.py --flame docs/images/relay-flame.svg`."
)


def page(record: Mapping[str, Any]) -> str:
    """The page with the sections that the record has."""
    return "\n".join(
        [
            BEGIN,
            *_sockets(record),
            *_relay(record),
            *_busy(record),
            *_simulator(record),
            *_code(record),
            *_machine(),
        ]
    )


def _sockets(record: Mapping[str, Any]) -> list[str]:
    rows: Sequence[Row] = record.get("sockets", ())
    lines = [
        f"| {CARRIERS[row['carrier']]} | {row['cpu_ns_per_datagram'] / 1e3:.2f} "
        f"| {row['cpu_ratio_to_quic']:.2f} {_range(*row['cpu_ratio_range'])} |"
        for key in CARRIERS
        for row in rows
        if row["carrier"] == key
    ]
    return _table("Sockets", ["1,200 bytes on loopback, both ends", "us per datagram", "of QUIC's"], lines)


def _relay(record: Mapping[str, Any]) -> list[str]:
    rows: Sequence[Row] = record.get("relay", ())
    lines = [
        f"| {row['program']} | {row['cpu_s']:.2f} {_range(row['from'], row['to'])} | {row['to_srt']:.2f} |"
        for row in rows
    ]
    return _table("Relay", ["20 s of 6 Mbit/s, RTT 40 ms, both ends", "processor, s", "of SRT's"], lines)


def _busy(record: Mapping[str, Any]) -> list[str]:
    rows: Sequence[Row] = record.get("busy", ())
    lines = [
        f"| {row['program']} | {row['mbps']:.0f} | {row['delivered']:.1%} | {row['server_us']:.0f} "
        f"| {row['p50_ms']:.1f}, {row['p99_ms']:.1f} |"
        for row in rows
    ]
    columns = ["500 streams, server on one core", "Mbit/s", "delivered", "us per datagram"]
    table = _table("Many streams", [*columns, "delay, ms: median, 99 %"], lines)
    return [*table, *([FLAME_GRAPH, ""] if table else [])]


def _simulator(record: Mapping[str, Any]) -> list[str]:
    rows: list[Row] = [*record.get("simulator", ()), *record.get("mobile", ())]
    lines = [
        f"| {CASES[row['case']]} | {row['peer']} "
        f"| {row['times_faster']:.1f} {_range(row['from'], row['to'], 1)} "
        f"| {row['memory_mb']:.0f}, {row['peer_memory_mb']:.0f} |"
        for row in rows
        if "peer" in row
    ]
    return _table("Simulator", ["network", "peer", "times faster", "memory, MB: ours, the peer's"], lines)


def _code(record: Mapping[str, Any]) -> list[str]:
    rows: Sequence[Row] = record.get("parts", ())
    lines = [
        f"| {PARTS[row['part']]} | {row['ns']:.0f} {_range(row['from'], row['to'], 0)} |"
        for row in rows
        if row["part"] in PARTS
    ]
    return _table("Code of repair", ["1,200 bytes, 20 % parity, one core", "ns per datagram"], lines)


def _machine() -> list[str]:
    info = Path("/proc/cpuinfo")
    names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
    return [f"Measured on {len(names)} cores of {names[0]}.", ""]


def _table(title: str, columns: Sequence[str], lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    head = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return [f"## {title}", "", *head, *(line.replace("  |", " |") for line in lines), ""]


def _range(low: float, high: float, digits: int = 2) -> str:
    # Of one round, there is none.
    return "" if low == high else f"[{low:.{digits}f}, {high:.{digits}f}]"
