"""Datagrams with time stamps: a sender of constant rate and a receiver.

Usage: emulation_traffic.py send HOST PORT --size BYTES --interval SECONDS --count N
                            [--train N] [--ecn]
       emulation_traffic.py receive PORT --out FILE.csv

Each datagram carries its number and the time at which it was sent. The receiver takes the kernel's time of
arrival, so that its own scheduling does not count. When it is ended it writes a line per datagram: sender,
number, time sent, time received, ECN field.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import struct
import sys
import time
from pathlib import Path

_STAMP = struct.Struct("!QQ")
_TIMESPEC = struct.Struct("qq")
_SO_TIMESTAMPNS = 35
_SO_RCVBUFFORCE = 33
_ECT_0 = 2


def _hurry() -> None:
    """Runs before processes of normal priority, if permitted: a sender that waits sends bursts later."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(40))


def send(host: str, port: int, size: int, interval_s: float, count: int, *, train: int, ecn: bool) -> None:
    """Sends `count` datagrams of `size` bytes of data, `train` of them every `interval_s`."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as sender:
        if ecn and family == socket.AF_INET6:
            sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, _ECT_0)
        elif ecn:
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, _ECT_0)
        sender.connect(address)
        rest = bytes(size - _STAMP.size)
        _hurry()
        start = time.monotonic()
        for number in range(count):
            wait = start + number // train * interval_s - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            sender.send(_STAMP.pack(number, time.time_ns()) + rest)


def receive(port: int, out: Path) -> None:
    """Receives until SIGTERM or SIGINT, then writes the list."""
    lines = ["sender,number,sent_ns,received_ns,ecn"]

    def finish(*_: object) -> None:
        out.write_text("\n".join(lines) + "\n")
        sys.exit(0)

    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        for option in (_SO_RCVBUFFORCE, socket.SO_RCVBUF):
            with contextlib.suppress(PermissionError):
                receiver.setsockopt(socket.SOL_SOCKET, option, 1 << 24)
                break
        receiver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        receiver.bind(("::", port))
        signal.signal(signal.SIGTERM, finish)
        signal.signal(signal.SIGINT, finish)
        while True:
            data, control, _, sender = receiver.recvmsg(65_536, 256)
            number, sent = _STAMP.unpack_from(data)
            received, ecn = 0, 0
            for level, kind, value in control:
                if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
                    seconds, nanos = _TIMESPEC.unpack(value)
                    received = seconds * 1_000_000_000 + nanos
                elif level in (socket.IPPROTO_IP, socket.IPPROTO_IPV6):
                    ecn = value[0] & 3
            lines.append(f"{sender[0]},{number},{sent},{received},{ecn}")


def main() -> None:
    """Runs one of the two."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    roles = parser.add_subparsers(dest="role", required=True)
    sender = roles.add_parser("send")
    sender.add_argument("host")
    sender.add_argument("port", type=int)
    sender.add_argument("--size", type=int, required=True)
    sender.add_argument("--interval", type=float, required=True)
    sender.add_argument("--count", type=int, required=True)
    sender.add_argument("--train", type=int, default=1)
    sender.add_argument("--ecn", action="store_true")
    receiver = roles.add_parser("receive")
    receiver.add_argument("port", type=int)
    receiver.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.role == "send":
        send(
            given.host, given.port, given.size, given.interval, given.count, train=given.train, ecn=given.ecn
        )
    else:
        receive(given.port, given.out)


if __name__ == "__main__":
    main()
