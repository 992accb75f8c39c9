"""The sources of the commit as an archive, from which the formula builds."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

from workspace import ROOT, Release


def archive(release: Release) -> Path:
    """Its file."""
    return release.files / f"whimbrel-{release.version}-source.tar.gz"


def make(release: Release) -> None:
    """Packs the files that git knows, with the time of the commit."""
    prefix = f"--prefix=whimbrel-{release.version}/"
    plain = subprocess.run(
        ["git", "archive", "--format=tar", prefix, "HEAD"], cwd=ROOT, check=True, capture_output=True
    )
    archive(release).write_bytes(gzip.compress(plain.stdout, 9, mtime=0))
