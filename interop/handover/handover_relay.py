"""The network between a mobile client and its server: forwards frames between interfaces with a delay.

A kernel without `sch_netem` cannot delay packets. This relay does, in user space: it forwards frames from the
client's interface to the current path, after that path's one-way delay, and back. It records the datagrams of
`whimbrel perf` that left the client.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass

SOL_PACKET = 263
PACKET_IGNORE_OUTGOING = 23
ETH_P_ALL = 3
SIOCETHTOOL = 0x8946
OFFLOADS = (0x15, 0x17, 0x1F, 0x24, 0x2C)
"""`ETHTOOL_SRXCSUM`, `STXCSUM`, `STSO`, `SGSO` and `SGRO` of linux/ethtool.h."""
PERF_MAGIC = b"WHIM"


@dataclass(frozen=True, slots=True)
class Seen:
    """A measured datagram in transit from the client.

    Attributes:
        at_s: time at which it left the client's interface, on this machine's monotonic clock.
        sequence: its number among all datagrams of the client's application.
        made_s: time of its creation, on the client's clock.
        path: its path.
    """

    at_s: float
    sequence: int
    made_s: float
    path: int


def switch_offloads_off(interface: str) -> None:
    """Makes the kernel complete every frame of an interface itself, as required on a wire."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0), 8)
            request = struct.pack("16sP8x", interface.encode(), ctypes.addressof(value))
            fcntl.ioctl(control, SIOCETHTOOL, request)


def measured(frame: bytes) -> tuple[int, float] | None:
    """Number and time of the datagram of `whimbrel perf` in a frame; None without one."""
    if len(frame) < 62 or frame[12:14] != b"\x08\x00" or frame[23] != socket.IPPROTO_UDP:
        return None
    dccp = 14 + 4 * (frame[14] & 15) + 8
    data = dccp + 4 * frame[dccp + 4] if dccp + 4 < len(frame) else len(frame)
    head = frame[data : data + 32]
    if len(head) < 32 or head[:4] != PERF_MAGIC or head[14:16] != b"\0\0":
        return None
    sequence, sent = struct.unpack(">QQ", head[16:32])
    return sequence, sent * 1e-9


class Relay:
    """Forwards frames between the client's interface and one of several paths."""

    def __init__(self, client: str, paths: list[tuple[str, float]]) -> None:
        """`paths`: the interface of each and its one-way delay in seconds."""
        self.path = 0
        self.seen: list[Seen] = []
        self._delays = [delay for _, delay in paths]
        self._sockets = [self._open(name) for name in (client, *(name for name, _ in paths))]
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)
        self._thread.start()

    @staticmethod
    def _open(interface: str) -> socket.socket:
        link = socket.socket(
            socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(ETH_P_ALL)
        )
        link.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        link.bind((interface, 0))
        return link

    def _run(self) -> None:
        poller = select.epoll()
        for link in self._sockets:
            poller.register(link.fileno(), select.EPOLLIN)
        by_descriptor = {link.fileno(): index for index, link in enumerate(self._sockets)}
        while not self._ended.is_set():
            now = time.monotonic()
            while self._waiting and self._waiting[0][0] <= now:
                _, _, to, frame = heapq.heappop(self._waiting)
                self._send(to, frame)
            wait = self._waiting[0][0] - time.monotonic() if self._waiting else 0.1
            for descriptor, _ in poller.poll(max(wait, 0.0)):
                self._receive(by_descriptor[descriptor])

    def _receive(self, index: int) -> None:
        while True:
            try:
                frame = self._sockets[index].recv(65536)
            except BlockingIOError:
                return
            except OSError:
                # The interface went down: reported once, then the relay waits for its return.
                return
            now = time.monotonic()
            path = self.path if index == 0 else index - 1
            if index == 0 and (found := measured(frame)):
                self.seen.append(Seen(now, found[0], found[1], path))
            if path == self.path:
                to = path + 1 if index == 0 else 0
                self._count += 1
                heapq.heappush(self._waiting, (now + self._delays[path], self._count, to, frame))

    def _send(self, to: int, frame: bytes) -> None:
        try:
            self._sockets[to].send(frame)
        except OSError:
            # The client's interface is down: the frame is lost.
            return

    def close(self) -> None:
        """Ends the relay."""
        self._ended.set()
        self._thread.join()
        for link in self._sockets:
            link.close()
