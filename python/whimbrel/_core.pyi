"""The compiled part: the simulator and the commands written in Rust."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

FILE_KEYS: list[str]
"""Keys of a scenario that name files."""

def run(
    scenario: str,
    seed: int,
    set: list[str] = ...,  # noqa: A002 - the name of the command's option
    packets: bool = ...,
    base: str = ...,
) -> dict[str, dict[str, Any]]:
    """Simulates a scenario and returns its tables.

    Releases the interpreter lock, so that several threads can simulate simultaneously.

    Args:
        scenario: TOML text, or JSON text (the first character is an opening brace).
        seed: of the random numbers; the same seed produces the same tables.
        set: `key=value` each, applied in order before anything is checked.
        packets: record a row per packet even if the scenario does not request it.
        base: the directory in which relative file names start.

    Returns:
        Table name to column name to column: a float64 or uint64 array, or a pair of uint32 codes and the
        list of strings that they represent.

    Raises:
        ValueError: the scenario is invalid; the message names the key, the value and what was expected.
    """

def examine(
    scenario: str,
    set: list[str] = ...,  # noqa: A002 - the name of the command's option
    base: str = ...,
    case: bool = ...,
) -> dict[str, Any]:
    """Checks a scenario as far as possible without running it.

    Args:
        scenario: as for `run`.
        set: as for `run`.
        base: as for `run`.
        case: it is one of the combinations of its sweep, whose other values are not checked.

    Returns:
        `flows` and `background` (lists of a name and a flag for each flow), `metrics` (the numeric columns of
        the table `flows`), `is_random` (true if runs with different seeds may differ), `fixed_recordings`
        (keys of the recordings that every run meets from their beginning).

    Raises:
        ValueError: the scenario is invalid; the message names the key, the value and what was expected.
    """

class Session:
    """A simulation that advances in steps, whose rates and repair are set between them.

    See `whimbrel.drive` and `whimbrel.Environment`.

    Used by the thread that created it only.
    """

    def __init__(
        self,
        scenario: str,
        seed: int,
        set: list[str] = ...,  # noqa: A002 - the name of the command's option
        packets: bool = ...,
        base: str = ...,
    ) -> None:
        """Builds the network. Arguments and errors are those of `run`."""

    @property
    def duration_s(self) -> float:
        """Duration of the run."""

    @property
    def now_s(self) -> float:
        """The simulated time."""

    def record_replay(self, frames: int) -> None:
        """Records the run from now on for `replay_page`, with at most `frames` frames on a medium.

        Raises:
            RuntimeError: the results have been taken.
        """

    def replay_page(self) -> str | None:
        """The page that replays the run so far, as `run --watch` writes it; None if it was not recorded.

        Raises:
            RuntimeError: the results have been taken.
        """

    def flows(self) -> list[tuple[str, int]]:
        """Names and numbers of the flows whose rates can be set."""

    def repaired(self) -> list[tuple[str, int]]:
        """Names and numbers of the flows whose repair can be set."""

    def set_repair(self, flow: int, parity: float, repeats: bool) -> None:
        """Sets the repair of a flow: coded packets as a share of each frame's, and whether it repeats.

        Raises:
            ValueError: no such flow, or a share outside 0 to 1.
        """

    def repair(self, flow: int) -> dict[str, Any]:
        """The knowledge of the sender of a repaired flow: the fields of `whimbrel.RepairFeedback`.

        Counters are since the start.

        Raises:
            ValueError: no such flow.
        """

    def set_rate(self, flow: int, rate: float) -> float:
        """Sets the rate of a flow in bit/s, headers included; returns the rate within the flow's limits.

        Raises:
            ValueError: no such flow, or no rate.
        """

    def advance(self, until_s: float) -> bool:
        """Advances to a time; true if the run has ended.

        Raises:
            RuntimeError: the results have been taken.
        """

    def reports(self, flow: int) -> dict[str, Any]:
        """The packets of a flow reported since the last call.

        Returns:
            Columns of one length: `sequence` (uint64), `sent_s` and `received_s` (float64; NaN if reported
            missing), `size` (uint64, bytes with headers), `is_marked` (bool); and `rtt_s`, the latest
            round-trip time, NaN before the first.

        Raises:
            ValueError: no such flow.
        """

    def finish(self) -> dict[str, dict[str, Any]]:
        """Runs to the end and returns the tables as `run` does. The session cannot be used any more."""

def parquet(name: str, columns: dict[str, Any]) -> bytes:
    """The bytes of a Parquet file, of columns of equal length.

    Args:
        name: of the table.
        columns: contiguous arrays of float64 or uint64, or lists of str, by name.

    Raises:
        ValueError: columns of several lengths, or this build is without Parquet.
    """

def classify_losses(
    scheme: str, sequence: NDArray[np.uint64], sent: NDArray[np.int64], received: NDArray[np.int64]
) -> dict[str, Any]:
    """Classifies the losses in a list of arrivals; see `whimbrel.classify_losses`.

    Args:
        scheme: the algorithm's name.
        sequence: of each packet, in order of arrival.
        sent: nanoseconds on the sender's clock, of the same length, or empty.
        received: nanoseconds on the receiver's clock.

    Returns:
        Columns with an entry per run of lost packets: `first`, `count` (uint64), `wireless` (bool), `base`
        (list of str).

    Raises:
        ValueError: unknown scheme.
    """

def handover_model(
    old: tuple[float, float], new: tuple[float, float], segment_size: int, disconnection: float | None
) -> dict[str, float]:
    """The cost of a handover for a TFRC sender; see `whimbrel.handover_model`.

    Args:
        old: rate in bytes per second and round-trip time in seconds of the network that is left.
        new: of the one that is entered.
        segment_size: of a packet, in bytes.
        disconnection: its length in seconds; None for 2.5 s + R of the new network.

    Returns:
        The fields of `whimbrel.HandoverPrediction` by name.

    Raises:
        ValueError: the equations do not hold for the networks.
    """

def handover_networks() -> dict[str, tuple[float, float]]:
    """The networks of the paper `freeze`, Table 3, by name: rate in bytes per second, RTT in seconds."""

class SocketError(Exception):
    """The end of a connection: kind (`closed`, `connection`, `security`, `not_listening`) and message."""

class SocketRuntime:
    """The thread that drives sockets. It ends when this is dropped and all connections are closed."""

    def __init__(self) -> None:
        """Starts the thread."""

class Protection:
    """The protection of connections; see `whimbrel.aio.Protection`."""

    @staticmethod
    def plaintext() -> Protection:
        """None."""

    @staticmethod
    def secret(secret: bytes) -> Protection:
        """Keys derived from a secret."""

    @staticmethod
    def keys(
        key: str,
        certificate: str | None,
        fingerprints: list[str],
        authorities: str | None,
        name: str | None,
    ) -> Protection:
        """A private key and certificates as PEM texts, and trust."""

def generate_key() -> tuple[str, str]:
    """A new private key as PEM, and its fingerprint."""

def key_fingerprint(key: str) -> str:
    """The fingerprint of a private key in PEM."""

class SocketConfig:
    """The configuration of connections; see `whimbrel.aio.connect`."""

    def __init__(
        self,
        protection: Protection,
        service_code: int,
        ccid: int,
        send_queue: int | None,
        refuse: bool,
        receive_queue: int,
        idle_s: float | None,
        mobile: bool,
        latency_s: float | None,
        paths: list[str],
        scheduler: str | None,
    ) -> None:
        """Checks the options."""

class SocketListener:
    """Accepts connections; see `whimbrel.aio.Listener`."""

    def __init__(self, runtime: SocketRuntime, local: str, port: int, config: SocketConfig) -> None:
        """Listens."""

    def fileno(self) -> int:
        """The descriptor that is readable while there are connections to accept."""

    def local(self) -> tuple[str, int]:
        """The UDP address."""

    def try_accept(self) -> Socket | None:
        """The next connection, if there is one."""

class Socket:
    """A connection, without waiting; see `whimbrel.aio.Socket`. Calls raise `SocketError` at its end."""

    def __init__(self, runtime: SocketRuntime, remote: str, port: int, config: SocketConfig) -> None:
        """Begins to connect."""

    def fileno(self) -> int:
        """The descriptor that is readable while there are datagrams, and at the end of the handshake."""

    def event_fileno(self) -> int:
        """The descriptor that is readable while there are events."""

    def is_open(self) -> bool:
        """True if the handshake was complete."""

    def try_recv(self) -> tuple[bytes, int, float, int, int] | None:
        """The next datagram, if there is one: data, sequence number, time of arrival, ECN codepoint, path."""

    def try_send(
        self, data: bytes, lifetime_s: float | None, place: tuple[int, str, bool, int | None] | None
    ) -> int | None:
        """Queues a datagram, and returns its number; None if the queue is full and refuses.

        Its place in a frame: stream, role, whether it is the last datagram, and datagrams of the frame.
        """

    def try_event(self) -> tuple[str, dict[str, Any]] | None:
        """The next event, if there is one: its kind and its fields."""

    def stats(self) -> dict[str, Any] | None:
        """The fields of `whimbrel.aio.Stats`; None if the connection is over."""

    def repair(self) -> dict[str, Any] | None:
        """The fields of `whimbrel.aio.Repair`; None if the ends have not agreed on repair."""

    def paths(self) -> list[dict[str, Any]]:
        """The fields of `whimbrel.aio.PathStats`, for each path of a connection over several."""

    def local(self) -> tuple[str, int]:
        """This end's UDP address."""

    def remote(self) -> tuple[str, int]:
        """The peer's UDP address."""

    def peer(self) -> str | None:
        """The fingerprint of the peer's key."""

    def freeze(self, scope: str) -> None:
        """Freezes `local`, `remote` or `both`."""

    def unfreeze(self, scope: str) -> None:
        """Ends a freeze."""

    def rebind(self) -> None:
        """Continues from another address."""

    def close(self) -> None:
        """Begins to close the connection."""

    def abort(self) -> None:
        """Ends the connection with a Reset."""

def cli(argv: list[str]) -> int:
    """Runs one of the commands written in Rust and returns its exit status.

    Args:
        argv: everything after the program's name, such as `["run", "scenario.toml"]`.
    """

def quantity(kind: str, text: str) -> float:
    """Reads a quantity as all commands do.

    Args:
        kind: `time`, `rate` or `share`.
        text: a number and its unit, such as `150ms`; a rate without a unit is in bit/s.

    Returns:
        The quantity in seconds, in bit/s or as a part of 1.

    Raises:
        ValueError: the text is not such a quantity; the message states what was expected.
    """

def schema() -> str:
    """The JSON schema of scenarios, as JSON text."""
