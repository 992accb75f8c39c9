"""Scores against manual arithmetic and other programs."""

import re
from pathlib import Path

import numpy as np
import pytest
from skimage.metrics import structural_similarity

from whimbrel._base import ffmpeg
from whimbrel.errors import MediaError
from whimbrel.quality import scores
from whimbrel.quality.frames import open_frames
from whimbrel.quality.strip import telling_frames, write_strip
from whimbrel.quality.video import Stream


def test_psnr_by_hand() -> None:
    flat = np.full((16, 16), 100, dtype=np.uint8)
    # error 5 everywhere: 10 log10(65025 / 25) = 34.1514 dB; unsigned differences would wrap
    assert scores.psnr(flat, flat + 5) == pytest.approx(34.1514, abs=1e-4)
    assert scores.psnr(flat + 5, flat) == pytest.approx(34.1514, abs=1e-4)
    # one sample of 256 off by 16: mean square error 1, 48.1308 dB
    other = flat.copy()
    other[3, 4] += 16
    assert scores.psnr(flat, other) == pytest.approx(48.1308, abs=1e-4)
    assert scores.psnr(flat, flat) == scores.PSNR_CEILING_DB


def test_ssim_is_that_of_wang() -> None:
    random = np.random.default_rng(5)
    picture = np.kron(random.integers(0, 255, (12, 15)), np.ones((4, 4))).astype(np.uint8)
    worse = np.clip(picture + random.normal(0, 20, picture.shape), 0, 255).astype(np.uint8)
    expected = structural_similarity(  # type: ignore[no-untyped-call]
        picture, worse, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255
    )
    assert scores.ssim(picture, worse) == pytest.approx(expected, abs=1e-9)
    assert scores.ssim(picture, picture) == pytest.approx(1.0)
    with pytest.raises(MediaError, match="samples a side"):
        scores.ssim(picture[:10], worse[:10])


def test_psnr_agrees_with_ffmpeg(stream: Stream, tmp_path: Path) -> None:
    got = stream.receive(stream.schedule.time_s, tmp_path / "x.y4m")
    shown = got.shown.frames
    ffmpeg.run(
        ["-i", str(shown.path), "-i", str(stream.reference.path), "-lavfi", "psnr=stats_file=psnr.txt"]
        + ["-f", "null", "-"],
        cwd=tmp_path,
    )
    theirs = [float(value) for value in re.findall(r"psnr_y:(\S+)", (tmp_path / "psnr.txt").read_text())]
    np.testing.assert_allclose(got.quality(with_vmaf=False).psnr_db, theirs, atol=0.006)


def test_vmaf_of_the_clip_itself_is_near_its_maximum(stream: Stream) -> None:
    found = scores.vmaf(stream.reference, stream.reference)
    assert found.shape == (50,)
    assert found.mean() > 95


def test_pictures_of_two_sizes_are_not_compared(stream: Stream, tmp_path: Path) -> None:
    ffmpeg.run(
        ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=0.1", "-pix_fmt", "yuv420p"]
        + [str(tmp_path / "small.y4m")]
    )
    small = open_frames(tmp_path / "small.y4m")
    with pytest.raises(MediaError, match="64x64 cannot be compared with 192x128"):
        scores.score(stream.reference, small)


def test_colours_survive_the_conversion_to_rgb(tmp_path: Path) -> None:
    for name, expected in {
        "red": (255, 0, 0),
        "lime": (0, 255, 0),
        "blue": (0, 0, 255),
        "white": (255,) * 3,
    }.items():
        path = tmp_path / f"{name}.y4m"
        ffmpeg.run(
            ["-f", "lavfi", "-i", f"color={name}:s=32x32:d=0.04:r=25", "-pix_fmt", "yuv420p", str(path)]
        )
        pixel = open_frames(path).rgb(0)[16, 16]
        assert np.abs(pixel.astype(int) - expected).max() <= 3, name


def test_strip_is_a_picture_with_a_row_per_variant(stream: Stream, tmp_path: Path) -> None:
    from PIL import Image

    variants = {"sent": stream.reference, "received": stream.reference}
    write_strip(tmp_path / "a.png", variants, [3, 20, 40], picture_width=96)
    write_strip(tmp_path / "b.png", variants, [3, 20, 40], picture_width=96)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    with Image.open(tmp_path / "a.png") as sheet:
        assert sheet.size == (6 + 3 * (96 + 6), 6 + 2 * (24 + 64 + 6))
        middle = np.asarray(sheet.convert("RGB"))[6 + 24 + 32, 6 + 102 + 48]
    nearby = stream.reference.rgb(20)[56:72, 88:104].reshape(-1, 3)
    assert np.all(middle >= nearby.min(axis=0).astype(int) - 20)
    assert np.all(middle <= nearby.max(axis=0).astype(int) + 20)
    with pytest.raises(MediaError, match="no frame 50"):
        write_strip(tmp_path / "c.png", variants, [50])


def test_selected_frames_are_those_at_which_variants_differ() -> None:
    calm, rough = [40.0] * 40, [40.0] * 40
    rough[10], rough[11], rough[30] = 20.0, 21.0, 25.0
    assert telling_frames({"a": calm, "b": rough}, count=2) == [10, 30]
