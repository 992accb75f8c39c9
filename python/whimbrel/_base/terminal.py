"""Coloured text and tables on the terminal.

All of the package's consoles are made here: their own escape sequences pass the guard of the streams, while
escape sequences in the text that they print do not.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from whimbrel._base import texts
from whimbrel.errors import printable

_WIDEST = 10_000


class _Console(Console):
    """A console on which text of others has no effect."""

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - rich's own
        # Before the layout: an escaped character is wider.
        return super().render_str(printable(text), **options)


def console(*, stderr: bool = False, **options: Any) -> Console:  # noqa: ANN401 - rich's own
    """A console on standard output or error."""
    stream = texts.unguarded(sys.stderr if stderr else sys.stdout)
    return _Console(file=stream, highlight=False, **options)


def markup(text: str) -> str:
    """Plain text as rich's markup."""
    return escape(printable(text))


def print_line(line: str) -> None:
    """Prints a line of rich's markup without wrapping it."""
    console(soft_wrap=True).print(line)


def print_table(table: Table) -> None:
    """Prints a table: as wide as its content, or as the terminal if that is narrower.

    In a narrow terminal, cells are broken, so that nothing is lost. Output to a file or program is not broken
    unless the environment variable `COLUMNS` sets a width.
    """
    shown = console()
    for column in table.columns:
        column.overflow = "fold"
    widest = shown.measure(table, options=shown.options.update(width=_WIDEST)).maximum
    limited = shown.is_terminal or "COLUMNS" in os.environ
    width = min(shown.width, widest) if limited else widest
    console(width=width).print(table, crop=False)
