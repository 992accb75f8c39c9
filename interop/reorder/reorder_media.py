"""Media sent over a path that reorders, their playout, and their scores.

There are two players. One takes packets as they come and cannot use overtaken ones. The other orders them
itself in a buffer. Both require a frame of the video within `DEADLINE_S`. Speech with a buffer, the
transport's or the application's, is played a fixed time after the minimum delay.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from reorder_cells import Cell

from whimbrel.quality import clips, playout, voip
from whimbrel.quality.codecs import CODECS
from whimbrel.quality.scores import psnr_of
from whimbrel.quality.speech import Speech, pesq
from whimbrel.quality.video import Stream, in_time

Numbers = npt.NDArray[np.int64]
Times = npt.NDArray[np.float64]

BIT_RATE = 800_000
DEADLINE_S = 0.5
"""Playout delay of a frame: enough for a key frame of 30 kB at 1 Mbit/s, 240 ms."""

TIMERS_S = 3e-3
"""A timer wakes its task up to two milliseconds late; a player allows for that."""


class MediaMismatchError(Exception):
    """The received data differ from the sent ones."""


@dataclass(frozen=True)
class Delivery:
    """The results of one transfer.

    Attributes:
        order: numbers of the packets, in the order in which they were delivered.
        received_s: for each packet sent, its delivery time after the beginning; NaN: never.
        sent: packets that left the sender.
        stale: packets that the sender dropped, as congestion control held them back for too long.
        lost: packets that the receiver's DCCP declared lost, including late ones.
        loss_event_rate: p, mean over the second half.
        allowed_bps: X, mean over the second half.
    """

    order: Numbers
    received_s: Times
    sent: int
    stale: int
    lost: int
    loss_event_rate: float
    allowed_bps: float

    @classmethod
    def read(cls, folder: Path, number: int, packets: tuple[bytes, ...]) -> Delivery:
        """Reads a transfer's files.

        Raises:
            MediaMismatchError: a packet differs from those sent, or arrived twice, or an end failed.
        """
        said = {end: (folder / f"{number}.{end}").read_text() for end in ("sender", "receiver")}
        if not all(said.values()):
            words = [(folder / f"{number}.{end}.errors").read_text().strip() for end in said]
            raise MediaMismatchError(f"transfer {number} failed: {' / '.join(words)}")
        sender, receiver = (json.loads(said[end]) for end in ("sender", "receiver"))
        content = memoryview((folder / f"{number}.bin").read_bytes())
        order: list[int] = []
        received_s = np.full(len(packets), np.nan)
        with (folder / f"{number}.csv").open(encoding="ascii") as file:
            for row in csv.DictReader(file):
                packet, content = content[: int(row["size_bytes"])], content[int(row["size_bytes"]) :]
                at = int.from_bytes(packet[2:4], "big")
                if at >= len(packets) or packets[at] != packet:
                    raise MediaMismatchError(f"transfer {number}: packet {at} is not as it was sent")
                if not np.isnan(received_s[at]):
                    raise MediaMismatchError(f"transfer {number}: packet {at} arrived twice")
                received_s[at] = float(row["time_s"]) - sender["start_s"]
                order.append(at)
        looks = np.array(sender["looks"])
        later = looks[looks.shape[0] // 2 :]
        return cls(
            np.array(order, dtype=np.int64),
            received_s,
            sender["sent"],
            sender["stale"] + sender["refused"],
            receiver["lost"],
            float(later[:, 2].mean()),
            float(later[:, 1].mean()),
        )

    @property
    def overtaken(self) -> npt.NDArray[np.bool_]:
        """For each packet sent, true if it was delivered after a later one."""
        late = np.zeros(self.received_s.shape, dtype=np.bool_)
        late[self.order[~playout.in_order(self.order)]] = True
        return late

    def figures(self) -> dict[str, float]:
        """The transport's results as numbers."""
        count = self.received_s.size
        return {
            "held_back_share": self.stale / count,
            "out_of_order_share": float(np.mean(self.overtaken)),
            "dccp_lost": self.lost,
            "loss_event_rate": self.loss_event_rate,
            "allowed_kbps": self.allowed_bps / 1e3,
        }


