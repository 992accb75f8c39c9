"""asyncio sockets over loopback."""

import asyncio
import contextlib
import gc
import runpy
import stat
import time
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from whimbrel import aio

T = TypeVar("T")
PORT = 5004
PLAINTEXT = aio.Protection.plaintext()
ROOT = Path(__file__).parents[2]


def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 30))


@contextlib.asynccontextmanager
async def _pair(
    protection: aio.Protection = PLAINTEXT, **options: Any
) -> AsyncIterator[tuple[aio.Socket, aio.Socket]]:
    async with aio.listen("127.0.0.1:0", PORT, protection=protection, **options) as listener:
        client = await aio.connect(listener.address, PORT, protection=protection, **options)
        server = await listener.accept()
    async with client, server:
        yield client, server


def test_a_connection_has_a_path_from_each_address() -> None:
    async def work() -> tuple[list[aio.PathStats], list[int], aio.Stats, list[aio.PathStats]]:
        async with aio.listen("127.0.0.1:0", PORT, protection=PLAINTEXT, scheduler="weighted") as listener:
            client = await aio.connect(
                listener.address,
                PORT,
                protection=PLAINTEXT,
                paths=["127.0.0.2", "127.0.0.3"],
                scheduler="weighted",
            )
            server = await listener.accept()
            # A connection over one path is accepted as well.
            single = await aio.connect(listener.address, PORT, protection=PLAINTEXT)
            other = await listener.accept()
        async with client, server, single, other:
            while (event := await client.event()).kind != "path_up":
                pass
            assert event.fields == {"path": 1}
            used: list[int] = []
            # The second path may be up here before it can be used.
            while len(set(used)) < 2 and len(used) < 2_000:
                for _ in range(20):
                    await client.send(bytes(100))
                used += [(await server.recv()).path for _ in range(20)]
            return client.paths(), used, server.stats(), other.paths()

    paths, used, stats, none = _run(work())
    assert [path.local[0] for path in paths] == ["127.0.0.2", "127.0.0.3"]
    assert [(path.number, path.state) for path in paths] == [(0, "up"), (1, "up")]
    assert sum(path.datagrams_sent for path in paths) == len(used)
    assert set(used) == {0, 1}
    assert (stats.datagrams_received, stats.bytes_received) == (len(used), 100 * len(used))
    assert none == []
    with pytest.raises(ValueError, match="expected"):
        aio.listen("127.0.0.1:0", PORT, protection=PLAINTEXT, paths=["localhost"])
    with pytest.raises(ValueError, match="expected"):
        aio.listen("127.0.0.1:0", PORT, protection=PLAINTEXT, scheduler="fastest")


def _threads() -> int:
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    return names.count("whimbrel")


def _no_thread_is_left() -> bool:
    gc.collect()
    for _ in range(400):
        if _threads() == 0:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("latency", [None, 0.2])
def test_datagrams_cross_and_iteration_ends_with_the_connection(latency: float | None) -> None:
    async def work() -> list[bytes]:
        secret = aio.Protection.secret(b"twenty random bytes or more")
        async with _pair(secret, refuse=True, latency=latency) as (client, server):
            assert client.peer is not None
            assert client.peer != server.peer
            assert client.remote == server.local

            async def send() -> None:
                for number in range(200):
                    await client.send(bytes([number]) * 100)
                await client.close()

            sending = asyncio.create_task(send())
            received = [datagram.data async for datagram in server]
            await sending
            return received

    assert _run(work()) == [bytes([number]) * 100 for number in range(200)]


def test_all_addresses_of_a_name_are_tried() -> None:
    async def work() -> None:
        # The server listens at 127.0.0.1 alone, and localhost may be ::1 first.
        async with aio.listen("127.0.0.1:0", PORT, protection=PLAINTEXT) as listener:
            name = ("localhost", listener.address[1])
            async with await aio.connect(name, PORT, protection=PLAINTEXT) as client:
                assert client.remote == listener.address
                assert client.stats().kernel_drops == 0

    _run(work())


def test_a_cancelled_recv_loses_nothing() -> None:
    async def work() -> list[bytes]:
        received: list[bytes] = []
        async with _pair() as (client, server):

            async def send() -> None:
                for number in range(100):
                    await client.send(bytes([number]))
                    await asyncio.sleep(0.0005)

            sending = asyncio.create_task(send())
            while len(received) < 100:
                # Cancelled at all times: before, while and after datagrams arrive.
                with contextlib.suppress(TimeoutError):
                    received.append((await asyncio.wait_for(server.recv(), 0.0007)).data)
            await sending
        return received

    assert _run(work()) == [bytes([number]) for number in range(100)]


def test_unread_events_and_idle_waits_take_no_processor_time() -> None:
    async def work() -> None:
        async with _pair() as (client, server):
            client.freeze()
            loop = asyncio.get_running_loop()
            calls = 0
            look = server._socket.try_recv

            def counted() -> object:
                nonlocal calls
                calls += 1
                return look()

            # Events are unread at both ends, and one was waited for in vain.
            with contextlib.suppress(TimeoutError):
                while True:
                    await asyncio.wait_for(server.event(), 0.05)
            started = loop.time()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(server._data.until(counted), 0.2)
            assert loop.time() - started >= 0.2
            assert calls <= 3

    _run(work())


