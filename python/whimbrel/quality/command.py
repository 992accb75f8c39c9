"""`whimbrel quality`: what people would think of a call or a video."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.errors import UsageError
from whimbrel.quality import (
    frame_schedule,
    fullband,
    g1070,
    opinion,
    p1203,
    playout,
    quantities,
    sources,
    voice,
    voip,
)
from whimbrel.quality.codecs import CODECS, Codec, Scale, codec
from whimbrel.quality.playout import Playout

_SOURCE = (
    "a recorded run (a directory of `whimbrel run --out`, what --json printed, or a .record) or a capture "
    "with DCCP; none: the numbers of the options"
)


# What G.1070 and P.1203.1 are asked for unless options say otherwise.
_SCREEN = "4.2in"
_DISPLAY = (1920, 1080)
_FRAME_RATE = 30.0

_ESTIMATORS = {"adaptive": playout.ExponentialAverage, "spikes": playout.SpikeAverage}


@dataclass(frozen=True)
class _Voice:
    """What is known of a call: mouth to ear in seconds, shares, BurstR."""

    delay_s: float
    loss_rate: float
    late_rate: float = 0.0
    burst_ratio: float = 1.0


def main(arguments: Sequence[str]) -> int:
    """`whimbrel quality voice|video|talk|frames`."""
    parser = _formatted(
        argparse.ArgumentParser,
        "What people would think of a call (ITU-T G.107, G.107.2) or a video (G.1070, P.1203.1), as a mean "
        "opinion score.",
        "whimbrel quality voice --codec g729a --delay 150ms --loss 1%",
        prog="whimbrel quality",
    )
    kinds = parser.add_subparsers(metavar="voice|video|talk|frames", required=True)
    _add_voice(kinds.add_parser)
    _add_video(kinds.add_parser)
    _add_talk(kinds.add_parser)
    _add_frames(kinds.add_parser)
    given = parser.parse_args(arguments)
    told, lines = given.run(given)
    print(json.dumps(told, ensure_ascii=False) if given.json else "\n".join(lines))
    return 0


def _add_voice(add: Callable[..., argparse.ArgumentParser]) -> None:
    parser = _formatted(
        add,
        "The quality of a call by the E-model.",
        "whimbrel quality voice --codec g729a --delay 150ms --loss 1%\n"
        "  whimbrel quality voice out/call --flow call --codec g711-plc --playout adaptive",
        name="voice",
        help="a call",
    )
    _add_source(parser)
    parser.add_argument("--codec", default="g711-plc", help=f"{', '.join(CODECS)} (default: %(default)s)")
    parser.add_argument(
        "--delay",
        type=quantities.seconds,
        metavar="TIME",
        help="from mouth to ear, one way (default: 0; of a record what its arrivals and the buffer make, of "
        "a capture half the round-trip time and the codec's delay)",
    )
    parser.add_argument(
        "--burst-ratio",
        type=_at_least(1.0),
        default=1.0,
        metavar="B",
        help="length of bursts of loss over that of independent loss (default: 1; of a record its own)",
    )
    parser.add_argument(
        "--advantage", type=_at_least(0.0), default=0.0, metavar="A", help="what people forgive (default: 0)"
    )
    parser.add_argument(
        "--playout",
        type=_playout,
        default="adaptive",
        metavar="TIME|adaptive|spikes",
        help="of a record: play this long after sending, or by Ramjee's Algorithm 1 or 4 (default: adaptive)",
    )
    parser.set_defaults(run=_voice)


def _add_video(add: Callable[..., argparse.ArgumentParser]) -> None:
    parser = _formatted(
        add,
        "The quality of a video: by G.1070 up to VGA, by P.1203.1 (mode 0) with --resolution up to 1080p.",
        "whimbrel quality video --bit-rate 898kbit/s --frame-rate 30 --screen 4.2in\n"
        "  whimbrel quality video out/video_wb --flow video --frame-rate 25 --playout 400ms\n"
        "  whimbrel quality video --resolution 1280x720 --bit-rate 1.5Mbit/s --frame-rate 30 --shown 27\n"
        "  whimbrel quality video out --schedule frames.csv --resolution 1280x720 --playout 200ms",
        name="video",
        help="a video",
    )
    _add_source(parser)
    parser.add_argument("--screen", help=f"of G.1070: {', '.join(g1070.SCREENS)} (default: {_SCREEN})")
    parser.add_argument(
        "--bit-rate",
        type=quantities.bits_per_second,
        metavar="RATE",
        help="of the video (default: what the record's or the capture's application sent)",
    )
    parser.add_argument(
        "--frame-rate",
        type=_at_least(0.0),
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
        type=_at_least(0.0),
        metavar="F",
        help="frames per second that are shown, with --resolution (default: all; of a record those that "
        "arrived whole and in time)",
    )
    parser.add_argument(
        "--playout",
        type=quantities.seconds,
        metavar="TIME",
        help="of a record: what comes later than this after sending is lost (default: nothing is)",
    )
    parser.set_defaults(run=_video)


def _add_talk(add: Callable[..., argparse.ArgumentParser]) -> None:
    parser = _formatted(
        add,
        'Writes the packets of a talker, for a scenario\'s `traffic = { kind = "trace", file = ... }`.',
        "whimbrel quality talk call.csv --codec g729a --duration 60s --seed 7",
        name="talk",
        help="packets of a call, for scenarios",
    )
    parser.add_argument("file", type=Path, metavar="FILE.csv", help="what to write: time_s,size_bytes")
    parser.add_argument("--codec", default="g711-plc", help=f"{', '.join(CODECS)} (default: %(default)s)")
    parser.add_argument(
        "--duration", type=quantities.seconds, default=60.0, metavar="TIME", help="how long (default: 60s)"
    )
    parser.add_argument(
        "--begin",
        type=quantities.seconds,
        default=0.0,
        metavar="TIME",
        help="when the first words come (default: 0s)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the talk spurts (default: 1)")
    parser.add_argument("--continuous", action="store_true", help="no pauses, instead of talk spurts by P.59")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_talk)


def _add_frames(add: Callable[..., argparse.ArgumentParser]) -> None:
    parser = _formatted(
        add,
        "Writes the packets of a video of equal frames, for a scenario's "
        '`traffic = { kind = "trace", file = ... }`.',
        "whimbrel quality frames video.csv --bit-rate 1.5Mbit/s --frame-rate 30 --duration 60s",
        name="frames",
        help="packets of a video, for scenarios",
    )
    parser.add_argument("file", type=Path, metavar="FILE.csv", help="what to write: time_s,size_bytes")
    parser.add_argument(
        "--bit-rate",
        type=quantities.bits_per_second,
        default=1.5e6,
        metavar="RATE",
        help="of the video (default: 1.5Mbit/s)",
    )
    parser.add_argument(
        "--frame-rate", type=_at_least(0.0), default=30.0, metavar="F", help="frames per second (default: 30)"
    )
    parser.add_argument(
        "--datagram", type=int, default=1200, metavar="BYTES", help="the largest (default: 1200)"
    )
    parser.add_argument(
        "--duration", type=quantities.seconds, default=60.0, metavar="TIME", help="how long (default: 60s)"
    )
    parser.add_argument(
        "--begin",
        type=quantities.seconds,
        default=0.0,
        metavar="TIME",
        help="when the first frame comes (default: 0s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_frames)


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", nargs="?", type=Path, metavar="FILE", help=_SOURCE)
    parser.add_argument(
        "--loss",
        type=quantities.share,
        metavar="SHARE",
        help="share of packets lost (default: 0; else the source's)",
    )
    parser.add_argument("--flow", metavar="NAME", help="of a record: its flow")
    parser.add_argument(
        "--schedule",
        type=Path,
        metavar="FILE.csv",
        help="of a record: what the flow sent; delays then count from it",
    )
    parser.add_argument(
        "--start",
        type=quantities.seconds,
        default=0.0,
        metavar="TIME",
        help="of a record: when the flow started (default: 0s)",
    )
    parser.add_argument(
        "--connection", type=int, metavar="N", help="of a capture: its connection (default: the first)"
    )
    parser.add_argument(
        "--sender", choices=("client", "server"), help="of a capture: who sent what is judged"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _voice(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    chosen = codec(given.codec)
    known = _call(given, chosen)
    if chosen.scale is Scale.FULLBAND:
        return _fullband(given, chosen, known)
    rated = voip.rate(
        chosen, known.delay_s, known.loss_rate, burst_ratio=known.burst_ratio, advantage=given.advantage
    )
    line = voip.rate_simplified(chosen, known.delay_s, known.loss_rate, burst_ratio=known.burst_ratio)
    told: dict[str, Any] = {
        "codec": chosen.name,
        "delay_s": known.delay_s,
        "loss_rate": known.loss_rate,
        "late_rate": known.late_rate,
        "burst_ratio": known.burst_ratio,
        "r": rated.r,
        "mos": rated.mos,
        "category": opinion.category(rated.r),
        "good_or_better": opinion.good_or_better(rated.r),
        "poor_or_worse": opinion.poor_or_worse(rated.r),
        "terms": {
            "ro": rated.ro,
            "is": rated.i_s,
            "id": rated.i_d,
            "ie_eff": rated.ie_eff,
            "a": rated.advantage,
        },
        "simplified": {"r": line, "mos": opinion.mos(line)},
    }
    lines = [
        f"{chosen.title}: MOS {rated.mos:.2f}, R {rated.r:.1f} ({told['category']})",
        f"  {1000 * known.delay_s:.0f} ms from mouth to ear, {100 * known.loss_rate:.2f} % of packets not "
        f"played ({100 * known.late_rate:.2f} % late), burst ratio {known.burst_ratio:.2f}",
        f"  R = {rated.ro - rated.i_s:.1f} (Ro - Is) - {rated.i_d:.1f} (Id) - {rated.ie_eff:.1f} (Ie,eff) "
        f"+ {rated.advantage:.1f} (A)",
        f"  good or better {100 * told['good_or_better']:.0f} %, "
        f"poor or worse {100 * told['poor_or_worse']:.0f} %",
        f"  by the line 94.2 - Id - Ie: MOS {opinion.mos(line):.2f}, R {line:.1f}",
    ]
    return told, lines


def _fullband(given: argparse.Namespace, chosen: Codec, known: _Voice) -> tuple[dict[str, Any], list[str]]:
    rated = fullband.rate(chosen, known.delay_s, known.loss_rate, advantage=given.advantage)
    told: dict[str, Any] = {
        "codec": chosen.name,
        "scale": "fullband",
        "delay_s": known.delay_s,
        "loss_rate": known.loss_rate,
        "late_rate": known.late_rate,
        "burst_ratio": known.burst_ratio,
        "r": rated.r,
        "mos": rated.mos,
        "terms": {"ro": fullband.RO, "idd": rated.i_dd, "ie_eff": rated.ie_eff, "a": rated.advantage},
    }
    lines = [
        f"{chosen.title}: MOS {rated.mos:.2f} and R {rated.r:.1f} of 148, on the fullband scale (G.107.2)",
        f"  {1000 * known.delay_s:.0f} ms from mouth to ear, {100 * known.loss_rate:.2f} % of packets not "
        f"played ({100 * known.late_rate:.2f} % late)",
        f"  R = {fullband.RO:.0f} (Ro) - {rated.i_dd:.1f} (Idd) - {rated.ie_eff:.1f} (Ie,eff) "
        f"+ {rated.advantage:.1f} (A)",
    ]
    if known.burst_ratio > 1:
        lines.append(
            f"  losses came in bursts (burst ratio {known.burst_ratio:.2f}), "
            "for which this scale has no values"
        )
    return told, lines


def _call(given: argparse.Namespace, chosen: Codec) -> _Voice:
    if given.source is None:
        return _Voice(given.delay or 0.0, given.loss or 0.0, burst_ratio=given.burst_ratio)
    if sources.is_capture(given.source):
        seen = sources.capture(given.source, given.connection, given.sender)
        delay_s = given.delay
        if delay_s is None:
            if seen.rtt_s is None:
                raise UsageError(f"{given.source} tells no round-trip time; expected --delay")
            delay_s = seen.rtt_s / 2 + chosen.delay_s
        return _Voice(
            delay_s, seen.loss_rate if given.loss is None else given.loss, burst_ratio=given.burst_ratio
        )
    played = _played(given)
    return _Voice(
        voip.mouth_to_ear_s(chosen, played) if given.delay is None else given.delay,
        played.loss_rate if given.loss is None else given.loss,
        played.late_rate,
        max(1.0, played.burst_ratio),
    )


def _played(given: argparse.Namespace) -> Playout:
    sent = _datagrams(given)
    if isinstance(given.playout, str):
        if sent.sent_s.size > 1 and playout.spurts(sent.sent_s)[-1] == 0:
            raise UsageError(
                f"all is one talk spurt, and --playout {given.playout} adapts between them; expected a time"
            )
        return playout.adaptive(sent.sent_s, sent.received_s, estimator=_ESTIMATORS[given.playout]())
    return playout.fixed(sent.sent_s, sent.received_s, given.playout)


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
    told = {
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
    return told, lines


def _large_video(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """A video by P.1203.1: from numbers, or from the frames of a record that were shown."""
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
    told: dict[str, Any] = {
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
        told |= {
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
        return told, lines
    if given.schedule is None or sources.is_capture(given.source):
        raise UsageError(
            f"{given.source} does not tell which datagrams are one frame; expected a record with --schedule, "
            "or --shown"
        )
    for option in ("frame_rate", "bit_rate"):
        if getattr(given, option) is not None:
            name = option.replace("_", "-")
            raise UsageError(f"--{name} comes from the schedule's frames; expected none beside --schedule")
    sent = _datagrams(given)
    late = np.inf if given.playout is None else given.playout
    session = p1203.of_frames(
        picture, sent.sent_s, sent.size_bytes, sent.received_s <= sent.sent_s + late + 1e-9
    )
    frames, whole = session.frames
    told |= {
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
    return told, lines


def _frames(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    made = frame_schedule.equal_frames(
        given.bit_rate, given.frame_rate, given.duration, begin_s=given.begin, most_bytes=given.datagram
    )
    try:
        frame_schedule.write_csv(given.file, made)
    except OSError as error:
        raise UsageError(f"{given.file} cannot be written: {error}") from error
    frames = len({time for time, _ in made})
    told = {"file": str(given.file), "frames": frames, "packets": len(made)}
    return told, [f"{given.file}: {frames} frames in {len(made)} packets of at most {given.datagram} bytes"]


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
            raise UsageError(f"{given.source} tells no rate; expected --bit-rate")
    else:
        sent = _datagrams(given)
        bit_rate = given.bit_rate or sent.bit_rate
        late = np.inf if given.playout is None else given.playout
        loss_rate = 1 - float(np.mean(sent.received_s <= sent.sent_s + late + 1e-9))
    return bit_rate, loss_rate if given.loss is None else given.loss


def _talk(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    spurts = voice.CONTINUOUS if given.continuous else voice.P59
    chosen = codec(given.codec)
    made = voice.talk(chosen, given.duration, spurts=spurts, seed=given.seed, begin_s=given.begin)
    try:
        made.write_csv(given.file)
    except OSError as error:
        raise UsageError(f"{given.file} cannot be written: {error}") from error
    told = {
        "file": str(given.file),
        "codec": chosen.name,
        "packets": len(made),
        "datagram_bytes": chosen.datagram_bytes,
        "packet_s": chosen.packet_s,
        "activity": len(made) * chosen.packet_s / (given.duration - given.begin),
    }
    lines = [
        f"{given.file}: {len(made)} packets of {chosen.datagram_bytes} bytes every "
        f"{1000 * chosen.packet_s:g} ms, talking {100 * told['activity']:.0f} % of the time"
    ]
    return told, lines


def _datagrams(given: argparse.Namespace) -> sources.Datagrams:
    table = sources.packets(given.source)
    return sources.datagrams(table, given.flow, schedule=given.schedule, start_s=given.start)


def _playout(text: str) -> float | str:
    return text if text in _ESTIMATORS else quantities.seconds(text)


def _at_least(least: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not (np.isfinite(value) and value >= least):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least {least:g}")
        return value

    return parse


def _formatted(
    make: Callable[..., argparse.ArgumentParser],
    about: str,
    example: str,
    **more: Any,  # noqa: ANN401 - argparse's own
) -> argparse.ArgumentParser:
    named: Mapping[str, Any] = {
        "description": about,
        "epilog": f"example:\n  {example}",
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
        **more,
    }
    return make(**named)
