"""The commands `whimbrel quality video` and `frames`: opinion scores of videos."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whimbrel._base import quantities
from whimbrel.errors import UsageError
from whimbrel.quality import arguments, frame_schedule, g1070, p1203, sources

# Defaults of G.1070 and P.1203.1.
_SCREEN = "4.2in"
_DISPLAY = (1920, 1080)
_FRAME_RATE = 30.0


def add_video(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the kind `video`."""
    parser = arguments.formatted(
        add,
        "Rates a video: by G.1070 up to VGA, by P.1203.1 (mode 0) with --resolution up to 1080p.",
        "whimbrel quality video --bit-rate 898kbit/s --frame-rate 30 --screen 4.2in\n"
        "  whimbrel quality video --resolution 1280x720 --bit-rate 1.5Mbit/s --frame-rate 30 --shown 27\n"
        "  whimbrel run examples/scenarios/video_wb.toml --quiet --out out/video_wb\n"
        "  whimbrel quality video out/video_wb --flow video --frame-rate 25 --playout 400ms",
        name="video",
        help="a video",
    )
    arguments.add_source(parser)
    parser.add_argument("--screen", help=f"of G.1070: {', '.join(g1070.SCREENS)} (default: {_SCREEN})")
    parser.add_argument(
        "--bit-rate",
        type=quantities.bits_per_second,
        metavar="RATE",
        help="of the video (default: that of the record or the capture)",
    )
    parser.add_argument(
        "--frame-rate",
        type=arguments.at_least(0.0),
        metavar="F",
        help="frames per second (default: 30; with --resolution and --schedule those of the schedule)",
    )
    parser.add_argument(
        "--resolution",
        type=quantities.pixels,
        metavar="WxH",
        help="of the coded pictures: rates them by P.1203.1 instead of G.1070",
    )
    parser.add_argument(
        "--display",
        type=quantities.pixels,
        metavar="WxH",
        help="of the screen or window that the pictures fill, with --resolution (default: 1920x1080)",
    )
    parser.add_argument(
        "--handheld", action="store_true", help="shown on a phone or tablet, with --resolution"
    )
    parser.add_argument(
        "--shown",
        type=arguments.at_least(0.0),
        metavar="F",
        help="frames per second that are shown, with --resolution (default: all; of a record those that "
        "arrived whole and in time)",
    )
    parser.add_argument(
        "--playout",
        type=quantities.seconds,
        metavar="TIME",
        help="of a record: datagrams that arrive later than this after sending count as lost (default: none)",
    )
    parser.set_defaults(run=_video)


