"""The emulated paths: scenarios in the folder `paths`, with the values that a row of the table changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as File

from live import stream

SCENARIOS = File(__file__).resolve().parent / "paths"


@dataclass(frozen=True, slots=True)
class Path:
    """A path.

    Attributes:
        key: in the names of records and options.
        title: in tables.
        scenario: name of the file.
        base_s: the least delay of a packet, to which the budget is added.
        values: of the scenario, changed.
        follows: the encoder follows the rate that the rival offers.
        restarts: the encoder makes a key frame when the rival asks for one.
        has_download: TCP downloads go the same way.
        mtu: longest IP packet in bytes.
    """

    key: str
    title: str
    scenario: str
    base_s: float = 0.02
    values: Mapping[str, str] = field(default_factory=dict)
    follows: bool = False
    restarts: bool = False
    has_download: bool = False
    mtu: int = 1500

    @property
    def file(self) -> File:
        """The scenario."""
        return SCENARIOS / f"{self.scenario}.toml"

    @property
    def rates_bps(self) -> tuple[int, ...]:
        """The rates of the encoder, ascending."""
        return stream.LADDER_BPS if self.follows else (stream.RATE_BPS,)

    @property
    def first_keys(self) -> tuple[int, ...]:
        """The numbers of the frames at which regular key frames begin, one for each encoding of a rate."""
        return tuple(range(0, stream.KEY_EVERY, stream.RESTART_EVERY)) if self.restarts else (0,)

    @property
    def is_controlled(self) -> bool:
        """True if only programs that control the encoder are measured."""
        return self.follows or self.restarts

    def beside(self, seconds: float) -> dict[str, list[list[str]]]:
        """The programs that run at the same time as the rival's, for so long."""
        if not self.has_download:
            return {"camera": [], "viewer": []}
        # Three connections fill the queue in spite of the losses; a single one does not.
        download = ["iperf3", "-c", "{viewer}", "-C", "cubic", "-P", "3", "-t", f"{seconds:.0f}", "-J"]
        return {"camera": [download], "viewer": [["iperf3", "-s", "-1"]]}


def _loss(share: str) -> dict[str, str]:
    return {"link.path.loss.rate": share, "link.path.reverse.loss.rate": share}


PATHS = (
    Path("clean", "no loss", "wired"),
    Path("loss1", "loss 1 %", "loss", values=_loss("1 %")),
    Path("loss3", "loss 3 %", "loss", values=_loss("3 %")),
    Path("loss8", "loss 8 %", "loss", values=_loss("8 %")),
    Path(
        "far",
        "loss 5 %, RTT 240 ms",
        "loss",
        base_s=0.12,
        values=_loss("5 %") | {"link.path.delay": "120 ms"},
        mtu=1280,
    ),
    Path("bursts", "bursts, 5 %", "bursts"),
    Path("bursts-restarting", "bursts, restarts", "bursts", restarts=True),
    # The longest delay of a packet is the base: what overtakes is early.
    Path("jitter", "reordering", "jitter", base_s=0.08),
    Path("drive", "LTE drive", "drive", base_s=0.025),
    Path("drive-following", "LTE, encoder follows", "drive", base_s=0.025, follows=True),
    Path("5g", "5G drive", "five_g", base_s=0.025),
    Path("outages-short", "outages, 0.3 s", "outages_short"),
    Path("outages-short-restarting", "0.3 s, restarts", "outages_short", restarts=True),
    Path("outages-long", "outages, 2 s", "outages_long"),
    Path("outages-long-restarting", "2 s, restarts", "outages_long", restarts=True),
    Path("wifi", "contended Wi-Fi", "wifi", base_s=0.003),
    Path("download", "downloads, loss 1 %", "loss", values=_loss("1 %"), has_download=True),
    Path(
        "download-following",
        "downloads, follows",
        "loss",
        values=_loss("1 %"),
        follows=True,
        has_download=True,
    ),
)
