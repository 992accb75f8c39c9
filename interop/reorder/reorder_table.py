"""Converts lines of single transfers into means with intervals and a table, and checks requirements."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from reorder_cells import BUFFER_50, BUFFER_100, NONE, PAPER, STRICT

from whimbrel.statistics import Interval, student_interval

KEYS = ("medium", "ccid", "impairment", "transport", "player")
Key = tuple[Any, ...]

SLOW_START = 0.02
"""Largest share of a short clip held back if packets of the handshake were delayed, and the sender
overestimates the round-trip time by half. If late is lost, it is nearly a fifth."""

# Column of the table -> (metric, factor, digits). results.csv has the other metrics.
COMMON = {
    "not used, %": ("unused_share", 100, 1),
    "X, kbit/s": ("allowed_kbps", 1, 0),
}
VIDEO = COMMON | {
    "95 % within, ms": ("delivered_p95_ms", 1, 0),
    "PSNR, dB": ("psnr_db", 1, 1),
    "VMAF": ("vmaf", 1, 1),
}
SPEECH = COMMON | {
    "delay, ms": ("delay_ms", 1, 0),
    "MOS, concealed": ("mos_g711-plc", 1, 2),
    "MOS": ("mos_g711", 1, 2),
    "PESQ": ("pesq", 1, 2),
}


def read_runs(path: Path) -> list[dict[str, Any]]:
    """The lines of single transfers, as written by interop/reorder/reorder.py to runs.csv."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: text for name, text in row.items() if text} for row in csv.DictReader(file)]


def intervals(runs: Sequence[dict[str, Any]]) -> dict[Key, dict[str, Interval]]:
    """Mean and 95 % interval of each metric, over the runs of each line; in the order of the lines."""
    samples: dict[Key, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in runs:
        key = tuple(row[name] for name in KEYS)
        for metric, value in row.items():
            if metric not in (*KEYS, "run"):
                samples[key][metric].append(float(value))
    return {
        key: {metric: student_interval(values) for metric, values in metrics.items()}
        for key, metrics in samples.items()
    }


def interval_rows(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same as rows of a file: the line's keys, `metric`, `mean`, `ci_low`, `ci_high` and `n`."""
    return [
        dict(zip(KEYS, key, strict=True))
        | {"metric": metric, "mean": one.mean, "ci_low": one.low, "ci_high": one.high, "n": one.n}
        for key, metrics in intervals(runs).items()
        for metric, one in metrics.items()
    ]


def cell(one: Interval | None, factor: float, digits: int) -> str:
    """A mean and half of its interval."""
    if one is None:
        return ""
    half = f" ± {factor * (one.high - one.mean):.{digits}f}" if one.n > 1 else ""
    return f"{factor * one.mean:.{digits}f}{half}"


def table(runs: Sequence[dict[str, Any]], medium: str) -> list[str]:
    """The lines of one medium as a table in Markdown."""
    found = {key: metrics for key, metrics in intervals(runs).items() if key[0] == medium}
    if not found:
        return []
    known = {metric for metrics in found.values() for metric in metrics}
    wanted = {
        name: what for name, what in (VIDEO if medium == "video" else SPEECH).items() if what[0] in known
    }
    with_ccid = len({key[1] for key in found}) > 1
    head = [*(["CCID"] if with_ccid else []), "reordered", "transport", "player", *wanted]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for key, metrics in found.items():
        cells = [cell(metrics.get(metric), factor, digits) for metric, factor, digits in wanted.values()]
        first = [str(part) for part in (key[1:] if with_ccid else key[2:])]
        lines.append(f"| {' | '.join([*first, *cells])} |")
    return lines


def check(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Descriptions of the failed requirements; empty if all hold.

    On the paper's path no packet is delayed by more than 70 ms, so a buffer of 100 ms must undo the
    reordering: nothing is lost, and nothing is held back except by slow start. If late is lost, reordering
    has an effect, whose size for a clip depends on its length.
    """
    problems: list[str] = []
    with_buffer = [
        row["allowed_kbps"]
        for row in runs
        if (row["medium"], row["impairment"], row["transport"]) == ("video", PAPER.name, BUFFER_100.name)
    ]
    spared = fmean(with_buffer) if with_buffer else math.inf
    for row in runs:
        name = ", ".join(str(row[key]) for key in (*KEYS, "run"))

        def want(holds: bool, words: str, name: str = name) -> None:
            if not holds:
                problems.append(f"{name}: {words}")

        buffered = row["transport"] in (BUFFER_50.name, BUFFER_100.name)
        if buffered or row["impairment"] == NONE.name:
            want(row["out_of_order_share"] == 0, f"{row['out_of_order_share']:.1%} delivered out of order")
        else:
            want(row["out_of_order_share"] > 0, "nothing arrived out of order")
        if row["impairment"] == NONE.name or (row["impairment"], row["transport"]) == (
            PAPER.name,
            BUFFER_100.name,
        ):
            want(row["dccp_lost"] == 0, f"{row['dccp_lost']} packets lost")
            most = 0.0 if row["impairment"] == NONE.name else SLOW_START
            for share, words in (("held_back_share", "held back"), ("unused_share", "not used")):
                want(row[share] <= most, f"{row[share]:.1%} {words}, expected at most {most:.0%}")
        if (row["medium"], row["impairment"], row["transport"]) == ("video", PAPER.name, STRICT.name):
            share = row["allowed_kbps"] / spared
            want(share < 0.6, f"{share:.0%} of the rate with a buffer allowed, expected less than 60 %")
            p = row["loss_event_rate"]
            want(p > 0.003, f"p = {p:.2%}, expected more than 0.3 %")
    return problems
