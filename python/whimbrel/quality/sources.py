"""Inputs of call ratings: the packets of a recorded run, or a capture."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whimbrel._base import texts
from whimbrel._simulate import records
from whimbrel._simulate.result import arrivals
from whimbrel._values.table import Table
from whimbrel.errors import InputError, MediaError, UsageError

CAPTURES = tuple(f"{kind}{packed}" for kind in (".pcap", ".pcapng", ".cap") for packed in ("", ".gz"))


@dataclass(frozen=True)
class Datagrams:
    """A flow's datagrams in the order of sending, as columns of one length.

    Attributes:
        sent_s: time at which the application handed it over, if there is a schedule; otherwise its departure.
        received_s: arrival time; NaN for a lost one.
        size_bytes: of the datagram; 0 if unknown, as for one that was never sent.
    """

    sent_s: npt.NDArray[np.float64]
    received_s: npt.NDArray[np.float64]
    size_bytes: npt.NDArray[np.float64]

    @property
    def bit_rate(self) -> float:
        """Bit/s sent by the application: all but the last datagram, over the time between first and last.

        Raises:
            UsageError: fewer than two datagrams, or all at once.
        """
        length = float(self.sent_s[-1] - self.sent_s[0])
        if length <= 0:
            raise UsageError("the flow's datagrams were sent at one instant, so there is no rate")
        return 8 * float(self.size_bytes[:-1].sum()) / length


@dataclass(frozen=True)
class CaptureSummary:
    """One direction of a connection as reported by `whimbrel inspect`.

    Attributes:
        loss_rate: share of the packets with data that were lost.
        rtt_s: mean round-trip time; None if unknown.
        bit_rate: bit/s of application data; None for a single datagram.
    """

    loss_rate: float
    rtt_s: float | None
    bit_rate: float | None


def is_capture(path: Path) -> bool:
    """True if a file's name is that of a capture."""
    return path.name.endswith(CAPTURES)


def packets(path: Path) -> Table:
    """The `packets` table of a run.

    Args:
        path: output of `whimbrel run --out DIR` (the directory or its packets.csv) or `--json`, or a
            campaign's `.record`.

    Raises:
        InputError: no such file.
        UsageError: no such table in it.
        RecordError: a damaged record.
    """
    file = path / "packets.csv" if path.is_dir() else path
    if not file.is_file():
        hint = " (the scenario's [record] must request packets)" if path.is_dir() else ""
        raise InputError(f"{file} is not a file{hint}")
    if file.suffix == ".record":
        found = records.Records(file.parent).load(file.stem)
        tables = {} if found is None else found.tables
        if "packets" not in tables:
            raise UsageError(f"{file} has no packets: the scenario's [record] must request them")
        return tables["packets"]
    return _from_json(file) if file.suffix == ".json" else _from_csv(file)


def datagrams(
    table: Table, flow: str | None = None, *, schedule: Path | None = None, start_s: float = 0.0
) -> Datagrams:
    """A flow's datagrams.

    Args:
        table: the `packets` of a run.
        flow: name of the flow; None for the only one.
        schedule: the CSV file that the flow sent, with the columns `time_s` and `size_bytes`; then delays
            count from the application, and datagrams that were never sent have a time.
        start_s: start time of the flow, with a schedule.

    Raises:
        UsageError: no such flow, several of them, or an invalid schedule.
    """
    names = sorted(set(table["flow"].tolist()))
    if flow is None and len(names) != 1:
        raise UsageError(f"--flow is missing; expected one of {', '.join(names)}")
    name = names[0] if flow is None else flow
    if name not in names:
        raise UsageError(f"no flow {name!r}; expected one of {', '.join(names)}")
    if schedule is not None:
        times, sizes = _schedule(schedule)
        # Datagrams after the end of the run were not lost.
        reached = int(table.where(flow=name)["tag"].max()) + 1
        times, sizes = times[:reached], sizes[:reached]
        return Datagrams(times, arrivals(table, name, times.size, start_s), sizes)
    mine = table.where(flow=name)
    return _by_tag(mine["tag"].astype(np.int64), *(_floats(mine, each) for each in _COLUMNS))


_COLUMNS = ("sent_s", "received_s", "size_bytes")


