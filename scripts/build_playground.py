#!/usr/bin/env python3
"""Builds the playground: one page with the simulator as a WebAssembly module and the packaged examples.

Usage: scripts/build_playground.py OUT

Writes OUT/index.html, which works from a disk as well as from a server, and OUT/offline.js, by which a
browser keeps the page of a server. Without the target for browsers it prints how to install it and writes
nothing; under REQUIRE_ALL=1 it fails.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "crates" / "playground" / "page"
STYLE = (ROOT / "crates" / "live" / "src" / "page" / "page.css", PAGE / "page.css")
SCRIPTS = ("editor.js", "completion.js", "knobs.js", "exercise.js", "address.js", "frame.js", "page.js")
TARGET = "wasm32-unknown-unknown"
PROFILE = "playground"
GROUPS = {
    "scenarios": "Scenarios",
    "teaching": "Exercises",
    "rfc8867": "RFC 8867",
    "rfc8869": "RFC 8869",
}
FIRST = "scenarios/repaired"
"""The example that an address without one shows."""
PAGES = re.compile(r" \(docs/[^)]*\)")
MOST = 3_000_000
"""The most bytes of the page as a server sends it, compressed."""


def has_target() -> bool:
    """True if the compiler has the target."""
    command = ["rustc", "--print", "target-libdir", "--target", TARGET]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.returncode == 0 and Path(found.stdout.strip()).is_dir()


def module() -> bytes:
    """The compiled module.

    The page has all sans-IO crates but `whimbrel-rtp`. The build of that one shows that it needs no operating
    system either.
    """
    command = ["cargo", "build", "--quiet", "--profile", PROFILE, "--target", TARGET, "--lib"]
    subprocess.run([*command, "-p", "whimbrel-playground", "-p", "whimbrel-rtp"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return (ROOT / target / TARGET / PROFILE / "whimbrel_playground.wasm").read_bytes()


def examples() -> dict[str, object]:
    """The packaged scenarios, the exercises on them, and the files that they name."""
    described = tomllib.loads((ROOT / "examples" / "files.toml").read_text(encoding="utf-8"))
    found, files = [], {}
    for folder, group in GROUPS.items():
        for file, about in described[folder].items():
            path = ROOT / "examples" / folder / file
            if path.suffix == ".toml":
                text = path.read_text(encoding="utf-8")
                # The module has no DTLS.
                if all("encryption" not in flow for flow in tomllib.loads(text)["flow"]):
                    name = f"{folder}/{path.stem}"
                    found.append({"name": name, "group": group, "about": PAGES.sub("", about), "text": text})
    for folder in ("scenarios", "traces"):
        for file in described[folder]:
            if not file.endswith(".toml"):
                content = (ROOT / "examples" / folder / file).read_bytes()
                files[f"{folder}/{file}"] = base64.b64encode(content).decode()
    found.sort(key=lambda example: example["name"] != FIRST)
    exercises = tomllib.loads((PAGE / "exercises.toml").read_text(encoding="utf-8"))["exercise"]
    return {"examples": found, "exercises": exercises, "files": files}


def packed(content: bytes) -> str:
    """Bytes as the page contains them: compressed, in base64."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def page(code: bytes) -> str:
    """The page with its parts in their places."""
    parts = {
        "/*STYLE*/": "".join(path.read_text(encoding="utf-8") for path in STYLE),
        "/*MODULE*/": packed(code),
        "/*FILES*/": packed(json.dumps(examples()).encode()),
        "/*WORKER*/": (PAGE / "worker.js").read_text(encoding="utf-8"),
        "/*SCRIPT*/": "".join((PAGE / name).read_text(encoding="utf-8") for name in SCRIPTS),
    }
    text = (PAGE / "page.html").read_text(encoding="utf-8")
    for place, part in parts.items():
        before, _, after = text.partition(place)
        text = before + part + after
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the playground.")
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    if not has_target():
        print(f"playground: skipped. Install the target with: rustup target add {TARGET}", file=sys.stderr)
        return int(os.environ.get("REQUIRE_ALL") == "1")
    code = module()
    text = page(code)
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").write_text(text, encoding="utf-8")
    shutil.copy2(PAGE / "offline.js", out)
    size = len(gzip.compress(text.encode(), 6))
    print(
        f"playground: {out / 'index.html'}: {size / 1e6:.2f} MB compressed, module {len(code) / 1e6:.2f} MB"
    )
    if size > MOST:
        print(f"playground: expected at most {MOST / 1e6:.0f} MB", file=sys.stderr)
    return int(size > MOST)


if __name__ == "__main__":
    sys.exit(main())
