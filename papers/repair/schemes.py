"""Repair schemes: the keys of a flow for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Scheme:
    """A program that repairs.

    Attributes:
        title: displayed.
        kind: of the key `repair`.
        keys: of a flow besides it.
    """

    title: str
    kind: str
    keys: Mapping[str, Any]


UDP = {"transport": "udp"}


OURS = "whimbrel"
"""The key of the layer of the sockets, with their default congestion control and loss differentiation."""


def _dccp(classifier: str, *, guard: bool = True) -> dict[str, Any]:
    keys: dict[str, Any] = {"transport": "dccp", "ccid": 3, "classifier": classifier}
    return keys if guard else {**keys, "dccp": {"guard": False}}


SCHEMES: Mapping[str, Scheme] = {
    "none": Scheme("none", "none", UDP),
    "srt": Scheme("SRT", "srt", UDP),
    "rist": Scheme("RIST", "rist", UDP),
    "nack": Scheme("libwebrtc, requests", "nack", UDP),
    "nack-fec": Scheme("libwebrtc, requests and parity", "nack-fec", UDP),
    "wfb-ng": Scheme("wfb-ng", "wfb-ng", UDP),
    "tambur": Scheme("Tambur", "tambur", UDP),
    "hairpin": Scheme("Hairpin", "hairpin", UDP),
    OURS: Scheme("Whimbrel", OURS, _dccp("standing")),
}
"""The rows of the channels, by key. Only the last has congestion control."""

REPEATING = ("srt", "rist", "nack")
"""Schemes that send nothing but repeats."""

CLASSIFIERS: Mapping[str, str] = {
    "none": "no loss differentiation",
    "biaz": "Biaz",
    "mbiaz": "mBiaz",
    "spike": "Spike",
    "standing": "Standing",
    "zbs": "ZBS",
    "omniscient": "the truth",
}
"""The loss differentiations under repair."""

DIFFERENTIATED: Mapping[str, Scheme] = {
    key: Scheme(title, OURS, _dccp(key)) for key, title in CLASSIFIERS.items()
}

UNREPAIRED: Mapping[str, Scheme] = {
    key: Scheme(title, "none", _dccp(key)) for key, title in CLASSIFIERS.items()
}

GUARDED: Mapping[str, Scheme] = {
    "guard": SCHEMES[OURS],
    "no guard": Scheme("Whimbrel, no guard", OURS, _dccp("standing", guard=False)),
    "truth": Scheme("Whimbrel, the truth, no guard", OURS, _dccp("omniscient", guard=False)),
    "alone": Scheme("no repair, no guard", "none", _dccp("standing", guard=False)),
}
"""Cost of loss differentiation's guard: those with and without it."""
