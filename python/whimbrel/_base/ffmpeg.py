"""The ffmpeg binary used for every score.

imageio-ffmpeg ships a static ffmpeg with libx264 and libvmaf, so scores do not depend on a distribution's
build. `IMAGEIO_FFMPEG_EXE` selects another one, whose scores may differ.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from whimbrel._base import extras
from whimbrel.errors import MediaError


@functools.cache
def executable() -> str:
    """Path of the ffmpeg binary.

    Raises:
        MediaError: this platform's imageio-ffmpeg has no binary and there is none on the path.
        MissingExtra: imageio-ffmpeg is not installed.
    """
    imageio_ffmpeg = extras.load("imageio_ffmpeg", "video", "an experiment with video or speech")
    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError as error:
        raise MediaError(f"no ffmpeg: {error}") from error


@functools.cache
def version() -> str:
    """First line of ffmpeg's version report, for manifests."""
    done = subprocess.run([executable(), "-version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


def _local(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments with inputs that open no addresses: a file may name some."""
    for word in arguments:
        if word == "-i":
            yield from ("-protocol_whitelist", "file,pipe")
        yield word


def run(arguments: Sequence[str], *, cwd: Path | None = None) -> bytes:
    """Runs ffmpeg quietly and returns its standard output.

    Args:
        arguments: everything after the program's name.
        cwd: directory to run in, for filters whose options cannot hold a full path.

    Raises:
        MediaError: ffmpeg ended with an error; the message ends with its last line.
    """
    command = [executable(), "-hide_banner", "-nostdin", "-v", "error", "-y", *_local(arguments)]
    done = subprocess.run(command, capture_output=True, cwd=cwd, check=False)
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise MediaError(f"ffmpeg failed ({done.returncode}): {' / '.join(words) or 'no message'}")
    return done.stdout
