"""Connections of `whimbrel.aio`: their protection, what they deliver, and their errors."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from whimbrel import _core
from whimbrel._base import texts
from whimbrel.errors import WhimbrelError


class SocketError(WhimbrelError, ConnectionError):
    """The connection has ended irregularly: a reset, or a peer that does not answer or listen."""


class ConnectionClosedError(SocketError):
    """One of the ends has closed the connection: its regular end."""


class SecurityError(SocketError):
    """The connection has ended because it is not secured: the peer has another key, or does not use DTLS."""


@contextlib.contextmanager
def converted_errors() -> Iterator[None]:
    """Converts errors of the compiled part into this module's errors."""
    try:
        yield
    except _core.SocketError as error:
        kind, message = error.args
        classes = {"closed": ConnectionClosedError, "security": SecurityError}
        raise classes.get(kind, SocketError)(message) from None


_MOST_BYTES = 1 << 20
"""The largest file with a key or certificates: a special file may have no end."""


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return texts.read(Path(path), _MOST_BYTES)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


@dataclass(frozen=True, slots=True)
class Datagram:
    """A received datagram."""

    data: bytes
    #: Sequence number of the packet that brought it; over several paths, its number in the connection.
    sequence: int
    #: Time of its arrival in seconds, on the socket's clock.
    arrival_s: float
    #: ECN codepoint of that packet: 3 is Congestion Experienced.
    ecn: int
    #: Number of the path on which it arrived; 0 unless there are several.
    path: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a connection.

    Kinds and their fields: `connected` (sender_ccid, receiver_ccid), `dropped` (datagram, reason: a queued
    one will not be sent), `data_dropped` (sequence, reason), `loss` (sequence, count, cause),
    `slow_receiver`, `send_ready`, `frozen` (by_peer), `unfrozen` (by), `feature` (feature, local, value),
    `error_text` (text), `max_datagram` (max_datagram), `peer_moved` (to), `move_confirmed`,
    `new_start_needed` (stream: repair has given up a frame to which others refer, and the encoder should make
    a key frame), `closed` (reason) and `other` (text). Over several paths, also `path_up` (path), `path_down`
    (path, reason), `path_failed` (path) and `path_recovered` (path), and the events of one path have it as
    `path`.
    """

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mark:
    """The place of a datagram in a frame of media, by which repair protects whole frames."""

    #: `start`: the frame refers to no other (a key frame). `inner`: it refers to frames before it, and frames
    #: after it refer to it. `disposable`: no other frame refers to it.
    role: Literal["start", "inner", "disposable"]
    #: The datagram is the last of its frame.
    ends_frame: bool
    #: Datagrams of the frame, 1 to 255; None if unknown.
    count: int | None = None
    #: The stream of the frame: frames of different streams do not refer to each other.
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Repair:
    """Counters of repair since the start of the connection, in datagrams unless stated otherwise."""

    #: Repeats that this end sent.
    repeats_sent: int
    #: Coded packets that this end sent.
    coded_sent: int
    #: Bytes of this end's datagrams, with repair's headers.
    data_bytes: int
    #: Bytes of the repeats, coded packets and reports that this end sent.
    repair_bytes: int
    #: Frames of this end that were dropped before they were sent, because they were late. A datagram that is
    #: sent without a `Mark` is a frame.
    frames_dropped: int
    #: Frames of this end of which no repeat could arrive in time: the latency is below the round-trip time.
    without_round: int
    #: Frames of this end for which no choice of repeats and coded packets is enough.
    out_of_reach: int
    #: Repeats and coded packets that were not sent, because they exceeded their share of the data.
    over_share: int
    #: Reports of the peer on what it misses.
    reports: int
    #: Datagrams of the peer that repeats brought in time.
    repeated: int
    #: Datagrams of the peer that coded packets restored in time.
    restored: int
    #: Datagrams of the peer that were not repaired in time, and given up.
    given_up: int
    #: Datagrams of the peer that arrived after they were given up.
    late: int
    #: Datagrams of the peer delivered before their time, because the window was full.
    hurried: int
    #: The age in seconds up to which this end sends a datagram: the latency less the queueing delay of the
    #: path.
    budget_s: float


@dataclass(frozen=True, slots=True)
class Stats:
    """Measurements of a connection: rates in bit/s, None if unknown; counters since its start.

    Over several paths, rates and counters are totals of all paths.
    """

    rtt_s: float | None
    #: The rate at which congestion control lets this end send.
    allowed_rate: float | None
    #: The rate at which the peer receives.
    receive_rate: float | None
    #: Of the data that this end sends (RFC 5348).
    loss_event_rate: float | None
    #: The largest datagram that can be sent now, in bytes.
    max_datagram: int
    queued_datagrams: int
    queued_bytes: int
    datagrams_sent: int
    bytes_sent: int
    datagrams_received: int
    bytes_received: int
    #: Dropped instead of sent.
    datagrams_dropped: int
    #: Data packets of this end that were found lost.
    packets_lost: int
    #: Data packets of the peer that were found lost.
    packets_lost_here: int
    #: Received, and dropped because they were not read in time.
    receive_overflows: int
    #: Dropped by the kernel at this end's UDP socket, which the connections of a listener share: they
    #: came faster than they were read. 0 unless on Linux.
    kernel_drops: int
    #: Received, not authentic, and discarded.
    forgeries: int
    #: By this end's application or by the peer.
    is_frozen: bool


@dataclass(frozen=True, slots=True)
class PathStats:
    """Measurements of one of several paths, as in `Stats`."""

    #: Its number, by which events and datagrams name it.
    number: int
    #: UDP addresses of this end and of the peer.
    local: tuple[str, int]
    remote: tuple[str, int]
    #: `joining`, `up`, `failed` (it does not answer) or `ended`.
    state: str
    rtt_s: float | None
    allowed_rate: float | None
    receive_rate: float | None
    loss_event_rate: float | None
    max_datagram: int
    datagrams_sent: int
    bytes_sent: int
    datagrams_received: int
    bytes_received: int
    packets_lost: int
    packets_lost_here: int


class Protection:
    """The protection of connections. There is no default: plaintext has to be chosen."""

    def __init__(self, protection: _core.Protection) -> None:
        #: For the compiled part.
        self.core = protection

    @classmethod
    def plaintext(cls) -> Self:
        """None: data can be read and changed on the path, and anyone can connect."""
        return cls(_core.Protection.plaintext())

    @classmethod
    def secret(cls, secret: bytes) -> Self:
        """Keys that both ends derive from a secret of 20 random bytes or more.

        Raises:
            ValueError: it is shorter.
        """
        return cls(_core.Protection.secret(secret))

    @classmethod
    def keys(
        cls,
        key: str | os.PathLike[str],
        *,
        trust: Iterable[str] = (),
        certificate: str | os.PathLike[str] | None = None,
        authorities: str | os.PathLike[str] | None = None,
        name: str | None = None,
    ) -> Self:
        """Keys of both ends.

        Args:
            key: a file with this end's private key: PEM (PKCS #8) of the curve P-256 or P-384, as
                `generate_key` makes it.
            trust: fingerprints of the peers' keys, `SHA256:` and 43 characters each.
            certificate: a file with the certificate that an authority has issued for the key.
            authorities: a file with certificates of authorities that are trusted, instead of fingerprints.
            name: the host that the peer's certificate has to be for.

        Raises:
            OSError: a file cannot be read.
            ValueError: a key or certificate is malformed, or not exactly one of `trust` and `authorities` is
                given.
        """
        fingerprints = list(trust)
        if bool(fingerprints) == (authorities is not None):
            raise ValueError("expected either fingerprints to trust or authorities")
        files = [None if path is None else _text(path) for path in (key, certificate, authorities)]
        return cls(_core.Protection.keys(str(files[0]), files[1], fingerprints, files[2], name))

    @staticmethod
    def generate_key(path: str | os.PathLike[str]) -> str:
        """Writes a new private key to a file that only its owner can read; returns its fingerprint.

        Raises:
            FileExistsError: there is such a file.
        """
        pem, fingerprint = _core.generate_key()
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:  # noqa: PTH123
            file.write(pem)
        return fingerprint

    @staticmethod
    def fingerprint(path: str | os.PathLike[str]) -> str:
        """Returns the fingerprint of the private key in a file, which peers trust."""
        return _core.key_fingerprint(_text(path))
