"""Recorded networks, second by second: their statistics, and series made of these.

The recordings are not part of Whimbrel; `recorded.csv` holds a few numbers of each network. Whoever has the
files makes it again with

    python -m whimbrel.papers.freeze.recorded_networks DIRECTORY > recorded.csv

`DIRECTORY` has the folders `5g-ireland` (Raca and others, "Beyond Throughput, The Next Generation: a 5G
Dataset with Channel and Context Metrics", MMSys 2020; downloads while driving) and `wifi-cellular-pairs`
(Aydini, MP-Traces: Wi-Fi and cellular goodput of one phone, walking in and out of buildings).

A made series has the recorded distribution of the rate and its persistence: x_t = a x_{t-1} + sqrt(1 - a^2)
e_t with normal e, through the recorded quantiles; a is the correlation of neighbouring seconds of the
recording, both as normal scores.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt
from scipy import stats

from whimbrel.errors import PaperError

FloatArray = npt.NDArray[np.float64]

SHARES = tuple(round(0.05 * step, 2) for step in range(21))
"""Of the quantiles that are kept."""

DEAD_BPS = 50_000.0
"""A second with less is one without a path."""

DRIVES = "5g-ireland"
PAIRS = "wifi-cellular-pairs"


@dataclass(frozen=True)
class Network:
    """What is kept of a recorded network.

    Attributes:
        name: `lte`, `5g`, `wifi` or `cellular`.
        source: folder of the recordings.
        seconds: how many were recorded.
        persistence: correlation of the rates of neighbouring seconds.
        outage_s: median and longest nine tenths of the runs of seconds without a path; NaN without any.
        cell_s: seconds from one change of the cell to the next, in the mean; NaN where that was not recorded.
        rate_bps: quantiles at `SHARES`.
    """

    name: str
    source: str
    seconds: int
    persistence: float
    outage_s: tuple[float, float]
    cell_s: float
    rate_bps: tuple[float, ...]

    def series(self, seconds: int, seed: int) -> FloatArray:
        """A made series of rates in bit/s, one per second; the same for the same seed."""
        noise = np.random.default_rng(seed).standard_normal(seconds)
        level = np.empty(seconds)
        level[0] = noise[0]
        for at in range(1, seconds):
            level[at] = self.persistence * level[at - 1] + np.sqrt(1 - self.persistence**2) * noise[at]
        return np.asarray(np.interp(stats.norm.cdf(level), SHARES, self.rate_bps), dtype=np.float64)


def runs_below(rate: FloatArray, limit: float) -> list[int]:
    """Lengths of the runs of seconds with less than a rate."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], rate < limit, [0]]).astype(int)))
    return [int(end - start) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def persistence(series: Iterable[FloatArray]) -> float:
    """Correlation of neighbouring seconds, as normal scores; the ends of several series are no neighbours."""
    series = [each for each in series if each.size > 1]
    ranks = stats.rankdata(np.concatenate(series))
    scores = stats.norm.ppf(ranks / (ranks.size + 1))
    parts = np.split(scores, np.cumsum([each.size for each in series])[:-1])
    first = np.concatenate([part[:-1] for part in parts])
    return float(np.corrcoef(first, np.concatenate([part[1:] for part in parts]))[0, 1])


def summarise(name: str, source: str, series: Sequence[FloatArray], changes: int = 0) -> Network:
    """What is kept of a network's recordings."""
    every = np.concatenate(series)
    outages = [length for each in series for length in runs_below(each, DEAD_BPS)]
    long = (float(np.median(outages)), float(np.quantile(outages, 0.9))) if outages else (np.nan, np.nan)
    return Network(
        name,
        source,
        every.size,
        persistence(series),
        long,
        every.size / changes if changes else float("nan"),
        tuple(float(rate) for rate in np.quantile(every, SHARES)),
    )


@dataclass(frozen=True)
class Drive:
    """A recorded download while driving, one entry per second.

    Attributes:
        rate_bps: of the download.
        mode: `LTE`, `5G` and others.
        moves: whether the cell of that second is another than that of the second before.
    """

    rate_bps: FloatArray
    mode: npt.NDArray[np.str_]
    moves: npt.NDArray[np.bool_]


def read_drive(path: Path) -> Drive:
    """A G-NetTrack log.

    Raises:
        ValueError: a line is none of such a log.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get("State") == "D"]
    try:
        rate = np.array([1e3 * float(row["DL_bitrate"]) for row in rows])
        cells = [row["CellID"] for row in rows]
        mode = np.array([row["NetworkMode"] for row in rows])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error!r}; expected a G-NetTrack log") from error
    moves = [False, *(a != b for a, b in itertools.pairwise(cells))]
    return Drive(rate, mode, np.array(moves[: len(rows)], dtype=np.bool_))


def read_pair(directory: Path, name: str) -> tuple[FloatArray, FloatArray]:
    """Wi-Fi and cellular rates of one walk in bit/s, second by second, of the same length.

    Raises:
        ValueError: a line is no second and bytes.
    """
    wifi, cellular = (_read_rates(directory / f"{name}_{kind}.csv") for kind in ("wifi", "cellular"))
    length = min(wifi.size, cellular.size)
    return wifi[:length], cellular[:length]


def _read_rates(path: Path) -> FloatArray:
    with path.open(encoding="utf-8", newline="") as file:
        try:
            return np.array([8 * float(row[1]) for row in csv.reader(file) if row])
        except (IndexError, ValueError) as error:
            raise ValueError(f"{path}: {error!r}; expected lines of a second and bytes") from error


def drives(directory: Path) -> list[Path]:
    """The logs of downloads while driving."""
    return sorted((directory / DRIVES).glob("Download_Driving_*.csv"))


def pairs(directory: Path) -> list[str]:
    """Names of the pairs."""
    return sorted(path.name.removesuffix("_wifi.csv") for path in (directory / PAIRS).glob("*_wifi.csv"))


def of_directory(directory: Path) -> list[Network]:
    """The networks of a directory of recordings.

    Raises:
        ValueError: something there is not as it should be, or nothing is there.
    """
    logs = [read_drive(path) for path in drives(directory)]
    walks = [read_pair(directory / PAIRS, name) for name in pairs(directory)]
    if not logs or not walks:
        raise ValueError(f"{directory}: expected the folders {DRIVES} and {PAIRS} with recordings")
    found = []
    for name, mode in (("lte", "LTE"), ("5g", "5G")):
        stretches = [part for log in logs for part in stretches_of(log, mode)]
        changes = sum(int(log.moves[log.mode == mode].sum()) for log in logs)
        found.append(summarise(name, DRIVES, stretches, changes))
    for at, name in enumerate(("wifi", "cellular")):
        found.append(summarise(name, PAIRS, [walk[at] for walk in walks]))
    return found


def stretches_of(log: Drive, mode: str) -> list[FloatArray]:
    """The rates of the uninterrupted times in which a drive used that kind of network."""
    is_in = np.concatenate([[False], log.mode == mode, [False]]).astype(int)
    edges = np.flatnonzero(np.diff(is_in))
    return [log.rate_bps[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]


_PLAIN = ("network", "source", "seconds", "persistence", "outage_median_s", "outage_p90_s", "cell_s")


def write(networks: Iterable[Network], file: TextIO) -> None:
    """Writes `recorded.csv`; rates in kbit/s."""
    out = csv.writer(file, lineterminator="\n")
    out.writerow([*_PLAIN, *(f"kbps_{round(100 * share)}" for share in SHARES)])
    for network in networks:
        numbers = (network.persistence, *network.outage_s, network.cell_s)
        out.writerow(
            [network.name, network.source, network.seconds]
            + [f"{number:.3f}" for number in numbers]
            + [f"{rate / 1e3:.0f}" for rate in network.rate_bps]
        )


def read() -> dict[str, Network]:
    """The networks of `recorded.csv` by name.

    Raises:
        PaperError: the file is not as `write` makes it.
    """
    path = Path(__file__).with_name("recorded.csv")
    try:
        with path.open(encoding="ascii", newline="") as file:
            return {row["network"]: _network(row) for row in csv.DictReader(file)}
    except (OSError, KeyError, ValueError) as error:
        raise PaperError(f"{path}: {error!r}") from error


def _network(row: dict[str, str]) -> Network:
    return Network(
        row["network"],
        row["source"],
        int(row["seconds"]),
        float(row["persistence"]),
        (float(row["outage_median_s"]), float(row["outage_p90_s"])),
        float(row["cell_s"]),
        tuple(1e3 * float(row[f"kbps_{round(100 * share)}"]) for share in SHARES),
    )


def main(arguments: Sequence[str]) -> int:
    """Prints what is kept of a directory."""
    if len(arguments) != 1:
        print(
            "usage: python -m whimbrel.papers.freeze.recorded_networks DIRECTORY > recorded.csv",
            file=sys.stderr,
        )
        return 2
    try:
        networks = of_directory(Path(arguments[0]))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    write(networks, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
