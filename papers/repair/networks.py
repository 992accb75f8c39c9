"""The channels, and the scenarios made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whimbrel.papers.repair.schemes import Scheme
from whimbrel.papers.repair.videos import LARGE, Video
from whimbrel.scenario import Scenario

FLOW = "video"
TIME_S = 65
WARM_UP_S = 4
"""Not measured: the first estimates of losses and of the round-trip time."""

Document = dict[str, Any]


@dataclass(frozen=True)
class Channel:
    """Losses on the way to the viewer; nothing is lost on the way back.

    Attributes:
        title: displayed.
        loss: of the link.
        plain: percent of frames of 16 packets that lose at least one, by theory; None where it is unknown.
    """

    title: str
    loss: Document | None
    plain: float | None = None


def _random(percent: float) -> Channel:
    loss = {"model": "bernoulli", "rate": percent / 100}
    return Channel(f"{percent:g} % random", loss, 100 * (1 - (1 - percent / 100) ** 16))


TAMBUR = {
    "model": "gilbert-elliott",
    "good_to_bad": 0.068,
    "bad_to_good": 0.852,
    "loss_in_good": 0.04,
    "loss_in_bad": 0.5,
}
"""The channel of Tambur's experiments, whose state changes per packet here: 7.4 % are lost."""
BURSTS = {"model": "gilbert-elliott", "good_to_bad": 1 / 152, "bad_to_good": 1 / 8}
FADES = {"model": "timed-gilbert-elliott", "good": "4.8 s", "bad": "200 ms"}

CHANNELS: Mapping[str, Channel] = {
    "1 %": _random(1),
    "3 %": _random(3),
    "8 %": _random(8),
    "20 %": _random(20),
    "tambur": Channel("Tambur's channel", TAMBUR, 70.1),
    "bursts": Channel("5 % in bursts of 8", BURSTS, 14.0),
    "fades": Channel("fades of 200 ms", FADES),
}


def flow(scheme: Scheme, video: Video, budget_ms: float) -> Document:
    """The video, and what repairs it."""
    return {
        "name": FLOW,
        "from": "camera",
        "to": "viewer",
        **scheme.keys,
        "traffic": {"kind": "video", "schedule": str(video.schedule), "repeat": True},
        "repair": {"latency": f"{budget_ms:g} ms", "kind": scheme.kind},
    }


def scenario(scheme: Scheme, channel: str, rtt_ms: float, budget_ms: float) -> Scenario:
    """The video over a link of 50 Mbit/s that loses packets."""
    loss = CHANNELS[channel].loss
    return over(
        scheme,
        f"{CHANNELS[channel].title}, RTT {rtt_ms:g} ms",
        {"rate": "50 Mbit/s", **({} if loss is None else {"loss": loss})},
        LARGE,
        rtt_ms,
        budget_ms,
    )


def over(
    scheme: Scheme, title: str, link: Document, video: Video, rtt_ms: float, budget_ms: float
) -> Scenario:
    """A video over a link with those keys; nothing is lost on the way back."""
    delay = f"{rtt_ms / 2:g} ms"
    there = {"from": "camera", "to": "viewer", "delay": delay, **link}
    back = {"from": "viewer", "to": "camera", "rate": "50 Mbit/s", "delay": delay}
    return Scenario(
        {
            "title": f"{scheme.title}: {title}, {budget_ms:g} ms",
            "simulation": {"duration": f"{TIME_S} s", "warm_up": f"{WARM_UP_S} s"},
            "node": [{"name": "camera"}, {"name": "viewer"}],
            "link": [there, back],
            "flow": [flow(scheme, video, budget_ms)],
        }
    )