@dataclass(frozen=True)
class Media:
    """The media to send; None for media not sent."""

    video: Stream | None
    speech: Speech | None

    @classmethod
    def prepare(cls, folder: Path, *, seconds: float | None, with_speech: bool) -> Media:
        """Encodes clip (possibly its beginning only) and speech, and writes them for `media_stream`."""
        video = Stream.prepare(clips.fetch("bikes"), folder, bit_rate=BIT_RATE, seconds=seconds)
        video.schedule.write_csv(folder / "video.csv")
        (folder / "video.bin").write_bytes(b"".join(video.schedule.packets))
        speech = Speech.prepare(clips.fetch("beckett")) if with_speech else None
        if speech:
            speech.schedule.write_csv(folder / "speech.csv")
            (folder / "speech.bin").write_bytes(b"".join(speech.packets))
        return cls(video, speech)

    def files(self, folder: Path) -> list[Path]:
        """The files that the sender needs."""
        names = [name for name, medium in (("video", self.video), ("speech", self.speech)) if medium]
        return [folder / f"{name}{suffix}" for name in names for suffix in (".csv", ".bin")]

    def score(self, cell: Cell, folder: Path, *, psnr_only: bool) -> list[dict[str, Any]]:
        """The lines of the table for a transfer: one for each player."""
        if cell.medium == "video" and self.video:
            return score_video(self.video, cell, folder, psnr_only=psnr_only)
        if cell.medium == "speech" and self.speech:
            return score_speech(self.speech, cell, folder)
        raise ValueError(f"no {cell.medium} was prepared")


def score_video(video: Stream, cell: Cell, folder: Path, *, psnr_only: bool) -> list[dict[str, Any]]:
    """The lines of a transfer of video."""
    delivery = Delivery.read(folder, cell.number, video.schedule.packets)
    taken = {"as it comes": np.where(delivery.overtaken, np.nan, delivery.received_s)}
    if not cell.transport.hold_ms and cell.impairment.netem:
        taken["orders"] = delivery.received_s
    lines: list[dict[str, Any]] = []
    for player, received_s in taken.items():
        shown = folder / f"{cell.number}.y4m"
        reception = video.receive(received_s, shown, playout_delay_s=DEADLINE_S)
        if psnr_only:
            scores = {"psnr_db": float(np.mean(psnr_of(video.reference, reception.shown.frames)))}
        else:
            scores = reception.quality().means()
        # The pictures are large, and can be regenerated.
        shown.unlink()
        late = int(np.count_nonzero(~in_time(video.schedule, delivery.received_s, DEADLINE_S)))
        missing = int(np.count_nonzero(np.isnan(delivery.received_s)))
        trips_s = delivery.received_s - video.schedule.time_s
        unused = {
            "delivered_p95_ms": 1e3 * float(np.nanpercentile(trips_s, 95)),
            "unused_share": reception.loss_rate,
            "late_share": (late - missing) / reception.arrived.size,
        }
        lines.append(line(cell, player, delivery.figures() | unused | scores))
    return lines


def score_speech(speech: Speech, cell: Cell, folder: Path) -> list[dict[str, Any]]:
    """The lines of a transfer of speech."""
    sent_s = speech.schedule.time_s
    delivery = Delivery.read(folder, cell.number, speech.packets)
    received_s = delivery.received_s
    least_s = float(np.nanmin(received_s - sent_s))

    def fixed(hold_ms: int) -> playout.Playout:
        return playout.fixed(sent_s, received_s, least_s + hold_ms / 1e3 + TIMERS_S)

    if cell.transport.hold_ms:
        played = {"as it comes": fixed(cell.transport.hold_ms)}
    else:
        played = {"as it comes": playout.as_it_comes(sent_s, received_s)}
        if cell.impairment.netem:
            played |= {"orders, 50 ms": fixed(50), "orders, 100 ms": fixed(100)}
    lines: list[dict[str, Any]] = []
    for player, result in played.items():
        scores: dict[str, float] = {}
        for codec in (CODECS["g711"], CODECS["g711-plc"]):
            delay_s = voip.mouth_to_ear_s(codec, result)
            rating = voip.rate(codec, delay_s, result.loss_rate, burst_ratio=result.burst_ratio)
            scores[f"mos_{codec.name}"] = rating.mos
        delay_s = voip.mouth_to_ear_s(speech.codec, result)
        figures = {"unused_share": result.loss_rate, "delay_ms": 1e3 * delay_s}
        if (listened := pesq(speech.reference, speech.heard(result.played))) is not None:
            scores["pesq"] = listened
        lines.append(line(cell, player, delivery.figures() | figures | scores))
    return lines


def line(cell: Cell, player: str, figures: dict[str, float]) -> dict[str, Any]:
    """One line of the results: the transfer, the player, and the figures."""
    return {
        "medium": cell.medium,
        "ccid": cell.ccid,
        "impairment": cell.impairment.name,
        "transport": cell.transport.name,
        "player": player,
        "run": cell.run,
        **figures,
    }
