"""DCCP sockets for asyncio: unreliable datagrams with congestion control, encrypted by DTLS 1.3.

    import asyncio
    from whimbrel import aio

    async def main() -> None:
        secret = aio.Protection.secret(b"twenty random bytes or more")
        async with aio.listen("127.0.0.1:0", 5004, protection=secret) as listener:
            async with await aio.connect(listener.address, 5004, protection=secret) as client:
                await client.send(b"a frame", lifetime=0.15)
                server = await listener.accept()
                print(await server.recv())

    asyncio.run(main())

One thread drives the sockets of a process; it ends with the last of them. The event loop waits for their
file descriptors, so that a cancelled `recv`, `event`, `accept` or `send` loses nothing. A socket belongs to
the event loop that uses it. Not available on Windows, nor on event loops without `add_reader`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from functools import partial
from types import TracebackType
from typing import Literal, Self, TypedDict, TypeVar, Unpack

from whimbrel import _core
from whimbrel.aio._connection import (
    ConnectionClosedError,
    Datagram,
    Event,
    Mark,
    PathStats,
    Protection,
    Repair,
    SecurityError,
    SocketError,
    Stats,
    converted_errors,
)

__all__ = [
    "Address",
    "ConnectionClosedError",
    "Datagram",
    "Event",
    "Listener",
    "Mark",
    "PathStats",
    "Protection",
    "Repair",
    "Scope",
    "SecurityError",
    "Socket",
    "SocketError",
    "Stats",
    "connect",
    "listen",
]

T = TypeVar("T")
Address = str | tuple[str, int]
Scope = Literal["local", "remote", "both"]

# As many as the compiled part keeps.
_MAX_UNREAD = 1024


_runtime: tuple[int, weakref.ref[_core.SocketRuntime]] | None = None


def _shared_runtime() -> _core.SocketRuntime:
    """The process's thread of sockets; a child process does not inherit it."""
    global _runtime
    if _runtime is not None and _runtime[0] == os.getpid() and (found := _runtime[1]()) is not None:
        return found
    runtime = _core.SocketRuntime()
    _runtime = (os.getpid(), weakref.ref(runtime))
    return runtime


class _Readiness:
    """Tasks that wait for a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiters: set[asyncio.Future[None]] = set()
        self._has_reader = False

    async def until(self, look: Callable[[], T | None]) -> T:
        """Calls `look` now and whenever the descriptor is readable, until it returns a value."""
        while (found := look()) is None:
            await self._wait()
        return found

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        if not self._has_reader:
            loop.add_reader(self._descriptor, self.wake)
            self._has_reader = True
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)
            if not self._waiters:
                self.stop(loop)

    def wake(self) -> None:
        """Wakes the tasks: each looks again."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def stop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Does not watch the descriptor any more, which may be closed then."""
        if self._has_reader:
            loop.remove_reader(self._descriptor)
            self._has_reader = False


