"""Frame-by-frame differences between the shown video and the sent one.

PSNR and SSIM are of the luma plane. SSIM follows Wang, Bovik, Sheikh and Simoncelli (2004): an 11x11
Gaussian window of 1.5 samples, population variances, K1 = 0.01, K2 = 0.03; ffmpeg's own `ssim` filter uses
8x8 blocks and gives other numbers. VMAF is Netflix's model v0.6.1 as built into ffmpeg's libvmaf.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whimbrel._base import documents, extras, ffmpeg
from whimbrel.errors import MediaError
from whimbrel.quality.frames import Frames, Plane

Scores = npt.NDArray[np.float64]

PEAK = 255.0
PSNR_CEILING_DB = 100.0
"""Replaces the infinite PSNR of equal pictures, so that a mean stays finite."""

_SIGMA = 1.5
_RADIUS = 5
_C1 = (0.01 * PEAK) ** 2
_C2 = (0.03 * PEAK) ** 2


@dataclass(frozen=True)
class Quality:
    """The scores of every frame, as arrays of one length.

    Attributes:
        psnr_db: peak signal to noise ratio of the luma in dB, at most `PSNR_CEILING_DB`.
        ssim: Wang's structural similarity of the luma, 1 for equal pictures.
        vmaf: 0 to 100; empty if VMAF was not requested.
    """

    psnr_db: Scores
    ssim: Scores
    vmaf: Scores

    def means(self) -> dict[str, float]:
        """Mean over all frames by name, without the scores not requested."""
        named = {"psnr_db": self.psnr_db, "ssim": self.ssim, "vmaf": self.vmaf}
        return {name: float(np.mean(values)) for name, values in named.items() if values.size}


def score(reference: Frames, shown: Frames, *, with_vmaf: bool = True) -> Quality:
    """All scores of `shown` against `reference`.

    Args:
        reference: the sent video; repeated if it is shorter than `shown`.
        shown: the shown video, of the same size and rate.
        with_vmaf: includes VMAF, which takes most of the time.
    """
    _check(reference, shown)
    return Quality(
        _each_frame(psnr, reference, shown),
        _each_frame(ssim, reference, shown),
        vmaf(reference, shown) if with_vmaf else np.empty(0),
    )


def psnr(reference: Plane, shown: Plane) -> float:
    """Peak signal to noise ratio of one plane in dB: 10 log10(255^2 / mean square error)."""
    difference = reference.astype(np.float64) - shown
    error = float(np.mean(difference * difference))
    if error == 0.0:
        return PSNR_CEILING_DB
    return min(PSNR_CEILING_DB, 10 * float(np.log10(PEAK * PEAK / error)))


def psnr_of(reference: Frames, shown: Frames) -> Scores:
    """PSNR of every frame in dB, as in `score`, without the slower scores."""
    _check(reference, shown)
    return _each_frame(psnr, reference, shown)


def ssim(reference: Plane, shown: Plane) -> float:
    """Structural similarity of one plane, of at least 11x11 samples (Wang et al. 2004, equation 13).

    Windows that would cross the edge are left out, as in the authors' own program.
    """
    if min(reference.shape) <= 2 * _RADIUS:
        raise MediaError(f"SSIM needs more than {2 * _RADIUS} samples a side, not {reference.shape}")
    ndimage = extras.load("scipy.ndimage", "video", "SSIM")
    x, y = reference.astype(np.float64), shown.astype(np.float64)

    def smooth(plane: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        wide = ndimage.gaussian_filter(plane, _SIGMA, radius=_RADIUS)
        return np.asarray(wide[_RADIUS:-_RADIUS, _RADIUS:-_RADIUS])

    mean_x, mean_y = smooth(x), smooth(y)
    variance_x = smooth(x * x) - mean_x * mean_x
    variance_y = smooth(y * y) - mean_y * mean_y
    covariance = smooth(x * y) - mean_x * mean_y
    likeness = (2 * mean_x * mean_y + _C1) * (2 * covariance + _C2)
    scale = (mean_x * mean_x + mean_y * mean_y + _C1) * (variance_x + variance_y + _C2)
    return float(np.mean(likeness / scale))


def vmaf(reference: Frames, shown: Frames) -> Scores:
    """VMAF of every frame, 0 to 100.

    Raises:
        MediaError: also when this ffmpeg was built without libvmaf.
    """
    _check(reference, shown)
    loops = -(-len(shown) // len(reference)) - 1
    with tempfile.TemporaryDirectory(prefix="whimbrel-") as directory:
        # A bare file name: a path would have to be escaped for the filter's syntax.
        ffmpeg.run(
            ["-i", str(shown.path.resolve()), "-stream_loop", str(loops), "-i", str(reference.path.resolve())]
            + ["-lavfi", "[0:v][1:v]libvmaf=log_fmt=json:log_path=vmaf.json:shortest=1", "-f", "null", "-"],
            cwd=Path(directory),
        )
        report = documents.read_json(Path(directory) / "vmaf.json")
    values = np.array([frame["metrics"]["vmaf"] for frame in report["frames"]], dtype=np.float64)
    if values.size != len(shown):
        raise MediaError(f"VMAF scored {values.size} of {len(shown)} frames")
    return values


def _check(reference: Frames, shown: Frames) -> None:
    if len(reference) == 0 or len(shown) == 0:
        raise MediaError("there are no frames to compare")
    if (reference.width, reference.height) != (shown.width, shown.height):
        raise MediaError(
            f"{shown.width}x{shown.height} cannot be compared with {reference.width}x{reference.height}"
        )


def _each_frame(measure: Callable[[Plane, Plane], float], reference: Frames, shown: Frames) -> Scores:
    def one(frame: int) -> float:
        return measure(reference.luma(frame % len(reference)), shown.luma(frame))

    # Threads: numpy and scipy release the interpreter lock; the order of results is fixed.
    with ThreadPoolExecutor() as pool:
        return np.fromiter(pool.map(one, range(len(shown))), dtype=np.float64, count=len(shown))
