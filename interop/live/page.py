"""The page docs/live.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from live import measure, report, stream
from live.end import SETTLE_S
from live.runs import LATE_S

TEXT = Path(__file__).resolve().with_name("page.txt")


def page(cells: report.Cells, frames: int) -> str:
    """The page of these results."""
    _, _, budgets = report.shown(cells)
    downloads, pictures = report.downloads(cells), report.pictures(cells)
    lateness = max(run["lateness"] for runs in cells.values() for run in runs)
    return TEXT.read_text(encoding="utf-8").format(
        decodable=_joined(report.by_path(cells, budget, "decodable") for budget in budgets),
        costs="\n".join(report.costs(cells)),
        downloads=_section("Goodput of the downloads, Mbit/s", downloads),
        pictures=_section("Picture quality, frozen while nothing comes", pictures),
        seconds=frames / stream.FRAMES_PER_S,
        fps=stream.FRAMES_PER_S,
        every=stream.KEY_EVERY,
        rate=stream.RATE_BPS / 1e6,
        buffer=1e3 * stream.BUFFER_S,
        packet=stream.PACKET_BYTES,
        left_out=measure.LEFT_OUT_S,
        settle=SETTLE_S,
        rungs=len(stream.LADDER_BPS),
        ladder_every=stream.LADDER_KEY_EVERY,
        starts=stream.KEY_EVERY // stream.RESTART_EVERY,
        restart_every=stream.RESTART_EVERY,
        tolerance=1e3 * measure.TOLERANCE_S,
        late=1e3 * LATE_S,
        mark=report.LATE,
        lateness=lateness,
    )


def _joined(tables: Iterable[list[str]]) -> str:
    return "\n\n".join("\n".join(table) for table in tables)


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join(["", f"## {title}", "", *lines, ""]) if lines else ""