class Socket:
    """A connection, from `connect` or `Listener.accept`.

    `async for datagram in socket` reads until either end closes the connection; as an asynchronous context
    manager it is closed at the end.
    """

    def __init__(self, socket: _core.Socket, runtime: _core.SocketRuntime) -> None:
        self._socket = socket
        self._runtime: _core.SocketRuntime | None = runtime
        self._data = _Readiness(socket.fileno())
        self._events = _Readiness(socket.event_fileno())
        # Events that a task has read while it waited for another thing.
        self._unread: deque[Event] = deque(maxlen=_MAX_UNREAD)
        # Times at which the send queue had room again.
        self._rooms = 0

    async def send(self, data: bytes, *, lifetime: float | None = None, mark: Mark | None = None) -> int:
        """Queues a datagram, which is dropped if it could not be sent within `lifetime` seconds.

        Waits if the queue is full and refuses (`refuse=True`). Its arrival is not confirmed. Without a
        `mark`, repair takes it for a frame of its own to which no other refers.

        Returns:
            Its number. The event `dropped` has it as `datagram`, if it is dropped before it was sent.

        Raises:
            ValueError: the datagram is too large, or the mark is invalid.
            SocketError: the connection has ended.
        """
        place = None if mark is None else (mark.stream, mark.role, mark.ends_frame, mark.count)
        with converted_errors():
            while True:
                rooms = self._rooms
                number = self._socket.try_send(data, lifetime, place)
                if number is not None:
                    return number
                await self._events.until(partial(self._has_room_since, rooms))

    async def recv(self) -> Datagram:
        """The next datagram.

        Raises:
            SocketError: the connection has ended, and all that arrived has been read.
        """

        def look() -> Datagram | None:
            received = self._socket.try_recv()
            return None if received is None else Datagram(*received)

        with converted_errors():
            return await self._data.until(look)

    async def event(self) -> Event:
        """The next event that is not a datagram.

        Raises:
            SocketError: the connection has ended, and its last event has been read.
        """
        with converted_errors():
            return await self._events.until(self._next_event)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Datagram:
        try:
            return await self.recv()
        except ConnectionClosedError:
            raise StopAsyncIteration from None

    async def events(self) -> AsyncIterator[Event]:
        """The events until the end of the connection."""
        with contextlib.suppress(ConnectionClosedError):
            while True:
                yield await self.event()

    def stats(self) -> Stats:
        """Measurements.

        Raises:
            SocketError: the connection has ended.
        """
        with converted_errors():
            fields = self._socket.stats()
        if fields is None:
            raise ConnectionClosedError("the connection is over")
        return Stats(**fields)

    def repair(self) -> Repair | None:
        """Counters of repair (`latency`); None if the ends have not agreed on it.

        Raises:
            SocketError: the connection has ended.
        """
        with converted_errors():
            fields = self._socket.repair()
        return None if fields is None else Repair(**fields)

    def paths(self) -> list[PathStats]:
        """Measurements of each path of a connection over several; of one over a single path, none.

        Raises:
            SocketError: the handshake has failed.
        """
        with converted_errors():
            return [PathStats(**fields) for fields in self._socket.paths()]

    @property
    def local(self) -> tuple[str, int]:
        """This end's UDP address."""
        with converted_errors():
            return self._socket.local()

    @property
    def remote(self) -> tuple[str, int]:
        """The peer's UDP address; a client's address may change."""
        with converted_errors():
            return self._socket.remote()

    @property
    def peer(self) -> str | None:
        """The fingerprint of the key by which the peer has authenticated itself; None without protection."""
        with converted_errors():
            return self._socket.peer()

    def freeze(self, scope: Scope = "local") -> None:
        """Stops sending data for an outage, makes the peer stop (`mobile=True` at both ends), or both."""
        with converted_errors():
            self._socket.freeze(scope)

    def unfreeze(self, scope: Scope = "local") -> None:
        """Ends a freeze: data resume at the previous rate."""
        with converted_errors():
            self._socket.unfreeze(scope)

    def rebind(self) -> None:
        """Continues from the address that the system selects now (clients, with `mobile=True` at both ends).

        Raises:
            OSError: there is no network. The connection is as before.
        """
        with converted_errors():
            self._socket.rebind()

    async def close(self) -> None:
        """Closes the connection after what is queued was sent, and waits for that.

        Gives up a peer that does not answer after half a minute. What arrived before can still be read; then
        `recv` raises `ConnectionClosedError`, or another `SocketError` if the ends did not agree on the end.
        """
        if self._runtime is None:
            return
        self._socket.close()

        def has_ended() -> bool | None:
            try:
                self._store_events()
            except _core.SocketError:
                return True
            return None

        await self._events.until(has_ended)
        # The thread ends with the last socket.
        self._runtime = None

    def abort(self) -> None:
        """Ends the connection at once with a Reset."""
        with converted_errors():
            self._socket.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def _read_event(self) -> Event | None:
        found = self._socket.try_event()
        if found is None:
            return None
        self._rooms += found[0] == "send_ready"
        return Event(*found)

    def _next_event(self) -> Event | None:
        return self._unread.popleft() if self._unread else self._read_event()

    def _store_events(self) -> None:
        """Keeps all events that there are for `event`: unread ones would keep the descriptor readable."""
        while (event := self._read_event()) is not None:
            self._unread.append(event)
            self._events.wake()

    def _has_room_since(self, rooms: int) -> bool | None:
        self._store_events()
        return True if self._rooms != rooms else None

    async def _opened(self) -> None:
        with converted_errors():
            await self._data.until(lambda: self._socket.is_open() or None)


class Listener:
    """Accepts connections at one UDP port; from `listen`.

    `async for socket in listener` accepts them one after the other; as an asynchronous context manager it is
    closed at the end.
    """

    def __init__(self, listener: _core.SocketListener, runtime: _core.SocketRuntime) -> None:
        self._listener: _core.SocketListener | None = listener
        self._runtime: _core.SocketRuntime | None = runtime
        self._ready = _Readiness(listener.fileno())
        #: The UDP address, for `connect`.
        self.address: tuple[str, int] = listener.local()

    async def accept(self) -> Socket:
        """The next connection with a complete handshake.

        Raises:
            ConnectionClosedError: the listener is closed.
        """
        with converted_errors():
            accepted, runtime = await self._ready.until(self._accepted)
        return Socket(accepted, runtime)

    def _accepted(self) -> tuple[_core.Socket, _core.SocketRuntime] | None:
        if self._listener is None or self._runtime is None:
            raise ConnectionClosedError("the listener is closed")
        accepted = self._listener.try_accept()
        return None if accepted is None else (accepted, self._runtime)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Socket:
        try:
            return await self.accept()
        except ConnectionClosedError:
            raise StopAsyncIteration from None

    async def close(self) -> None:
        """Stops listening. Accepted connections continue."""
        self._ready.stop(asyncio.get_running_loop())
        self._listener = self._runtime = None
        self._ready.wake()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


