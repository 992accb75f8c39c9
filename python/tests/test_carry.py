"""`whimbrel carry`: another program's datagrams over DCCP, between two processes."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

WHIMBREL = [sys.executable, "-m", "whimbrel", "carry"]
WAIT_S = 20


@contextmanager
def _running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*WHIMBREL, *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _event(process: subprocess.Popen[str], kind: str) -> dict[str, Any]:
    """The next event of a kind."""
    assert process.stdout is not None
    for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["event"] == kind:
            return event
    assert process.stderr is not None
    raise AssertionError(f"no {kind}: {process.stderr.read()}")


def _interval(process: subprocess.Popen[str], fits: Callable[[float], bool]) -> dict[str, Any]:
    """The first of the next 200 intervals whose send rate in bit/s fits."""
    for _ in range(200):
        if fits((figures := _event(process, "interval"))["send_rate_bps"]):
            return figures
    raise AssertionError(f"no such rate: {figures}")


def _udp() -> socket.socket:
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.settimeout(WAIT_S)
    opened.bind(("127.0.0.1", 0))
    return opened


def _free_port() -> int:
    with _udp() as probe:
        return int(probe.getsockname()[1])


def _at(text: object) -> str:
    """The address in `listening at UDP 127.0.0.1:1234; ...`."""
    return str(text).partition("UDP ")[2].partition(";")[0]


def test_datagrams_are_carried_in_both_directions() -> None:
    with _udp() as camera, _udp() as viewer:
        to = f"127.0.0.1:{viewer.getsockname()[1]}"
        with _running("receive", "--to", to, "--bind", "127.0.0.1:0", "--reorder", "20ms") as receiver:
            server = _at(_event(receiver, "ready")["text"])
            source = ("127.0.0.1", _free_port())
            with _running("send", server, "--from", f"{source[0]}:{source[1]}", "-i", "0.2") as sender:
                _event(sender, "connected")
                expected = [bytes([number]) * 1000 for number in range(50)]
                for datagram in expected:
                    camera.sendto(datagram, source)
                received = [viewer.recvfrom(2000) for _ in expected]
                assert [datagram for datagram, _ in received] == expected
                # RTCP, for instance, returns to the program whose datagrams are carried.
                viewer.sendto(b"report", received[0][1])
                assert camera.recvfrom(2000) == (b"report", source)
                # Too large for any packet: it is divided.
                camera.sendto(bytes(9000), source)
                assert viewer.recvfrom(10_000)[0] == bytes(9000)
                while (figures := _event(sender, "interval"))["to_peer"]["delivered"] < 51:
                    pass
                assert (figures["to_peer"]["sent"], figures["from_peer"]["delivered"]) == (51, 1)
                sender.send_signal(signal.SIGINT)
                sender.communicate(timeout=WAIT_S)
                assert sender.returncode == 130
            assert "clos" in _event(receiver, "ended")["text"]


def test_a_sender_that_a_service_manager_stops_closes_its_connection() -> None:
    with _running("receive", "--to", "127.0.0.1:9", "--bind", "127.0.0.1:0", "--one-off") as receiver:
        server = _at(_event(receiver, "ready")["text"])
        with _running("send", server, "--from", f"127.0.0.1:{_free_port()}") as sender:
            _event(sender, "connected")
            sender.send_signal(signal.SIGTERM)
            sender.communicate(timeout=WAIT_S)
        receiver.communicate(timeout=WAIT_S)
        assert receiver.returncode == 0


def test_a_receiver_that_starts_again_is_found_again() -> None:
    with _udp() as camera, _udp() as viewer:
        to = f"127.0.0.1:{viewer.getsockname()[1]}"
        server, source = f"127.0.0.1:{_free_port()}", ("127.0.0.1", _free_port())
        with _running("receive", "--to", to, "--bind", server) as receiver:
            _event(receiver, "ready")
            sender = subprocess.Popen(
                [*WHIMBREL, "send", server, "--from", f"{source[0]}:{source[1]}", "--json"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                _event(sender, "connected")
                receiver.send_signal(signal.SIGINT)
                receiver.communicate(timeout=WAIT_S)
                _event(sender, "ended")
                with _running("receive", "--to", to, "--bind", server, "--one-off") as again:
                    _event(again, "connected")
                    _event(sender, "connected")
                    camera.sendto(b"after", source)
                    assert viewer.recvfrom(100)[0] == b"after"
            finally:
                sender.kill()
                sender.communicate()


def test_a_second_sender_replaces_the_first() -> None:
    with _udp() as camera, _udp() as viewer:
        to = f"127.0.0.1:{viewer.getsockname()[1]}"
        with _running("receive", "--to", to, "--bind", "127.0.0.1:0") as receiver:
            server = _at(_event(receiver, "ready")["text"])
            with _running("send", server, "--from", f"127.0.0.1:{_free_port()}") as first:
                _event(first, "connected")
                # An end that has vanished without closing.
                first.send_signal(signal.SIGKILL)
                source = ("127.0.0.1", _free_port())
                with _running("send", server, "--from", f"{source[0]}:{source[1]}") as second:
                    _event(second, "connected")
                    assert "another sender" in _event(receiver, "ended")["text"]
                    camera.sendto(b"newer", source)
                    assert viewer.recvfrom(100)[0] == b"newer"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["send", "127.0.0.1:9", "--from", "192.0.2.1:5004"], "UDP 192.0.2.1:5004"),
        (["receive", "--to", "no-such-host.invalid:5004", "--bind", "127.0.0.1:0"], "cannot be resolved"),
        (["receive", "--to", "127.0.0.1:5004", "--bind", "192.0.2.1:6511"], "UDP 192.0.2.1:6511"),
    ],
)
def test_an_end_that_cannot_start_names_the_reason(arguments: list[str], complaint: str) -> None:
    done = subprocess.run([*WHIMBREL, *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert complaint in done.stderr


@contextmanager
def _two_hosts() -> Iterator[tuple[str, str]]:
    """Two network namespaces with a link between them: 10.77.0.1 at `wh0`, and 10.77.0.2."""
    number = _free_port()
    first, second = f"wh{number}a", f"wh{number}b"
    commands = [
        f"ip netns add {first}",
        f"ip netns add {second}",
        f"ip link add wh0 netns {first} type veth peer name wh1 netns {second}",
        f"ip -n {first} addr add 10.77.0.1/24 dev wh0",
        f"ip -n {second} addr add 10.77.0.2/24 dev wh1",
        *(f"ip -n {name} link set lo up" for name in (first, second)),
        f"ip -n {first} link set wh0 up",
        f"ip -n {second} link set wh1 up",
    ]
    try:
        for command in commands:
            try:
                subprocess.run(command.split(), check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                pytest.skip(f"no network namespaces: {command}")
        yield first, second
    finally:
        for name in (first, second):
            with suppress(OSError):
                subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)  # noqa: S607


def test_a_link_that_returns_brings_back_the_rate_on_the_same_connection() -> None:
    with _two_hosts() as (first, second):
        inside = ["ip", "netns", "exec"]

        def start(name: str, *arguments: str) -> subprocess.Popen[str]:
            return subprocess.Popen(
                [*inside, name, *WHIMBREL, *arguments, "--json", "-i", "0.2", "--insecure-plaintext"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )

        receiver = start(second, "receive", "--to", "127.0.0.1:5004")
        _event(receiver, "ready")
        sender = start(first, "send", "10.77.0.2", "--from", "127.0.0.1:5004", "--freeze-on-link-loss")
        program = (
            "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "while True:\n    s.sendto(bytes(1000), ('127.0.0.1', 5004)); time.sleep(0.004)"
        )
        camera = subprocess.Popen([*inside, first, sys.executable, "-c", program])
        try:
            _event(sender, "connected")
            _interval(sender, lambda rate: rate > 1e6)
            subprocess.run(["ip", "-n", first, "link", "set", "wh0", "down"], check=True)  # noqa: S607
            _interval(sender, lambda rate: rate == 0)
            subprocess.run(["ip", "-n", first, "link", "set", "wh0", "up"], check=True)  # noqa: S607
            # The first interval may end before the answer to the first packet.
            after = [_interval(sender, lambda rate: rate > 0) for _ in range(2)]
            # 2 Mbit/s are sent; without restoration it would begin with some packets per second.
            assert max(float(str(interval["allowed_rate_bps"])) for interval in after) > 1e6
            sender.kill()
            assert sender.stdout is not None
            assert "connected" not in sender.stdout.read()
        finally:
            for process in (camera, sender, receiver):
                process.kill()
                process.communicate()
