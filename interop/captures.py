"""Packets of a capture as dissected by tshark, an independent reader."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

FIELDS = (
    "ip.src",
    "ipv6.src",
    "dccp.type",
    "dccp.reset_code",
    "dccp.checksum.status",
    "ip.checksum.status",
    "_ws.malformed",
)
GOOD = "1"
SYNC = 8


@dataclass
class Capture:
    """The packets of one connection."""

    packets: int = 0
    malformed: int = 0
    bad_checksums: int = 0
    resets: list[int] = field(default_factory=list)
    # Number of packets by sender and type.
    types: Counter[tuple[str, int]] = field(default_factory=Counter)

    def sent_by(self, addresses: set[str], packet_type: int) -> int:
        """Number of packets of a type sent by one end."""
        return sum(self.types[address, packet_type] for address in addresses)


def read(pcap: Path) -> Capture:
    """Dissects every packet."""
    command = [
        "tshark", "-r", str(pcap), "-Y", "dccp && !icmp && !icmpv6", "-T", "fields", "-E", "occurrence=f",
        "-o", "dccp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE",
    ]  # fmt: skip
    for name in FIELDS:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    capture = Capture()
    for line in done.stdout.splitlines():
        v4, v6, kind, reset, checksum, ip_checksum, malformed = line.split("\t")
        capture.packets += 1
        capture.malformed += bool(malformed) or not kind
        # IPv6 has no header checksum; the sender's own kernel fills in IPv4's before the capture.
        capture.bad_checksums += checksum != GOOD or ip_checksum not in (GOOD, "")
        capture.types[v4 or v6, int(kind or -1)] += 1
        if reset:
            capture.resets.append(int(reset))
    return capture
