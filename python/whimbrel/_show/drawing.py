"""Parallel drawing of charts in processes, because the drawing library holds the interpreter lock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from whimbrel import figures
from whimbrel._base import documents
from whimbrel.errors import WhimbrelError
from whimbrel.figures import Chart

FEW = 6
"""Up to this number of charts, drawing here is faster than starting another process."""


@dataclass(frozen=True)
class Drawing:
    """A chart to draw.

    Attributes:
        chart: to draw.
        directory: for the files.
        name: of its files, without suffix.
    """

    chart: Chart
    directory: str
    name: str


def draw(drawings: Sequence[Drawing], formats: Collection[str] = figures.DEFAULT_FORMATS) -> None:
    """Writes the charts' files, as `figures.write_chart` does for each.

    Args:
        drawings: the charts.
        formats: the wanted members of `figures.FORMATS`.

    Raises:
        WhimbrelError: a chart is refused.
    """
    helpers = 0 if len(drawings) <= FEW else min(os.cpu_count() or 1, len(drawings)) - 1
    # Every share has charts of all items: some items have larger charts than others.
    shares = [drawings[first :: helpers + 1] for first in range(helpers + 1)]
    with ExitStack() as stack:
        started = [stack.enter_context(_started(share, formats)) for share in shares[1:]]
        _draw_here(shares[0], formats)
        for process in started:
            _, complaint = process.communicate()
            if process.returncode != 0:
                raise WhimbrelError(complaint.strip())


def _draw_here(drawings: Sequence[Drawing], formats: Collection[str]) -> None:
    for drawing in drawings:
        figures.write_chart(drawing.chart, Path(drawing.directory), drawing.name, formats)


@contextmanager
def _started(drawings: Sequence[Drawing], formats: Collection[str]) -> Iterator[subprocess.Popen[str]]:
    """A drawing process that ends with the context at the latest."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as task:
        charts = [asdict(drawing) for drawing in drawings]
        json.dump({"formats": sorted(formats), "drawings": charts}, task)
        task.seek(0)
        command = [sys.executable, "-m", "whimbrel._show.drawing"]
        with subprocess.Popen(command, stdin=task, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()


def main() -> int:
    """Draws the charts listed on standard input; reports failures on standard error."""
    try:
        task = documents.json_value(sys.stdin.read())
        _draw_here([Drawing(**each) for each in task["drawings"]], task["formats"])
    except WhimbrelError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
