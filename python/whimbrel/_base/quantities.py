"""Numbers with units as on the command line: `150ms`, `1%`, `898kbit/s`.

The compiled part reads them, so that all commands and scenarios have one syntax: see docs/command-line.md.
"""

from __future__ import annotations

import argparse
import re

from whimbrel._base import compiled


def seconds(text: str) -> float:
    """A time such as `150ms`, in seconds."""
    return _read("time", text)


def bits_per_second(text: str) -> float:
    """A rate above 0 such as `898kbit/s` or `2M`, in bit/s."""
    value = _read("rate", text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a rate above 0 such as 898kbit/s or 2M")
    return value


def share(text: str) -> float:
    """A share from 0 to 1 such as `1%` or `0.01`."""
    return _read("share", text)


def pixels(text: str) -> tuple[int, int]:
    """Width and height such as `1280x720`."""
    found = re.fullmatch(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not width and height such as 1280x720")
    return int(found[1]), int(found[2])


def _read(kind: str, text: str) -> float:
    try:
        return float(compiled.core().quantity(kind, text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
