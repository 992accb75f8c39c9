"""Checks that a short run has to pass on any machine."""

from __future__ import annotations

from live.report import Cells, mean

CLEAN, LOSSES = "clean", "loss8"
WHOLE = 95.0
"""Percent of the frames, without losses."""
REPAIRING = ("rist",)
"""These repeat what is lost within 400 ms. SRT does as well, but a slow handshake delays all its frames."""
FRAGILE = ("srt", "srt-fec")
"""Programs that a busy machine can keep from delivering anything in time."""


def failures(cells: Cells) -> list[str]:
    """The requirements that are not met."""
    found = []
    for (path, rival, budget), runs in cells.items():
        for run in runs:
            if run["foreign"]:
                found.append(f"{rival}, {path}: {run['foreign']:.0f} datagrams are none of those sent")
            if path == CLEAN and rival not in FRAGILE and run["complete"] < WHOLE:
                found.append(f"{rival}, {path}: {run['complete']:.1f} % of the frames, expected {WHOLE:g} %")
        plain = mean(cells, (path, "udp", budget), "complete")
        repaired = mean(cells, (path, rival, budget), "complete")
        if path == LOSSES and rival in REPAIRING and plain and repaired and repaired.mean <= plain.mean:
            found.append(
                f"{rival}, {path}: {repaired.mean:.1f} % of the frames, and {plain.mean:.1f} % by UDP"
            )
        if path == LOSSES and rival == "udp" and not 4.0 < runs[0]["lost"] < 14.0:
            found.append(f"{rival}, {path}: {runs[0]['lost']:.1f} % of the packets lost, expected 8 %")
    return found
