"""The schemes of the matrix: the keys of a flow for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PAYLOAD = "1160 B"
"""Data of a packet of every flow: 1200 bytes with the headers of RTP."""
REPORT_INTERVAL = "20 ms"
"""Time between reports of all media: the laws differ in how much they need it to be short."""
REPORT_INTERVALS = ("10 ms", "20 ms", "50 ms", "100 ms")
"""The intervals with which each law is measured alone."""
MEDIA_RATES = {
    "min_rate": "150 kbit/s",
    "start_rate": "300 kbit/s",
    "max_rate": "20 Mbit/s",
    "report_interval": REPORT_INTERVAL,
}
CONSTANT_RATE = "3 Mbit/s"
"""A call's video without congestion control."""


@dataclass(frozen=True)
class Scheme:
    """A transport with its congestion control.

    Attributes:
        title: displayed.
        keys: of a flow.
        is_media: true if lost packets stay lost, so that its loss is also the video's loss.
    """

    title: str
    keys: Mapping[str, Any]
    is_media: bool = True


def _dccp(title: str, ccid: int, **details: object) -> Scheme:
    return Scheme(title, {"transport": "dccp", "ccid": ccid, **details})


def _tcp(title: str, **details: object) -> Scheme:
    return Scheme(title, {"transport": "tcp", "tcp": details}, is_media=False)


def _media(title: str, controller: str, **details: object) -> Scheme:
    media = {"controller": controller, **MEDIA_RATES, **details}
    return Scheme(title, {"transport": "media", "media": media})


SCHEMES: Mapping[str, Scheme] = {
    "ccid2": _dccp("DCCP CCID 2", 2),
    "ccid3": _dccp("DCCP CCID 3", 3),
    "ccid4": _dccp("DCCP CCID 4", 4),
    "ccid248": _dccp("DCCP CUBIC", 248),
    "ccid249": _dccp("DCCP Veno", 249),
    "ccid254": _dccp("DCCP Prague", 254, dccp={"ecn": True}),
    "ccid252": _dccp("DCCP delay-aware", 252, dccp={"ecn": True}),
    "zbs": _dccp("CCID 3 with ZBS", 3, classifier="zbs"),
    "tcp-sack": _tcp("TCP Reno"),
    "tcp-cubic": _tcp("TCP CUBIC", congestion="cubic"),
    "tcp-veno": _tcp("TCP Veno", congestion="veno"),
    "tcp-prague": _tcp("TCP Prague", congestion="prague"),
    "gcc": _media("GCC", "gcc"),
    "nada": _media("NADA", "nada"),
    "scream": _media("SCReAM v2", "scream"),
    "scream-l4s": _media("SCReAM v2, L4S", "scream-l4s"),
    "copa": _media("Copa", "copa"),
    "bbr": _media("BBRv3", "bbr"),
    "delay-aware": _media("delay-aware TFRC", "delay-aware"),
    "delay-aware-l4s": _media("delay-aware TFRC, L4S", "delay-aware-l4s"),
    "udp": _media("constant 3 Mbit/s", "constant", start_rate=CONSTANT_RATE),
}
"""The schemes that are measured each against each."""
LAWS = ("gcc", "nada", "scream", "copa", "bbr", "delay-aware")
"""The laws for media without ECN."""
VARIANTS: Mapping[str, Scheme] = {
    **{
        name: _dccp(f"CCID 3 with {title}", 3, classifier=name)
        for name, title in (
            ("biaz", "Biaz"),
            ("mbiaz", "mBiaz"),
            ("spike", "Spike"),
            ("zigzag", "ZigZag"),
            ("zbs2", "ZBS2"),
            ("zbs3", "ZBS3"),
        )
    },
    "omniscient": _dccp("CCID 3 with the truth", 3, classifier="omniscient"),
}
"""Further loss differentiation, measured alone and against two schemes only."""
ALL: Mapping[str, Scheme] = {**SCHEMES, **VARIANTS}
ROWS: Mapping[str, str] = {scheme.title: key for key, scheme in ALL.items()}
"""Keys of all schemes by title, as the rows of the tables are named."""
DIFFERENTIATION = ("ccid3", "biaz", "mbiaz", "spike", "zigzag", "zbs", "zbs2", "zbs3", "omniscient")
"""The rows of the items on loss differentiation."""
