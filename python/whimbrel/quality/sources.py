"""Inputs of call ratings: the packets of a recorded run, or a capture."""

from __future__ import annotations

import math
import subprocess
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whimbrel._base import documents
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
    """True if a file has the name of a capture."""
    return path.name.endswith(CAPTURES)


def packets(path: Path) -> Table:
    """The `packets` table of a run.

    Args:
        path: output of `whimbrel run --out DIR` (the directory or its packets.csv) or `--json`, or a
            campaign's `.record`.

    Raises:
        InputError: no such file, or no such table in it.
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
            raise InputError(f"{file} has no packets: the scenario's [record] must request them")
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
        InputError: the table is empty, or the schedule is not one.
        UsageError: no such flow, or several of them.
    """
    names = sorted(set(table["flow"].tolist()))
    if not names:
        raise InputError("the table of packets is empty; expected a line per packet")
    if flow is None and len(names) != 1:
        raise UsageError(f"--flow is missing; expected one of {', '.join(names)}")
    name = names[0] if flow is None else flow
    if name not in names:
        raise UsageError(f"no flow {name!r}; expected one of {', '.join(names)}")
    numbers = _floats(table.where(flow=name), "tag")
    if not ((numbers >= 0) & (numbers < _MOST_DATAGRAMS)).all():
        raise InputError(f"flow {name!r}: expected numbers of datagrams from 0 to {_MOST_DATAGRAMS}")
    if schedule is not None:
        times, sizes = _schedule(schedule)
        # Datagrams after the end of the run were not lost.
        reached = int(table.where(flow=name)["tag"].max()) + 1
        times, sizes = times[:reached], sizes[:reached]
        return Datagrams(times, arrivals(table, name, times.size, start_s), sizes)
    mine = table.where(flow=name)
    return _by_tag(mine["tag"].astype(np.int64), *(_floats(mine, each) for each in _COLUMNS))


_COLUMNS = ("sent_s", "received_s", "size_bytes")
_MOST_DATAGRAMS = 1 << 24
"""Datagrams of a table, and of a flow, where each of those that are missing takes memory, too."""
_MOST_LETTERS = 1 << 28
"""Letters in a column of names: each row has as many as the longest name."""


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
    found = [
        each
        for each in documents.json_value(done.stdout)["connections"]
        if connection in (None, each["number"])
    ]
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
    """The sender's reported round-trip time; else the sum of both parts; else the handshake's."""
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
        raise InputError(f"{path} is empty; expected a line per packet")
    return _floats(table, "time_s"), _floats(table, "size_bytes")


def _from_csv(path: Path, columns: tuple[str, ...] = ("flow", "tag", *_COLUMNS)) -> Table:
    try:
        file = documents.CsvFile(path)
        for name in columns:
            if name not in file.columns:
                raise InputError(f"{path} has no column {name}; expected {', '.join(columns)}")
        return _typed(path, columns, ([row[name] for name in columns] for row in file))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def _from_json(path: Path) -> Table:
    columns = ("flow", "tag", *_COLUMNS)
    try:
        table = documents.read_json(path)["tables"]["packets"]
        rows = zip(*(table[name] for name in columns), strict=True)
        return _typed(path, columns, (["" if each is None else str(each) for each in row] for row in rows))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not the output of `whimbrel run --json` with packets: {error}"
        ) from error


def _typed(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """The rows as a table: numbers, and the names of flows, which are kept once each."""
    numbers = {name: array("d") for name in columns if name != "flow"}
    names: dict[str, int] = {}
    codes = array("q")
    for number, row in enumerate(rows):
        if number == _MOST_DATAGRAMS:
            raise InputError(f"{path} has more than {_MOST_DATAGRAMS} rows")
        for name, cell in zip(columns, row, strict=True):
            if name == "flow":
                codes.append(names.setdefault(cell, len(names)))
                continue
            try:
                numbers[name].append(float(cell) if cell else math.nan)
            except ValueError as error:
                raise InputError(f"{path}, column {name}: {error}; expected numbers") from error
    if len(codes) * max(map(len, names), default=0) > _MOST_LETTERS:
        raise InputError(f"{path}: the names of its flows are too long for {len(codes)} rows")
    found: dict[str, object] = {name: np.frombuffer(values) for name, values in numbers.items()}
    return Table({"flow": (codes, list(names)), **found} if "flow" in columns else found)


def _floats(table: Table, name: str) -> npt.NDArray[np.float64]:
    return np.asarray(table[name], dtype=np.float64)