def add_frames(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the kind `frames`."""
    parser = arguments.formatted(
        add,
        "Writes the packets of a video of equal frames, for a scenario's "
        '`traffic = { kind = "trace", file = ... }`.',
        "whimbrel quality frames video.csv --bit-rate 1.5Mbit/s --frame-rate 30 --duration 60s",
        name="frames",
        help="packets of a video, for scenarios",
    )
    arguments.add_schedule(parser, "time of the first frame")
    parser.add_argument(
        "--bit-rate",
        type=quantities.bits_per_second,
        default=1.5e6,
        metavar="RATE",
        help="of the video (default: 1.5Mbit/s)",
    )
    parser.add_argument(
        "--frame-rate",
        type=arguments.at_least(0.0),
        default=30.0,
        metavar="F",
        help="frames per second (default: 30)",
    )
    parser.add_argument(
        "--datagram", type=int, default=1200, metavar="BYTES", help="the largest (default: 1200)"
    )
    parser.set_defaults(run=_frames)


def _video(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    if given.resolution is not None:
        return _large_video(given)
    for option in ("display", "handheld", "shown"):
        if getattr(given, option):
            raise UsageError(f"--{option} is for P.1203.1; expected --resolution with it")
    shown_on = g1070.screen(given.screen or _SCREEN)
    bit_rate, loss_rate = _stream(given)
    frame_rate = _FRAME_RATE if given.frame_rate is None else given.frame_rate
    rated = g1070.rate(shown_on, bit_rate, frame_rate, loss_rate)
    report = {
        "screen": shown_on.name,
        "bit_rate_bps": bit_rate,
        "frame_rate": frame_rate,
        "loss_rate": loss_rate,
        "mos": rated.mos,
        "coding": rated.coding,
        "best_coding": rated.best_coding,
        "best_frame_rate": rated.best_frame_rate,
        "loss_robustness": rated.loss_robustness,
    }
    lines = [
        f"{shown_on.title}: MOS {rated.mos:.2f}",
        f"  {bit_rate / 1000:.0f} kbit/s, {frame_rate:g} frames/s (best for this rate: "
        f"{rated.best_frame_rate:.1f}), {100 * loss_rate:.2f} % of packets lost",
        f"  without loss {1 + rated.coding:.2f}; a loss of {rated.loss_robustness:.1f} % leaves 1/e of "
        "what is above 1",
    ]
    return report, lines


def _large_video(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Rates a video by P.1203.1, from numbers or from the shown frames of a record."""
    if given.screen is not None:
        raise UsageError("--screen is for G.1070 and --resolution for P.1203.1; expected one of them")
    if given.loss is not None:
        raise UsageError(
            "P.1203.1 has no term for packet loss; expected --shown, or a record with --schedule"
        )
    picture = p1203.Picture(given.resolution, given.display or _DISPLAY, given.handheld)
    width, height = picture.coded
    title = (
        f"{width}x{height} on {picture.shown[0]}x{picture.shown[1]}{', handheld' if picture.handheld else ''}"
    )
    report: dict[str, Any] = {
        "model": "P.1203.1 mode 0",
        "resolution": list(picture.coded),
        "display": list(picture.shown),
        "handheld": picture.handheld,
    }
    if given.source is None or given.shown is not None:
        bit_rate = _stream(given)[0]
        frame_rate = _FRAME_RATE if given.frame_rate is None else given.frame_rate
        shown = frame_rate if given.shown is None else given.shown
        rated = p1203.rate(picture, bit_rate, frame_rate, shown)
        report |= {
            "bit_rate_bps": bit_rate,
            "frame_rate": frame_rate,
            "shown_frame_rate": shown,
            "mos": rated.mos,
            "terms": {"coding": rated.coding, "scaling": rated.scaling, "frame_rate": rated.frame_rate},
        }
        lines = [
            f"{title}: MOS {rated.mos:.2f} (P.1203.1)",
            f"  {bit_rate / 1000:.0f} kbit/s, {frame_rate:g} frames/s, of which {shown:g} are shown",
            f"  100 - {rated.coding:.1f} (coding) - {rated.scaling:.1f} (scaling) "
            f"- {rated.frame_rate:.1f} (frame rate)",
        ]
        return report, lines
    if given.schedule is None or sources.is_capture(given.source):
        raise UsageError(
            f"{given.source} does not group datagrams into frames; expected a record with --schedule, "
            "or --shown"
        )
    for option in ("frame_rate", "bit_rate"):
        if getattr(given, option) is not None:
            name = option.replace("_", "-")
            raise UsageError(f"--{name} comes from the schedule's frames; expected none beside --schedule")
    sent = arguments.datagrams(given)
    session = p1203.of_frames(picture, sent.sent_s, sent.size_bytes, _in_time(given, sent))
    frames, whole = session.frames
    report |= {
        "bit_rate_bps": session.bit_rate,
        "frame_rate": session.frame_rate,
        "frames": frames,
        "frames_shown": whole,
        "mos": session.mos,
        "seconds": list(session.seconds),
    }
    lines = [
        f"{title}: MOS {session.mos:.2f} (P.1203.1, the mean of {len(session.seconds)} s)",
        f"  {session.bit_rate / 1000:.0f} kbit/s, {session.frame_rate:.1f} frames/s; "
        f"{whole} of {frames} frames arrived whole and in time",
        f"  the worst second {min(session.seconds):.2f}, the best {max(session.seconds):.2f}",
    ]
    return report, lines


def _frames(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    made = frame_schedule.equal_frames(
        given.bit_rate, given.frame_rate, given.duration, begin_s=given.begin, most_bytes=given.datagram
    )
    arguments.write_schedule(given.file, lambda file: frame_schedule.write_csv(file, made))
    frames = len({time for time, _ in made})
    report = {"file": str(given.file), "frames": frames, "packets": len(made)}
    return report, [f"{given.file}: {frames} frames in {len(made)} packets of at most {given.datagram} bytes"]


def _stream(given: argparse.Namespace) -> tuple[float, float]:
    """Bit rate and loss of a video."""
    if given.source is None:
        if given.bit_rate is None:
            raise UsageError("--bit-rate is missing; expected a rate such as 898kbit/s, or a FILE")
        return given.bit_rate, given.loss or 0.0
    if sources.is_capture(given.source):
        seen = sources.capture(given.source, given.connection, given.sender)
        bit_rate, loss_rate = given.bit_rate or seen.bit_rate, seen.loss_rate
        if bit_rate is None:
            raise UsageError(f"{given.source} contains no rate; expected --bit-rate")
    else:
        sent = arguments.datagrams(given)
        bit_rate = given.bit_rate or sent.bit_rate
        loss_rate = 1 - float(np.mean(_in_time(given, sent)))
    return bit_rate, loss_rate if given.loss is None else given.loss


def _in_time(given: argparse.Namespace, sent: sources.Datagrams) -> NDArray[np.bool_]:
    """Marks the datagrams that arrived within the playout delay."""
    late = np.inf if given.playout is None else given.playout
    # The nanosecond tolerates the sum's rounding; NaN compares false.
    return np.less_equal(sent.received_s, sent.sent_s + late + 1e-9)
