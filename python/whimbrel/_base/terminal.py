"""Tables on the terminal."""

from __future__ import annotations

import os

from rich.console import Console
from rich.table import Table

_WIDEST = 10_000


def print_table(table: Table) -> None:
    """Prints a table: as wide as its content, or as the terminal if that is narrower.

    In a narrow terminal, cells are broken, so that nothing is lost. Output to a file or program is not broken
    unless the environment variable `COLUMNS` sets a width.
    """
    console = Console(highlight=False)
    for column in table.columns:
        column.overflow = "fold"
    widest = console.measure(table, options=console.options.update(width=_WIDEST)).maximum
    limited = console.is_terminal or "COLUMNS" in os.environ
    width = min(console.width, widest) if limited else widest
    Console(highlight=False, width=width).print(table, crop=False)
