"""Numbers with units, as on the command line: `150ms`, `1%`, `898kbit/s`."""

from __future__ import annotations

import argparse
import math
import re

_NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z/%]*)\s*")
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_BITS_PER_SECOND = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6}
_SHARES = {"": 1.0, "%": 0.01}


def seconds(text: str) -> float:
    """A time such as `150ms`, in seconds."""
    return _read(text, _SECONDS, "a time such as 150ms or 1.5s")


def bits_per_second(text: str) -> float:
    """A rate above 0 such as `898kbit/s`, in bit/s."""
    expected = "a rate above 0 such as 898kbit/s or 2Mbit/s"
    value = _read(text, _BITS_PER_SECOND, expected)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
    return value


def share(text: str) -> float:
    """A share from 0 to 1 such as `1%` or `0.01`."""
    expected = "a share from 0 to 1 such as 1% or 0.01"
    value = _read(text, _SHARES, expected)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
    return value


def pixels(text: str) -> tuple[int, int]:
    """Width and height such as `1280x720`."""
    found = re.fullmatch(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not width and height such as 1280x720")
    return int(found[1]), int(found[2])


def _read(text: str, units: dict[str, float], expected: str) -> float:
    found = _NUMBER.fullmatch(text)
    if found is None or found[2] not in units or not math.isfinite(float(found[1])):
        raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
    return float(found[1]) * units[found[2]]
