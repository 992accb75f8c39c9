"""The videos: a second of each, which repeats, and begins with a key frame.

`python -m whimbrel.papers.repair.videos` writes their files.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Video:
    """A video of a constant rate.

    Attributes:
        file: name of its schedule.
        frame_rate: frames per second.
        packets: of a frame, equally spaced over half of its time.
        size: bytes of a packet with RTP's headers.
    """

    file: str
    frame_rate: int
    packets: int
    size: int

    @property
    def schedule(self) -> Path:
        """The file of its schedule."""
        return Path(__file__).with_name(self.file)

    @property
    def text(self) -> str:
        """The schedule, in the format of a scenario's `video` traffic."""
        apart = 1 / self.frame_rate / 2 / self.packets
        lines = (
            f"{frame / self.frame_rate + packet * apart:.6f},{self.size},{frame},{'P' if frame else 'I'}\n"
            for frame in range(self.frame_rate)
            for packet in range(self.packets)
        )
        return "time_s,size_bytes,frame,type\n" + "".join(lines)


LARGE = Video("frames.csv", 30, 16, 1160)
"""4.6 Mbit/s on the link."""
MEDIUM = Video("frames-medium.csv", 30, 4, 1160)
"""1.2 Mbit/s."""
SMALL = Video("frames-small.csv", 10, 2, 460)
"""80 kbit/s."""

VIDEOS = (LARGE, MEDIUM, SMALL)


if __name__ == "__main__":
    for each in VIDEOS:
        each.schedule.write_text(each.text, encoding="utf-8")
