"""Scripts that check a pack in a container, or in an environment of its own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

PACKAGES = ("numpy", "rich", "scipy", "vl-convert-python")
"""Packages that the check of a pack imports, besides Whimbrel."""
_VIDEO = ("imageio-ffmpeg", "pillow")

_CONTAINERFILE = """\
# The pack is the folder above: `podman build -f container/Containerfile .` from there.
FROM docker.io/library/python:{python}-slim
COPY . /pack
WORKDIR /pack
RUN pip install --no-cache-dir -r container/requirements.txt
RUN useradd checker && mkdir /work && chown checker /work
USER checker
ENTRYPOINT ["whimbrel", "verify", "/pack", "--out", "/work"]
"""

_VERIFY = """\
#!/bin/sh
# Checks this pack in a container: container/verify.sh [--whole]
set -eu
cd "$(dirname "$0")/.."
engine=$(command -v podman || command -v docker) || {
  echo "needs podman or docker; container/venv.sh needs neither" >&2
  exit 2
}
"$engine" build --tag whimbrel-pack --file container/Containerfile .
exec "$engine" run --rm --network none whimbrel-pack "$@"
"""

_VENV = """\
#!/bin/sh
# Checks this pack in a Python environment of its own: container/venv.sh [--whole]
set -eu
cd "$(dirname "$0")/.."
pack=$PWD
# Another version has another environment. Nobody else may write there, as into /tmp.
digest=$(cat container/requirements.txt software/* 2>/dev/null | cksum | cut -d ' ' -f 1)
place=${XDG_CACHE_HOME:-$HOME/.cache}/whimbrel-pack/$digest
test -x "$place/bin/whimbrel" || {
  python3 -m venv "$place"
  "$place/bin/pip" install --quiet -r container/requirements.txt
}
cd "$place"
exec "$place/bin/whimbrel" verify "$pack" --out "$place/work" "$@"
"""


def files(version: str, python: str, wheel: str, *, has_video: bool) -> Mapping[str, str]:
    """The files by name, below the folder `container`.

    Args:
        version: of Whimbrel.
        python: version of the Python that made the results.
        wheel: name of the wheel in the folder `software`; empty without one.
        has_video: true if runs decode video or speech.
    """
    packages = [*PACKAGES, *(_VIDEO if has_video else ())]
    extras = "[charts,video]" if has_video else "[charts]"
    whimbrel = f"./software/{wheel}" if wheel else f"whimbrel{extras}=={version}"
    pinned = [f"{name}=={metadata.version(name)}" for name in packages]
    minor = ".".join(python.split(".")[:2])
    return {
        "Containerfile": _CONTAINERFILE.format(python=minor),
        "verify.sh": _VERIFY,
        "venv.sh": _VENV,
        "requirements.txt": "\n".join([whimbrel, *pinned]) + "\n",
    }
