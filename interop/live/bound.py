"""The frames that a sender that knows the path in advance can bring across it in time.

Usage: PYTHONPATH=interop python -m live.bound [--out out/live]

The paths are the recorded one, and an equal share of the rate with three downloads, whose queue of 100 ms
leaves 300 of 400 ms, and 20 of 120.

The link serves whole frames in their order, each from its capture on. A frame that would be late is not sent,
and, as nothing can decode it without the missing one, neither is the rest of its group. No packet is lost,
no headers but UDP's are counted, and no time is needed to learn the rate: no program can do all of that.
"""

from __future__ import annotations

import argparse
import gzip
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path as File

from live import stream
from live.end import SETTLE_S
from live.measure import LEFT_OUT_S, TOLERANCE_S

ROOT = File(__file__).resolve().parent.parent.parent
TRACE = ROOT / "examples" / "traces" / "drive.mahimahi.gz"
SHARE_BPS, SHARES_S = 1_000_000, (0.02 + TOLERANCE_S, 0.3)
SLOT_BYTES = 1500
"""Bytes that the link sends at each time of the trace."""
HEADERS_BYTES = 28


def decodable(slots: Sequence[float], video: stream.Encoding, begin_s: float, limit_s: float) -> float:
    """The share of frames, in percent, that leave the link within the limit and can be decoded."""
    at, left = 0, SLOT_BYTES
    is_broken, found = False, 0
    skipped = round(LEFT_OUT_S * stream.FRAMES_PER_S)
    for number, (packets, is_key) in enumerate(zip(video.frames, video.is_key, strict=True)):
        captured = begin_s + number / stream.FRAMES_PER_S
        is_broken &= not is_key
        if is_broken:
            continue
        slot = bisect_left(slots, captured)
        slot, room = (slot, SLOT_BYTES) if slot > at else (at, left)
        rest = sum(len(packet) + HEADERS_BYTES for packet in packets)
        while slot < len(slots) and rest > room:
            rest, slot, room = rest - room, slot + 1, SLOT_BYTES
        if slot < len(slots) and slots[slot] <= captured + limit_s:
            at, left = slot, room - rest
            found += number >= skipped
        else:
            is_broken = True
    return 100 * found / (len(video.frames) - skipped)


def main() -> None:
    """Prints the bounds of the budgets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=File, default=ROOT / "out" / "live")
    out = parser.parse_args().out
    video = stream.read(
        stream.make(out / "video", stream.RATE_BPS, 30 * stream.FRAMES_PER_S, stream.KEY_EVERY)
    )
    with gzip.open(TRACE, "rt") as file:
        slots = [int(line) / 1e3 for line in file if line.strip()]
    for budget_s in (0.12, 0.4):
        # The programs start within a second, and the stream some time after them.
        starts = [SETTLE_S + after / 4 for after in range(5)]
        shares = [decodable(slots, video, start, budget_s + TOLERANCE_S) for start in starts]
        print(f"recorded, {1e3 * budget_s:.0f} ms: {min(shares):.0f} to {max(shares):.0f} % can be decoded")
    slot_s = 8 * SLOT_BYTES / SHARE_BPS
    slots = [number * slot_s for number in range(round(31 / slot_s))]
    for left_s in SHARES_S:
        share = decodable(slots, video, 0.0, left_s)
        print(f"equal share, {1e3 * left_s:.0f} ms: {share:.0f} % can be decoded")


if __name__ == "__main__":
    main()
