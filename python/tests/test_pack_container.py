"""`container/venv.sh` of a pack."""

import os
import subprocess
from pathlib import Path

from whimbrel.packing import container

PYTHON = """#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho installed\\n' > "$3/bin/pip"
printf '#!/bin/sh\\necho "$0"\\n' > "$3/bin/whimbrel"
chmod +x "$3/bin/pip" "$3/bin/whimbrel"
"""


def test_each_version_has_an_environment_that_only_its_user_may_write(tmp_path: Path) -> None:
    home, shared, programs = (tmp_path / name for name in ("home", "shared", "programs"))
    for folder in (home, shared, programs):
        folder.mkdir()
    (programs / "python3").write_text(PYTHON)
    (programs / "python3").chmod(0o755)
    places = {"HOME": str(home), "TMPDIR": str(shared), "PATH": f"{programs}:{os.environ['PATH']}"}

    def said(version: str, wheel: bytes = b"") -> list[str]:
        pack = tmp_path / version
        (pack / "container").mkdir(parents=True, exist_ok=True)
        (pack / "software").mkdir(exist_ok=True)
        (pack / "software/whimbrel.whl").write_bytes(wheel)
        for name, text in container.files(version, "3.11", "", has_video=False).items():
            (pack / "container" / name).write_text(text)
        words = ["sh", str(pack / "container/venv.sh")]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=places)
        return done.stdout.split()

    ((first, program), again) = said("0.1.0"), said("0.1.0")
    assert first == "installed"
    assert again == [program]
    assert program.startswith(f"{home}/")
    assert not list(shared.iterdir())
    other = said("0.2.0")
    rebuilt = said("0.2.0", b"another build")
    assert [other[0], rebuilt[0]] == ["installed", "installed"]
    assert len({program, other[1], rebuilt[1]}) == 3
