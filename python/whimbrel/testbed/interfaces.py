"""The kernel's notifications on interfaces, and its choice of a source address."""

from __future__ import annotations

import select
import socket
import struct
import time
from dataclasses import dataclass

RTMGRP_LINK, RTMGRP_IPV4_ROUTE = 0x1, 0x40
RTM_NEWLINK = 16
IFF_LOWER_UP = 0x10000
IFLA_IFNAME = 3
_HEADER, _LINK, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BxHiII"), struct.Struct("=HH")


@dataclass(frozen=True, slots=True)
class Change:
    """An interface has gained or lost its carrier.

    Attributes:
        at_s: time of the notification, on CLOCK_MONOTONIC.
        interface: its name.
        has_carrier: its state now.
    """

    at_s: float
    interface: str
    has_carrier: bool


class Monitor:
    """Listens to the kernel's notifications on links and routes (rtnetlink)."""

    def __init__(self) -> None:
        """Listens from now on."""
        self.netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        self.netlink.bind((0, RTMGRP_LINK | RTMGRP_IPV4_ROUTE))
        self._known: dict[str, bool] = {}

    def changes(self, wait_s: float = 0.0) -> list[Change]:
        """The changes of carriers since the last call; waits for a notification, of any kind, that long."""
        found: list[Change] = []
        if not select.select([self.netlink], [], [], wait_s)[0]:
            return found
        while True:
            try:
                message = self.netlink.recv(1 << 16)
            except BlockingIOError:
                return found
            found += self._parsed(message, time.monotonic())

    def _parsed(self, message: bytes, now: float) -> list[Change]:
        found: list[Change] = []
        while len(message) >= _HEADER.size:
            length, kind, *_ = _HEADER.unpack_from(message)
            if kind == RTM_NEWLINK and (change := self._link(message[_HEADER.size : length], now)):
                found.append(change)
            message = message[max((length + 3) & ~3, _HEADER.size) :]
        return found

    def _link(self, body: bytes, now: float) -> Change | None:
        has_carrier = bool(_LINK.unpack_from(body)[3] & IFF_LOWER_UP)
        name = ""
        rest = body[_LINK.size :]
        while len(rest) >= _ATTRIBUTE.size:
            length, kind = _ATTRIBUTE.unpack_from(rest)
            if kind == IFLA_IFNAME:
                name = rest[_ATTRIBUTE.size : length].rstrip(b"\0").decode()
            rest = rest[max((length + 3) & ~3, _ATTRIBUTE.size) :]
        if self._known.get(name, True) == has_carrier:
            return None
        self._known[name] = has_carrier
        return Change(now, name, has_carrier)


def source_address(host: str) -> str | None:
    """The address from which packets to a host would leave now; None without a route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 9))
        except OSError:
            return None
        return str(probe.getsockname()[0])
