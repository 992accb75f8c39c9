"""The server's program: sends the RTP packets of a recorded stream at their times, to whoever asks for it.

    python -m whimbrel.testbed.source 127.0.0.1:5006 STREAM REPORT.json

A recording is STREAM.csv, with a line per packet that begins with its time in seconds and its size, and
STREAM.bin with the packets' bytes. The stream begins when the first datagram arrives and goes to its source.
Times in the report are of CLOCK_MONOTONIC, which all programs of a test share.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from whimbrel._base import documents


def recorded(stream: Path) -> Iterator[tuple[float, bytes]]:
    """The packets of a recording with their times."""
    content = memoryview(stream.with_suffix(".bin").read_bytes())
    for line in documents.CsvFile(stream.with_suffix(".csv")):
        size = int(line["size_bytes"])
        yield float(line["time_s"]), bytes(content[:size])
        content = content[size:]


def address(text: str) -> tuple[str, int]:
    """A socket's address out of `HOST:PORT`."""
    host, _, port = text.rpartition(":")
    return host, int(port)


def main() -> int:
    """Runs the program."""
    at, stream, report = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    packets = list(recorded(stream))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(address(at))
        print("ready", flush=True)
        _, viewer = udp.recvfrom(2048)
        udp.setblocking(False)
        start = time.monotonic()
        refused = 0
        report.write_text(json.dumps({"start_s": start}), encoding="ascii")
        for due, packet in packets:
            if (left := start + due - time.monotonic()) > 0:
                time.sleep(left)
            try:
                udp.sendto(packet, viewer)
            except OSError:
                # Its carrier is gone, or is being replaced.
                refused += 1
        report.write_text(json.dumps({"start_s": start, "refused": refused}), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
