"""The kernel's TCP in the place of `whimbrel relay`: datagrams as frames of RFC 4571, both ways.

    python -m whimbrel.testbed.tcp receive 0.0.0.0:7001 --to 127.0.0.1:5006
    python -m whimbrel.testbed.tcp send 10.0.0.1:7001 --from 127.0.0.1:5004

`send` connects. A TCP connection ends with its address: when the kernel's route to the other end leads from
another address, `send` resets the connection and connects again, at once and then every `RETRY_S`, as an
application does that is notified of the change (one that is not would wait for a timeout first). `receive`
serves the newest connection. A datagram that waited for TCP longer than `--stale` seconds is dropped;
TCP_NOTSENT_LOWAT keeps what the kernel holds without sending it small.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import socket
import struct
import sys
from collections import deque
from typing import cast

from whimbrel.testbed.interfaces import Monitor, source_address
from whimbrel.testbed.source import address

RETRY_S = 0.5
CONNECT_S = 5.0
NOTSENT_BYTES = 8192
TCP_NOTSENT_LOWAT = 25


class Program(asyncio.DatagramProtocol):
    """The UDP socket towards the program; keeps the datagrams that wait for TCP."""

    def __init__(self, target: tuple[str, int] | None, stale_s: float, law: str = "") -> None:
        """`target`: where datagrams go; None for the source of the last one."""
        self.law = law
        self.fixed = target is not None
        self.target = target
        self.stale_s = stale_s
        self.waiting: deque[tuple[float, bytes]] = deque()
        self.arrived = asyncio.Event()
        self.stale = 0
        self.transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """A datagram of the program."""
        if not self.fixed:
            self.target = addr
        self.waiting.append((asyncio.get_running_loop().time(), data))
        self.arrived.set()

    async def next(self) -> bytes:
        """The oldest datagram that is not stale."""
        while True:
            while self.waiting:
                at, data = self.waiting.popleft()
                if asyncio.get_running_loop().time() - at <= self.stale_s:
                    return data
                self.stale += 1
            self.arrived.clear()
            await self.arrived.wait()

    def deliver(self, data: bytes) -> None:
        """Passes a datagram to the program."""
        if self.transport is not None and self.target is not None:
            self.transport.sendto(data, self.target)


async def forward(program: Program, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forwards both ways until the connection ends."""
    raw = writer.get_extra_info("socket")
    if program.law:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, program.law.encode())
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    raw.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOTSENT_BYTES)
    writer.transport.set_write_buffer_limits(high=0)

    async def outward() -> None:
        while True:
            # The room comes first: a datagram must not become old between the queue and the kernel.
            await writer.drain()
            data = await program.next()
            writer.write(struct.pack(">H", len(data)) + data)

    async def inward() -> None:
        while True:
            (size,) = struct.unpack(">H", await reader.readexactly(2))
            program.deliver(await reader.readexactly(size))

    tasks = [asyncio.create_task(outward()), asyncio.create_task(inward())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        writer.transport.abort()


async def receive(at: tuple[str, int], program: Program) -> None:
    """Serves the newest connection."""
    present: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for older in present:
            older.cancel()
        task = asyncio.current_task()
        present[:] = [task] if task is not None else []
        print(f"connected with {writer.get_extra_info('peername')}", flush=True)
        with contextlib.suppress(asyncio.CancelledError):
            await forward(program, reader, writer)

    server = await asyncio.start_server(serve, *at)
    print("listening", flush=True)
    await server.serve_forever()


async def send(to: tuple[str, int], program: Program) -> None:
    """Connects, again after each change of this host's address."""
    monitor = Monitor()
    changed = asyncio.Event()

    def look() -> None:
        monitor.changes()
        changed.set()

    asyncio.get_running_loop().add_reader(monitor.netlink.fileno(), look)
    while True:
        if (source := source_address(to[0])) is None:
            changed.clear()
            await changed.wait()
            continue
        try:
            opening = asyncio.open_connection(*to, local_addr=(source, 0))
            reader, writer = await asyncio.wait_for(opening, CONNECT_S)
        except (OSError, TimeoutError) as error:
            print(f"no connection from {source}: {error!r}", flush=True)
            await asyncio.sleep(RETRY_S)
            continue
        print(f"connected from {source}", flush=True)
        carrying = asyncio.create_task(forward(program, reader, writer))
        while not carrying.done():
            changed.clear()
            waiting = asyncio.create_task(changed.wait())
            await asyncio.wait({carrying, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            now = source_address(to[0])
            if now is not None and now != source:
                carrying.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await carrying
        await asyncio.sleep(0)


async def run(given: argparse.Namespace) -> None:
    """Runs one end until SIGINT."""
    target = address(given.to) if given.end == "receive" else None
    program = Program(target, given.stale, given.law)
    loop = asyncio.get_running_loop()
    at = ("127.0.0.1", 0) if given.end == "receive" else address(given.source)
    await loop.create_datagram_endpoint(lambda: program, local_addr=at)
    end = receive if given.end == "receive" else send
    task = asyncio.create_task(end(address(given.address), program))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
    print(f"{program.stale} datagrams were stale", flush=True)


def main() -> int:
    """Runs the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("end", choices=["send", "receive"])
    parser.add_argument("address")
    parser.add_argument("--to", default="127.0.0.1:5006")
    parser.add_argument("--from", dest="source", default="127.0.0.1:5004")
    parser.add_argument("--stale", type=float, default=0.5)
    parser.add_argument("--law", default="", help="congestion control of the kernel instead of its default")
    asyncio.run(run(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
