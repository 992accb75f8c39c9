"""A small synthetic clip, made by ffmpeg itself: no network, a fraction of a second."""

from pathlib import Path

import pytest

from whimbrel._base import ffmpeg
from whimbrel.quality.video import Stream


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of a moving test pattern with noise, 192x128, 25 frames/s."""
    path = tmp_path_factory.mktemp("clip") / "pattern.mkv"
    ffmpeg.run(
        ["-f", "lavfi", "-i", "testsrc2=size=192x128:rate=25:duration=2,noise=alls=12:allf=t:all_seed=7"]
        + ["-pix_fmt", "yuv420p", "-c:v", "ffv1", "-threads", "1", str(path)]
    )
    return path


@pytest.fixture(scope="session")
def stream(clip: Path, tmp_path_factory: pytest.TempPathFactory) -> Stream:
    """The clip at 400 kbit/s in packets of 400 bytes, a key frame every 0.4 s: about 300 packets."""
    return Stream.prepare(
        clip, tmp_path_factory.mktemp("stream"), bit_rate=400_000, key_interval_s=0.4, max_rtp_bytes=400
    )