def test_send_waits_for_room_where_the_queue_refuses_and_events_are_kept() -> None:
    async def work() -> tuple[int, list[str]]:
        async with _pair(send_queue=4, refuse=True) as (client, server):
            client.freeze()
            for _ in range(4):
                await client.send(b"fits")
            waiting = asyncio.create_task(client.send(b"waits"))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            client.unfreeze()
            await waiting
            received = [(await server.recv()).data for _ in range(5)]
            kinds = []
            while "unfrozen" not in kinds:
                kinds.append((await client.event()).kind)
            return received.count(b"fits"), kinds

    fits, kinds = _run(work())
    assert fits == 4
    assert "connected" in kinds
    assert "frozen" in kinds


def test_a_stale_datagram_is_dropped_and_the_event_says_so() -> None:
    async def work() -> tuple[int, aio.Event]:
        async with _pair() as (client, server):
            client.freeze()
            stale = await client.send(b"stale", lifetime=0.01)
            assert await client.send(b"fresh") != stale
            assert client.stats().is_frozen
            assert client.stats().queued_datagrams == 2
            await asyncio.sleep(0.03)
            client.unfreeze()
            assert (await server.recv()).data == b"fresh"
            stats = client.stats()
            assert (stats.datagrams_dropped, stats.datagrams_sent, stats.forgeries) == (1, 1, 0)
            async for event in client.events():
                if event.kind == "dropped":
                    return stale, event
            raise AssertionError

    stale, event = _run(work())
    assert event.fields == {"datagram": stale, "reason": "expired"}


def test_keys_that_are_pinned(tmp_path: Path) -> None:
    mine, theirs = (aio.Protection.generate_key(tmp_path / name) for name in ("client.pem", "server.pem"))
    assert stat.S_IMODE((tmp_path / "client.pem").stat().st_mode) == 0o600
    assert aio.Protection.fingerprint(tmp_path / "client.pem") == mine

    async def work(trusted: str) -> str | None:
        server = aio.Protection.keys(tmp_path / "server.pem", trust=[mine])
        client = aio.Protection.keys(tmp_path / "client.pem", trust=[trusted])
        async with aio.listen("127.0.0.1:0", PORT, protection=server) as listener:
            connected = await aio.connect(listener.address, PORT, protection=client)
            async with connected:
                return connected.peer

    assert _run(work(theirs)) == theirs
    with pytest.raises(aio.SecurityError, match="not trusted"):
        _run(work(mine))


def test_errors_have_their_class_and_message(tmp_path: Path) -> None:
    async def refused() -> None:
        async with aio.listen("127.0.0.1:0", PORT, protection=PLAINTEXT) as listener:
            await aio.connect(listener.address, PORT + 1, protection=PLAINTEXT)

    async def too_large() -> None:
        async with _pair() as (client, _):
            await client.send(bytes(100_000))

    async def aborted() -> None:
        async with _pair() as (client, server):
            client.abort()
            async for _ in server:
                pass

    async def nobody_accepts() -> None:
        listener = aio.listen("127.0.0.1:0", PORT, protection=PLAINTEXT)
        accepting = asyncio.create_task(listener.accept())
        await asyncio.sleep(0.01)
        await listener.close()
        await accepting

    async def unknown() -> None:
        await aio.connect("no-such-host.invalid:6511", PORT, protection=PLAINTEXT)

    for work, error, message in [
        (unknown, OSError, "no-such-host.invalid cannot be resolved: "),
        (refused, aio.SocketError, "reset by the peer"),
        (too_large, ValueError, "exceeds the limit"),
        (aborted, aio.SocketError, "reset by the peer"),
        (nobody_accepts, aio.ConnectionClosedError, "the listener is closed"),
    ]:
        with pytest.raises(error, match=message):
            _run(work())
    with pytest.raises(ValueError, match="20 or more"):
        aio.Protection.secret(b"short")
    with pytest.raises(ValueError, match="either fingerprints"):
        aio.Protection.keys(tmp_path / "no.pem")
    with pytest.raises(ValueError, match=r"127.0.0.1:6511"):
        aio.listen("127.0.0.1", PORT, protection=PLAINTEXT)


def test_a_key_without_an_end_is_refused(tmp_path: Path) -> None:
    endless = Path("/dev/zero")
    long = tmp_path / "long.pem"
    long.write_bytes(bytes((1 << 20) + 1))
    for path in (long, *([endless] if endless.exists() else [])):
        for read in (
            lambda path=path: aio.Protection.fingerprint(path),
            lambda path=path: aio.Protection.keys(path, trust=["SHA256:" + "A" * 43]),
        ):
            with pytest.raises(ValueError, match=f"{path}: it has more than 1048576 bytes"):
                read()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="lists threads by /proc")
def test_the_thread_ends_with_the_last_socket() -> None:
    assert _no_thread_is_left(), "of other tests"

    async def work() -> None:
        async with _pair() as (client, server):
            assert _threads() == 1
            await client.send(b"x")
            await server.recv()
        # One whose opening is cancelled: nothing answers there.
        silent = aio.listen("127.0.0.1:0", PORT, protection=PLAINTEXT)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(
                aio.connect(silent.address, PORT, protection=aio.Protection.secret(bytes(20))), 0.05
            )
        await silent.close()

    _run(work())
    assert _no_thread_is_left()


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples/aio/telemetry.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "100 readings" in printed
