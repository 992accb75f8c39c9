"""The command `whimbrel quality`: opinion scores of calls and videos."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from whimbrel._base import quantities
from whimbrel.errors import UsageError
from whimbrel.quality import (
    arguments,
    fullband,
    opinion,
    playout,
    sources,
    video_command,
    voice,
    voip,
)
from whimbrel.quality.codecs import CODECS, Codec, Scale, codec
from whimbrel.quality.playout import Playout

_ESTIMATORS = {"adaptive": playout.ExponentialAverage, "spikes": playout.SpikeAverage}


@dataclass(frozen=True)
class _Voice:
    """Known properties of a call: mouth-to-ear delay in seconds, shares, BurstR."""

    delay_s: float
    loss_rate: float
    late_rate: float = 0.0
    burst_ratio: float = 1.0


def main(words: Sequence[str]) -> int:
    """`whimbrel quality voice|video|talk|frames`."""
    parser = arguments.formatted(
        argparse.ArgumentParser,
        "Estimates the quality of a call (ITU-T G.107, G.107.2) or a video (G.1070, P.1203.1), as a mean "
        "opinion score.",
        "whimbrel quality voice --codec g729a --delay 150ms --loss 1%",
        prog="whimbrel quality",
    )
    kinds = parser.add_subparsers(metavar="voice|video|talk|frames", required=True)
    _add_voice(kinds.add_parser)
    video_command.add_video(kinds.add_parser)
    _add_talk(kinds.add_parser)
    video_command.add_frames(kinds.add_parser)
    given = parser.parse_args(words)
    report, lines = given.run(given)
    print(json.dumps(report) if given.json else "\n".join(lines))
    return 0


def _add_voice(add: Callable[..., argparse.ArgumentParser]) -> None:
    parser = arguments.formatted(
        add,
        "Rates a call by the E-model.",
        "whimbrel quality voice --codec g729a --delay 150ms --loss 1%\n"
        "  whimbrel run examples/scenarios/call.toml --quiet --out out/call\n"
        "  whimbrel quality voice out/call --schedule examples/scenarios/talk.csv --codec g729a",
        name="voice",
        help="a call",
    )
    arguments.add_source(parser)
    parser.add_argument("--codec", default="g711-plc", help=f"{', '.join(CODECS)} (default: %(default)s)")
    parser.add_argument(
        "--delay",
        type=quantities.seconds,
        metavar="TIME",
        help="from mouth to ear, one way (default: 0; for a record from its arrivals and the buffer, "
        "for a capture half the round-trip time and the codec's delay)",
    )
    parser.add_argument(
        "--burst-ratio",
        type=arguments.at_least(1.0),
        default=1.0,
        metavar="B",
        help="length of bursts of loss over that of independent loss (default: 1; for a record its own)",
    )
    parser.add_argument(
        "--advantage",
        type=arguments.at_least(0.0),
        default=0.0,
        metavar="A",
        help="advantage factor A (default: 0)",
    )
    parser.add_argument(
        "--playout",
        type=_playout,
        default="adaptive",
        metavar="TIME|adaptive|spikes",
        help="of a record: play this long after sending, or by Ramjee's Algorithm 1 or 4 (default: adaptive)",
    )
    parser.set_defaults(run=_voice)


def _add_talk(add: Callable[..., argparse.ArgumentParser]) -> None:
    parser = arguments.formatted(
        add,
        'Writes the packets of a talker, for a scenario\'s `traffic = { kind = "trace", file = ... }`.',
        "whimbrel quality talk call.csv --codec g729a --duration 60s --seed 7",
        name="talk",
        help="packets of a call, for scenarios",
    )
    arguments.add_schedule(parser, "start of the first talk spurt")
    parser.add_argument("--codec", default="g711-plc", help=f"{', '.join(CODECS)} (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="seed of the talk spurts (default: 1)"
    )
    parser.add_argument("--continuous", action="store_true", help="no pauses, instead of talk spurts by P.59")
    parser.set_defaults(run=_talk)


def _voice(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    chosen = codec(given.codec)
    known = _call(given, chosen)
    if chosen.scale is Scale.FULLBAND:
        return _fullband(given, chosen, known)
    rated = voip.rate(
        chosen, known.delay_s, known.loss_rate, burst_ratio=known.burst_ratio, advantage=given.advantage
    )
    line = voip.rate_simplified(chosen, known.delay_s, known.loss_rate, burst_ratio=known.burst_ratio)
    report: dict[str, Any] = {
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
        f"{chosen.title}: MOS {rated.mos:.2f}, R {rated.r:.1f} ({report['category']})",
        f"  {1000 * known.delay_s:.0f} ms from mouth to ear, {100 * known.loss_rate:.2f} % of packets not "
        f"played ({100 * known.late_rate:.2f} % late), burst ratio {known.burst_ratio:.2f}",
        f"  R = {rated.ro - rated.i_s:.1f} (Ro - Is) - {rated.i_d:.1f} (Id) - {rated.ie_eff:.1f} (Ie,eff) "
        f"+ {rated.advantage:.1f} (A)",
        f"  good or better {100 * report['good_or_better']:.0f} %, "
        f"poor or worse {100 * report['poor_or_worse']:.0f} %",
        f"  by the line 94.2 - Id - Ie: MOS {opinion.mos(line):.2f}, R {line:.1f}",
    ]
    return report, lines


def _fullband(given: argparse.Namespace, chosen: Codec, known: _Voice) -> tuple[dict[str, Any], list[str]]:
    rated = fullband.rate(chosen, known.delay_s, known.loss_rate, advantage=given.advantage)
    report: dict[str, Any] = {
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
    return report, lines


def _call(given: argparse.Namespace, chosen: Codec) -> _Voice:
    if given.source is None:
        return _Voice(given.delay or 0.0, given.loss or 0.0, burst_ratio=given.burst_ratio)
    if sources.is_capture(given.source):
        seen = sources.capture(given.source, given.connection, given.sender)
        delay_s = given.delay
        if delay_s is None:
            if seen.rtt_s is None:
                raise UsageError(f"{given.source} contains no round-trip time; expected --delay")
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
    sent = arguments.datagrams(given)
    if isinstance(given.playout, str):
        if sent.sent_s.size > 1 and playout.spurts(sent.sent_s)[-1] == 0:
            raise UsageError(
                f"all is one talk spurt, and --playout {given.playout} adapts between them; expected a time"
            )
        return playout.adaptive(sent.sent_s, sent.received_s, estimator=_ESTIMATORS[given.playout]())
    return playout.fixed(sent.sent_s, sent.received_s, given.playout)


def _talk(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    spurts = voice.CONTINUOUS if given.continuous else voice.P59
    chosen = codec(given.codec)
    made = voice.talk(chosen, given.duration, spurts=spurts, seed=given.seed, begin_s=given.begin)
    arguments.write_schedule(given.file, made.write_csv)
    report = {
        "file": str(given.file),
        "codec": chosen.name,
        "packets": len(made),
        "datagram_bytes": chosen.datagram_bytes,
        "packet_s": chosen.packet_s,
        "activity": len(made) * chosen.packet_s / (given.duration - given.begin),
    }
    lines = [
        f"{given.file}: {len(made)} packets of {chosen.datagram_bytes} bytes every "
        f"{1000 * chosen.packet_s:g} ms, talking {100 * report['activity']:.0f} % of the time"
    ]
    return report, lines


def _playout(text: str) -> float | str:
    return text if text in _ESTIMATORS else quantities.seconds(text)
