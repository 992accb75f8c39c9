"""Picture quality of a finished run: the frames that arrived in time, decoded, against the source.

A frame that is not complete in time is not given to the decoder; the picture before it stands until the next
one that was. The scores come from ffmpeg's filters `psnr` and `ssim`, applied to the luma.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from live import measure, stream
from whimbrel._base import ffmpeg
from whimbrel.quality import mpegts, rtp
from whimbrel.quality.encode import START_CODE
from whimbrel.result import Result

_DELIMITER = START_CODE + b"\x09\xf0"


def score(run: Result, ladder: Sequence[stream.Encoding], limit_s: float) -> dict[str, float]:
    """Mean PSNR in dB and mean SSIM over the frames that count, of what a viewer with this limit sees."""
    encodings = run.tables["frames"]["encoding"]
    shown = [
        (number * rtp.CLOCK_HZ // stream.FRAMES_PER_S, _bytes(ladder[int(encodings[number])].frames[number]))
        for number in np.flatnonzero(measure.complete(run, limit_s))
    ]
    inside = measure.counted(run)
    if not shown:
        return {"psnr": np.nan, "ssim": np.nan}
    with tempfile.TemporaryDirectory(prefix="whimbrel-") as name:
        folder = Path(name)
        (folder / "shown.ts").write_bytes(mpegts.mux((int(at), content) for at, content in shown))
        same = f"fps={stream.FRAMES_PER_S}:start_time=0,tpad=stop_mode=clone:stop=-1,split"
        graph = f"[0:v]{same}[a][b];[1:v]format=yuv420p,split[c][d];"
        graph += "[c][a]psnr=stats_file=psnr.log:shortest=1[e];[d][b]ssim=stats_file=ssim.log:shortest=1[f]"
        ffmpeg.run(
            ["-copyts", "-i", "shown.ts", "-f", "lavfi", "-i", stream.SOURCE, "-lavfi", graph]
            + ["-map", "[e]", "-frames:v", str(inside.size), "-f", "null", "-"]
            + ["-map", "[f]", "-frames:v", str(inside.size), "-f", "null", "-"],
            cwd=folder,
        )
        values = {
            "psnr": re.findall(r"psnr_y:(\S+)", (folder / "psnr.log").read_text()),
            "ssim": re.findall(r"Y:(\S+)", (folder / "ssim.log").read_text()),
        }
    return {
        name: float(np.mean(np.array(found[: inside.size], dtype=np.float64)[inside[: len(found)]]))
        for name, found in values.items()
    }


def _bytes(packets: Sequence[bytes]) -> bytes:
    """A frame for the decoder."""
    decoded = [rtp.decode_packet(packet, at) for at, packet in enumerate(packets)]
    units = [unit for each in rtp.depacketise(decoded).values() for unit in each]
    return _DELIMITER + b"".join(START_CODE + unit for unit in units)
