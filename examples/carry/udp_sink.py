#!/usr/bin/env python3
"""Writes the UDP datagrams that arrive to a file, in place of a viewer; ends when none has come for a while.

Usage: udp_sink.py ADDRESS:PORT FILE [--first 20] [--quiet-for 2]
"""

import argparse
import socket
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("file", type=Path)
    parser.add_argument("--first", type=float, default=20, help="seconds to wait for the first datagram")
    parser.add_argument("--quiet-for", type=float, default=2, help="seconds without a datagram at the end")
    given = parser.parse_args()
    host, _, port = given.address.rpartition(":")
    number = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as viewer, given.file.open("wb") as file:
        viewer.bind((host, int(port)))
        viewer.settimeout(given.first)
        try:
            while True:
                file.write(viewer.recv(65536))
                number += 1
                viewer.settimeout(given.quiet_for)
        except TimeoutError:
            pass
    print(f"{number} datagrams, {given.file.stat().st_size} bytes received")


if __name__ == "__main__":
    main()
