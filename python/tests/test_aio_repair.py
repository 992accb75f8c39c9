"""Repair of asyncio sockets, through paths that lose datagrams."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import pytest

from whimbrel import aio

T = TypeVar("T")
PORT = 5005
PLAINTEXT = aio.Protection.plaintext()
MESSAGES = 400
# Packets before the first that is lost: the handshake.
SPARED = 30
# Every so many packets of both directions one is lost.
PERIOD = 13
# From this packet of the client on, the path breaks.
BREAKS_AT = 60


class _Path(asyncio.DatagramProtocol):
    """A path to a server that loses every 13th packet, or all of the client for a time."""

    def __init__(self, server: tuple[str, int], outage_s: float | None) -> None:
        self.server = server
        self.outage_s = outage_s
        self.client: tuple[str, int] | None = None
        self.packets = self.forth = self.lost = 0
        self.broken_at: float | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport: asyncio.DatagramTransport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        if address != self.server:
            self.client = address
            self.forth += 1
        if self._loses(address):
            self.lost += 1
        elif address != self.server:
            self.transport.sendto(data, self.server)
        elif self.client is not None:
            self.transport.sendto(data, self.client)
        self.packets += 1

    def _loses(self, address: tuple[str, int]) -> bool:
        if self.outage_s is None:
            return self.packets > SPARED and self.packets % PERIOD == 0
        if address == self.server or self.forth < BREAKS_AT:
            return False
        now = time.monotonic()
        if self.broken_at is None:
            self.broken_at = now
        return now - self.broken_at < self.outage_s


def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 60))


@contextlib.asynccontextmanager
async def _pair(
    outage_s: float | None, latency: float | None
) -> AsyncIterator[tuple[aio.Socket, aio.Socket, _Path]]:
    # A path that loses single datagrams is tested with a queue that refuses.
    refuse = outage_s is None
    options: Any = {"protection": PLAINTEXT, "latency": latency, "refuse": refuse}
    async with aio.listen("127.0.0.1:0", PORT, **options) as listener:
        path = _Path(listener.address, outage_s)
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: path, local_addr=("127.0.0.1", 0)
        )
        at = transport.get_extra_info("sockname")
        client = await aio.connect(at, PORT, **options)
        server = await listener.accept()
    async with client, server:
        yield client, server, path
    transport.close()


def _message(number: int) -> bytes:
    return number.to_bytes(2) + bytes([number % 256]) * (98 + number % 900)


def test_lost_datagrams_are_repaired_and_counted() -> None:
    async def work() -> tuple[list[bytes], aio.Repair | None, aio.Repair | None, int]:
        async with _pair(None, 1.5) as (client, server, path):

            async def send() -> None:
                for number in range(MESSAGES):
                    await client.send(_message(number))
                    await asyncio.sleep(0.003)

            sending = asyncio.create_task(send())
            received = [(await server.recv()).data for _ in range(MESSAGES)]
            await sending
            return received, client.repair(), server.repair(), path.lost

    received, sent, repaired, lost = _run(work())
    assert lost > 20
    assert received == [_message(number) for number in range(MESSAGES)]
    assert sent is not None
    assert repaired is not None
    assert repaired.repeated + repaired.restored > 10
    assert repaired.given_up == repaired.repeats_sent == repaired.data_bytes == 0
    assert repaired.repair_bytes > 0
    assert sent.reports > 0
    assert sent.repeated + sent.restored == 0
    assert sent.repeats_sent + sent.coded_sent >= repaired.repeated + repaired.restored
    total = sum(map(len, received))
    assert total < sent.data_bytes < 2 * total
    assert 0 < sent.budget_s <= 1.5


def test_what_is_given_up_asks_for_a_new_start() -> None:
    async def work() -> aio.Event:
        async with _pair(1.5, 0.5) as (client, server, path):

            async def send() -> None:
                role: Any = "start"
                for number in range(8000):
                    mark = aio.Mark(role, ends_frame=True, count=1, stream=7)
                    await client.send(_message(number), mark=mark)
                    role = "inner"
                    await asyncio.sleep(0.005)

            async def read() -> None:
                async for _ in server:
                    pass

            tasks = [asyncio.create_task(work) for work in (send(), read())]
            while (event := await client.event()).kind != "new_start_needed":
                pass
            assert path.lost > 0
            for task in tasks:
                task.cancel()
            return event

    assert _run(work()).fields == {"stream": 7}


def test_without_a_latency_there_are_no_counters_and_no_coded_paths() -> None:
    async def work() -> None:
        async with _pair(None, None) as (client, server, _):
            assert client.repair() is None
            assert server.repair() is None
            with pytest.raises(ValueError, match="role is \"key\": expected 'start'"):
                await client.send(b"?", mark=aio.Mark("key", ends_frame=True))  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="count is 0: expected"):
                await client.send(b"?", mark=aio.Mark("inner", ends_frame=True, count=0))
        with pytest.raises(aio.ConnectionClosedError):
            client.repair()
        with pytest.raises(ValueError, match='scheduler = "coded": expected a connection with repair'):
            await aio.connect("127.0.0.1:9", PORT, protection=PLAINTEXT, scheduler="coded")

    _run(work())
    with pytest.raises(ValueError, match='scheduler = "coded": expected a connection with repair'):
        aio.listen("127.0.0.1:0", PORT, protection=PLAINTEXT, scheduler="coded")