class _Options(TypedDict, total=False):
    """Options of `connect` and `listen`.

    Attributes:
        service_code: names the application (RFC 4340, Section 8.1.2); both ends need the same.
        ccid: congestion control of both directions: 2 is TCP-like, 3 TFRC with a smooth rate, 4 TFRC for
            small packets.
        send_queue: datagrams that may wait to be sent.
        refuse: `send` waits if the queue is full, instead of dropping the oldest datagram in it.
        receive_queue: unread datagrams that are kept; beyond it the oldest is dropped.
        idle_timeout: seconds after which a silent peer is given up; None for never.
        mobile: offers to freeze the connection over outages, and to move the client to other addresses.
        latency: repairs lost datagrams, and delivers in order, at most so many seconds later than the fastest
            datagrams arrive. Both ends need it; the shorter latency of both limits repair. Three to four
            round-trip times are enough.
        paths: local addresses, such as `192.0.2.10`, each of an interface of its own: the connection has a
            path from each (MP-DCCP), if the peer takes part. Of a listener, further addresses.
        scheduler: what chooses the path of each datagram of this end: `lowest-rtt`, `weighted`, `redundant`,
            `cheapest-first`, `coded` (only with `latency`) or `handover`. A listener with a scheduler accepts
            several paths, and one.
    """

    service_code: int
    ccid: int
    send_queue: int
    refuse: bool
    receive_queue: int
    idle_timeout: float | None
    mobile: bool
    latency: float | None
    paths: list[str]
    scheduler: str | None


def _config(protection: Protection, options: _Options) -> _core.SocketConfig:
    return _core.SocketConfig(
        protection.core,
        options.get("service_code", 0),
        options.get("ccid", 3),
        options.get("send_queue"),
        options.get("refuse", False),
        options.get("receive_queue", 4096),
        options.get("idle_timeout", 60.0),
        options.get("mobile", False),
        options.get("latency"),
        options.get("paths", []),
        options.get("scheduler"),
    )


def _text(address: Address) -> str:
    if isinstance(address, str):
        return address
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def connect(
    address: Address, port: int, *, protection: Protection, **options: Unpack[_Options]
) -> Socket:
    """Opens a connection to the DCCP `port` behind a UDP address, and waits for the handshake.

    Args:
        address: of the listener, such as `host:6511` or a pair. Of a name all addresses are tried, 250 ms
            after each other, and the first that answers is used.
        port: the DCCP port.
        protection: of the data; both ends have to agree.
        **options: `service_code` (0), `ccid` (3), `send_queue` (datagrams), `refuse` (False), `receive_queue`
            (4096), `idle_timeout` (60.0, in seconds), `mobile` (False), `latency` (None, in seconds), `paths`
            ([]) and `scheduler` (None): the fields of `_Options`.

    Raises:
        OSError: the name cannot be resolved, or the system refuses a socket.
        SecurityError: the peer is not trusted, or does not use DTLS.
        SocketError: the peer refuses or does not answer.
        ValueError: an option is invalid.
    """
    config = _config(protection, options)
    runtime = _shared_runtime()
    with converted_errors():
        socket = Socket(_core.Socket(runtime, _text(address), port, config), runtime)
    await socket._opened()
    return socket


def listen(address: Address, port: int, *, protection: Protection, **options: Unpack[_Options]) -> Listener:
    """Listens for connections to the DCCP `port` at a UDP address; `async with` closes the listener.

    Args:
        address: an address of this host and a UDP port, such as `0.0.0.0:6511` or `:6511`; with port 0,
            the system chooses one.
        port: the DCCP port.
        protection: of the data; both ends have to agree.
        **options: as for `connect`.

    Raises:
        OSError: the system refuses the address.
        ValueError: an option or the address is invalid.
    """
    runtime = _shared_runtime()
    with converted_errors():
        listener = _core.SocketListener(runtime, _text(address), port, _config(protection, options))
    return Listener(listener, runtime)