def capture(path: Path, connection: int | None = None, sender: str | None = None) -> CaptureSummary:
    """The results of `whimbrel inspect` for one direction of a DCCP connection in a capture.

    Lost packets are those that the receiver reports, otherwise the numbers missing at the capture point: a
    capture must be taken at the receiver, or contain Ack Vectors.

    Args:
        path: a pcap or pcapng file, plain or compressed with gzip.
        connection: its number; None for the first.
        sender: `client` or `server`; None for the one that sent more.

    Raises:
        MediaError: the file cannot be read, or holds no such connection with data.
    """
    command = [sys.executable, "-m", "whimbrel", "inspect", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MediaError(done.stderr.strip().removeprefix("whimbrel: ") or f"{path} cannot be read")
    found = [each for each in json.loads(done.stdout)["connections"] if connection in (None, each["number"])]
    both = found[0]["halves"] if found else []
    halves = [each for each in both if sender in (None, each["sender"]) and each["seen"]["datagrams"] > 0]
    if not halves:
        raise MediaError(f"{path} has no such DCCP connection with data")
    half = max(halves, key=lambda each: int(each["seen"]["bytes"]))
    reported, seen = half["reported"], half["seen"]
    lost = seen["holes"] if reported["lost"] is None else reported["lost"]
    passed = seen["packets"] + seen["holes"]
    return CaptureSummary(
        loss_rate=min(1.0, max(0, lost) / passed),
        rtt_s=_round_trip_s(found[0], half),
        bit_rate=seen["send_rate_bps"],
    )


def _round_trip_s(connection: dict[str, Any], half: dict[str, Any]) -> float | None:
    """The sender's reported round-trip time; else the sum of both parts; else that of the handshake."""
    if half["reported"]["sender_rtt"]:
        return float(half["reported"]["sender_rtt"]["mean_s"])
    parts = [each["reported"]["rtt"] for each in connection["halves"]]
    if all(parts):
        return float(sum(part["mean_s"] for part in parts))
    found = connection["handshake"]["rtt_s"]
    return None if found is None else float(found)


def _by_tag(
    tag: npt.NDArray[np.int64],
    sent_s: npt.NDArray[np.float64],
    received_s: npt.NDArray[np.float64],
    size_bytes: npt.NDArray[np.float64],
) -> Datagrams:
    """One row per datagram; of duplicates the first counts."""
    count = int(tag.max()) + 1
    columns = []
    for values in (sent_s, received_s, size_bytes):
        first = np.full(count, np.nan)
        np.fmin.at(first, tag, values)
        columns.append(first)
    sent, received, size = columns
    there = np.flatnonzero(~np.isnan(sent))
    if there.size == 0:
        raise UsageError("the flow sent nothing")
    # A dropped datagram was never sent: it would have left between its neighbours.
    sent = np.maximum.accumulate(np.interp(np.arange(count), there, sent[there]))
    return Datagrams(sent, received, np.nan_to_num(size))


def _schedule(path: Path) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    table = _from_csv(path, ("time_s", "size_bytes"))
    if table.rows == 0:
        raise UsageError(f"{path} is empty; expected a line per packet")
    return _floats(table, "time_s"), _floats(table, "size_bytes")


def _from_csv(path: Path, columns: tuple[str, ...] = ("flow", "tag", *_COLUMNS)) -> Table:
    try:
        rows = list(csv.DictReader(io.StringIO(texts.read(path))))
        header = rows[0].keys() if rows else columns
    except (OSError, ValueError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    for name in columns:
        if name not in header:
            raise UsageError(f"{path} has no column {name}; expected {', '.join(columns)}")
    found = {name: [row[name] or "" for row in rows] for name in columns}
    return _typed(path, found)


def _from_json(path: Path) -> Table:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))["tables"]["packets"]
        found = {
            name: ["" if each is None else str(each) for each in table[name]] for name in ("tag", *_COLUMNS)
        }
        flow = table["flow"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} is not the output of `whimbrel run --json` with packets: {error}"
        ) from error
    return _typed(path, {"flow": [str(each) for each in flow], **found})


def _typed(path: Path, words: dict[str, list[str]]) -> Table:
    columns: dict[str, object] = {}
    for name, values in words.items():
        if name == "flow":
            columns[name] = np.array(values, dtype=np.str_)
            continue
        try:
            columns[name] = np.array(
                [float(value) if value else np.nan for value in values], dtype=np.float64
            )
        except ValueError as error:
            raise UsageError(f"{path}, column {name}: {error}; expected numbers") from error
    return Table(columns)


def _floats(table: Table, name: str) -> npt.NDArray[np.float64]:
    return np.asarray(table[name], dtype=np.float64)
