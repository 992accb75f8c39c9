"""A page in a headless browser; without one a test is skipped, unless REQUIRE_ALL=1."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

needs_chromium = pytest.mark.skipif(
    shutil.which("chromium") is None and os.environ.get("REQUIRE_ALL") != "1",
    reason="chromium is not installed (Debian: apt-get install chromium)",
)


def dom(page: Path, *options: str) -> str:
    """The document after its scripts have run, as chromium prints it. `options`: further ones of chromium."""
    given = ("--headless", "--no-sandbox", "--disable-gpu", *options, "--dump-dom")
    command = ["chromium", *given, f"file://{page}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
