"""Runs of the walk: one stream through one transport, across an emulated network."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whimbrel._base import documents
from whimbrel.errors import WhimbrelError
from whimbrel.quality.video import Stream
from whimbrel.testbed import walk
from whimbrel.testbed.walk import Visit

FloatArray = npt.NDArray[np.float64]

WORTH_S = 0.5
"""A sender drops a datagram that congestion control holds back for longer."""
SETTLING_S = 1.5
"""After the last visit, packets in transit arrive."""
PUNCTUAL_S = 0.5
"""Largest distance of a handover, as the phone's program saw it, from its time."""
TOO_BUSY = "the phone's program started too late: the machine is too busy"
SOURCE_AT, CARRIER_AT = "127.0.0.1:5006", "127.0.0.1:5004"
SERVER_ADDRESS = "10.{level}.0.1"


class TestbedError(WhimbrelError):
    """A run cannot be made, or broke off."""


class LateStart(TestbedError):  # noqa: N818 - a state of the machine
    """The phone's program has missed the mark."""


@dataclass(frozen=True, slots=True)
class Transport:
    """A way to carry the stream.

    Attributes:
        key: of its scheme in figures.
        receive: command of the server's end; `{out}` is the run's directory.
        send: command of the phone's end, which connects and moves; `{server}` is the server's address.
        is_noticed: true if outages are announced to it.
    """

    key: str
    receive: tuple[str, ...]
    send: tuple[str, ...]
    is_noticed: bool = False


