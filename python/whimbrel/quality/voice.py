"""Packets of a talker in talk spurts, as a schedule that scenarios send.

The spurts follow ITU-T P.59, Table 1: with a hangover of the speech detector people talk for 1.004 s and
pause for 1.587 s on average. (The Recommendation's text was not available; these are its values as quoted by
simulations.) Durations are exponential, as in Brady's measurements; the other party is not modelled.
"""

from __future__ import annotations

import csv
import io
import math
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whimbrel.errors import UsageError
from whimbrel.quality.codecs import Codec


@dataclass(frozen=True, slots=True)
class TalkSpurts:
    """Lengths of talk spurts and pauses.

    Attributes:
        talk_s: mean length of a talk spurt in seconds.
        pause_s: mean length of a pause in seconds; 0 for continuous speech.
    """

    talk_s: float = 1.004
    pause_s: float = 1.587


P59 = TalkSpurts()
"""ITU-T P.59, Table 1."""

CONTINUOUS = TalkSpurts(pause_s=0.0)
"""Without detection of silence: a packet every interval."""


@dataclass(frozen=True)
class VoiceSchedule:
    """The packets of a talker in sending order, as columns of one length.

    Attributes:
        time_s: time at which the application hands the packet over, in seconds.
        size_bytes: RTP header and speech.
    """

    time_s: npt.NDArray[np.float64]
    size_bytes: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.time_s.size)

    def write_csv(self, path: Path) -> None:
        """Writes the file for a scenario's `traffic = { kind = "trace", file = ... }`."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["time_s", "size_bytes"])
        writer.writerows((f"{at:.9f}", size) for at, size in zip(self.time_s, self.size_bytes, strict=True))
        path.write_text(text.getvalue(), encoding="ascii")


def talk(
    codec: Codec, duration_s: float, *, spurts: TalkSpurts = P59, seed: int = 1, begin_s: float = 0.0
) -> VoiceSchedule:
    """The packets of a talker.

    A packet is handed over at the beginning of the speech that it carries; `Codec.delay_s` is the additional
    delay of a real encoder. A talk spurt is as many whole packets as cover it.

    Args:
        codec: of the speech.
        duration_s: packets begin before this time, in seconds.
        spurts: lengths of spurts and pauses.
        begin_s: start of the first talk spurt, in seconds.
        seed: of the random lengths; the same seed produces the same schedule on every machine.

    Raises:
        UsageError: a duration or lengths that are not above 0.
    """
    if not (math.isfinite(duration_s) and duration_s > 0):
        raise UsageError(f"duration_s is {duration_s}; expected seconds above 0")
    if not 0 <= begin_s < duration_s:
        raise UsageError(f"begin_s is {begin_s}; expected seconds from 0 and below {duration_s}")
    if not (spurts.talk_s > 0 and spurts.pause_s >= 0):
        raise UsageError(
            f"spurts of {spurts.talk_s} s and pauses of {spurts.pause_s} s; expected above 0, and from 0"
        )
    # Python guarantees this generator's stream permanently, numpy does not.
    generator = random.Random(seed)  # noqa: S311 - a simulation, no secret
    packet_us, end_us = round(1e6 * codec.packet_s), 1e6 * duration_s
    times: list[int] = []
    now_us = round(1e6 * begin_s)
    while now_us < end_us:
        length_us = end_us if spurts.pause_s == 0 else _microseconds(generator, spurts.talk_s)
        count = max(1, math.ceil(length_us / packet_us))
        stop = min(now_us + count * packet_us, math.ceil(end_us))
        times += range(now_us, stop, packet_us)
        now_us += count * packet_us
        if spurts.pause_s > 0:
            now_us += _microseconds(generator, spurts.pause_s)
    sizes = np.full(len(times), codec.datagram_bytes, dtype=np.int64)
    return VoiceSchedule(np.array(times, dtype=np.float64) / 1e6, sizes)


def _microseconds(generator: random.Random, mean_s: float) -> int:
    """An exponential length in whole microseconds: a logarithm's last bits differ between machines."""
    return round(-1e6 * mean_s * math.log(1 - generator.random()))
