#!/usr/bin/env python3
"""Sends a file as UDP datagrams at a constant rate, in place of a camera.

Usage: udp_source.py ADDRESS:PORT FILE [--rate 1e6] [--size 1200]
"""

import argparse
import socket
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("file", type=Path)
    parser.add_argument("--rate", type=float, default=1e6, help="bit/s (default: %(default)g)")
    parser.add_argument("--size", type=int, default=1200, help="bytes per datagram (default: %(default)d)")
    given = parser.parse_args()
    host, _, port = given.target.rpartition(":")
    content = given.file.read_bytes()
    pieces = [content[start : start + given.size] for start in range(0, len(content), given.size)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as camera:
        begun = time.monotonic()
        for number, piece in enumerate(pieces):
            time.sleep(max(0.0, begun + 8 * given.size * number / given.rate - time.monotonic()))
            camera.sendto(piece, (host, int(port)))
    print(f"{len(pieces)} datagrams, {len(content)} bytes sent")


if __name__ == "__main__":
    main()