def transports(whimbrel: Sequence[str], quic: Path | None) -> tuple[Transport, ...]:
    """All transports; QUIC only with the program `quic_carry`."""
    relay = (*whimbrel, "relay")
    stale = ("--stale", f"{1e3 * WORTH_S:g}ms", "--insecure-plaintext", "--json")
    receive = (*relay, "server", "--to", SOURCE_AT, "--bind", "0.0.0.0:6511", "--one-off", *stale)
    send = (*relay, "client", "{server}", "--from", CARRIER_AT, *stale)
    freezing = (*send, "--freeze-on-link-loss")
    tcp = (sys.executable, "-m", "whimbrel.testbed.tcp")
    found = [
        Transport("tfrc", receive, (*send, "--follow-link")),
        Transport("freeze", (*receive, "--restart", "loss-rate"), freezing, is_noticed=True),
        Transport("freeze-following", receive, freezing, is_noticed=True),
        Transport(
            "tcp-kernel",
            (*tcp, "receive", "0.0.0.0:7001", "--to", SOURCE_AT, "--stale", f"{WORTH_S:g}"),
            (*tcp, "send", "{server}:7001", "--from", CARRIER_AT),
        ),
    ]
    if quic is not None:
        # As many bytes as the stream has in the time after which a datagram is stale.
        options = ("--certificate", "{out}/certificate.der", "--buffer", f"{int(WORTH_S * 1e6 / 8)}")
        found.append(
            Transport(
                "quic-datagram",
                (str(quic), "receive", "0.0.0.0:7002", "--to", SOURCE_AT, *options),
                (str(quic), "send", "{server}:7002", "--from", CARRIER_AT, *options),
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class Run:
    """Measurements of a run.

    Attributes:
        transport: its key.
        stream_at_s: beginning of the stream on the network's clock.
        arrival_s: arrival of every packet after the stream's beginning, in seconds; NaN for a lost one.
        emulation: the report of `whimbrel emulate`.
    """

    transport: str
    stream_at_s: float
    arrival_s: FloatArray
    emulation: dict[str, Any]

    @property
    def lateness_p99_s(self) -> float:
        """99th percentile of the delay with which the emulator handled events."""
        return float(self.emulation["emulation"]["events"]["p99_s"])


def run_again_if_late(*arguments: Any, **named: Any) -> Run:  # noqa: ANN401 - the arguments of `run`
    """As `run`, but a run whose programs started too late is made once more."""
    try:
        return run(*arguments, **named)
    except LateStart:
        return run(*arguments, **named)


def write_stream(stream: Stream, directory: Path) -> Path:
    """Writes the packets for the server's program; the files' name without suffix."""
    name = directory / "stream"
    stream.schedule.write_csv(name.with_suffix(".csv"))
    name.with_suffix(".bin").write_bytes(b"".join(stream.schedule.packets))
    return name


def run(
    transport: Transport,
    visits: tuple[Visit, ...],
    stream: Stream,
    recorded: Path,
    out: Path,
    whimbrel: Sequence[str],
    *,
    seed: int = 1,
    realtime: bool = False,
) -> Run:
    """Walks once.

    Args:
        transport: that carries the stream.
        visits: of the walk.
        stream: that is sent.
        recorded: as from `write_stream`.
        out: the directory of the run, which is made.
        whimbrel: the command `whimbrel`.
        seed: of the emulated network.
        realtime: schedules the emulator before all other programs (`whimbrel emulate --realtime`), and its
            programs before programs of normal priority.

    Raises:
        TestbedError: the emulation failed, or a program in it.
    """
    if len(stream.schedule) >= 1 << 16:
        raise TestbedError("the stream has more packets than RTP has sequence numbers: shorten the visits")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "walk.json").write_text(json.dumps(walk.scenario(visits), indent=1), encoding="utf-8")
    (out / "phone-plan.json").write_text(json.dumps(_phone_plan(transport, visits, out)), encoding="utf-8")
    interfaces = ",".join(network.name for network in walk.NETWORKS)
    command = [*whimbrel, "emulate", str(out / "walk.json"), "--json", "--quiet", "--seed", str(seed)]
    command += ["--realtime"] if realtime else []
    command += ["--interfaces", f"phone={interfaces}", "--at", walk.HOME.name, "--wait", "5s"]
    # The children of a program of the real-time class have normal priority, and do not inherit its own.
    ahead = ["nice", "-n", "-10"] if realtime else []
    command += ["--end", f"{walk.SERVER}={_server(transport, recorded, out, ahead)}"]
    command += ["--for", f"{visits[-1].end_s + 60:g}s", "--"]
    command += [*ahead, sys.executable, "-m", "whimbrel.testbed.phone", str(out / "phone-plan.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    (out / "emulation.json").write_text(done.stdout, encoding="utf-8")
    (out / "emulation.log").write_text(done.stderr, encoding="utf-8")
    if done.returncode or not (out / "phone.json").exists():
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise TestbedError(f"{transport.key}: the emulation failed ({done.returncode}): {last}")
    return read(transport, visits, stream, out)


def _server(transport: Transport, recorded: Path, out: Path, ahead: list[str]) -> str:
    """The commands of the server, for the shell."""
    source = [
        *ahead,
        sys.executable,
        "-m",
        "whimbrel.testbed.source",
        SOURCE_AT,
        str(recorded),
        str(out / "source.json"),
    ]
    receive = [*ahead, *(word.format(out=out) for word in transport.receive)]
    log = shlex.quote(str(out / "server.log"))
    return f"{shlex.join(source)} & exec {shlex.join(receive)} > {log} 2>&1"


def _phone_plan(transport: Transport, visits: tuple[Visit, ...], out: Path) -> dict[str, Any]:
    """The plan that the phone's program reads."""
    # An emulation within an emulation has other addresses.
    level = int(os.environ.get("WHIMBREL_LEVEL", "0"))
    server = SERVER_ADDRESS.format(level=level)
    return {
        "carrier": [word.format(server=server, out=out) for word in transport.send],
        "carrier_at": CARRIER_AT,
        "mark_s": walk.MARK_S,
        "ask_at_s": walk.STREAM_AT_S,
        "end_s": visits[-1].end_s + SETTLING_S,
        "notices": [each.end_s - each.network.full_rtt_s for each in visits[:-1]]
        if transport.is_noticed
        else [],
        "log": str(out / "phone.log"),
        "report": str(out / "phone.json"),
    }


def read(transport: Transport, visits: tuple[Visit, ...], stream: Stream, out: Path) -> Run:
    """Reads a run from the files that it left.

    Raises:
        TestbedError: the run broke off.
        LateStart: the interfaces did not change at the walk's times on the phone's clock.
    """
    phone = documents.read_json(out / "phone.json")
    if phone["epoch_s"] is None:
        raise LateStart(f"{transport.key}: {TOO_BUSY}")
    seen = {(name, up): at - phone["epoch_s"] for at, name, up in reversed(phone["changes"])}
    expected = [(visits[0].network.name, False, visits[0].end_s)]
    expected += [(visits[1].network.name, True, visits[1].start_s)]
    if any(abs(seen.get((name, up), -1.0) - at_s) > PUNCTUAL_S for name, up, at_s in expected):
        # The first change that it has seen was not the mark.
        raise LateStart(f"{transport.key}: {TOO_BUSY}")
    if phone["carrier_ended"] is not None or not phone["arrivals"]:
        raise TestbedError(
            f"{transport.key}: the carrier ended or delivered nothing: see {out / 'phone.log'}"
        )
    start_s = float(documents.read_json(out / "source.json")["start_s"])
    arrival_s = np.full(len(stream.schedule), np.nan)
    for at, number in phone["arrivals"]:
        if number < arrival_s.size and np.isnan(arrival_s[number]):
            arrival_s[number] = at - start_s
    return Run(
        transport.key,
        start_s - float(phone["epoch_s"]),
        arrival_s,
        documents.read_json(out / "emulation.json"),
    )
