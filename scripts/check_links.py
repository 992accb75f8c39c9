#!/usr/bin/env python3
"""Checks that relative links and #anchors in Markdown files have targets.

Usage: scripts/check_links.py FILE_OR_FOLDER...
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)


def anchor(heading: str) -> str:
    """The anchor that Markdown viewers make of a heading."""
    text = re.sub(r"[`*_]", "", heading.strip().lower())
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))


def markdown_files(arguments: list[str]) -> list[Path]:
    files: list[Path] = []
    for argument in arguments:
        path = Path(argument)
        files += sorted(path.rglob("*.md")) if path.is_dir() else [path]
    return files


def broken_links(path: Path) -> list[str]:
    found = []
    for match in LINK.finditer(path.read_text()):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        file = (path.parent / name).resolve() if name else path.resolve()
        if not file.exists():
            found.append(f"{path}: {target}: no such file")
        elif (
            fragment
            and file.suffix == ".md"
            and fragment not in map(anchor, HEADING.findall(file.read_text()))
        ):
            found.append(f"{path}: {target}: no such heading")
    return found


def main() -> int:
    files = markdown_files(sys.argv[1:])
    if not files:
        print("usage: check_links.py FILE_OR_FOLDER...", file=sys.stderr)
        return 2
    found = [line for path in files for line in broken_links(path)]
    print("\n".join(found) or f"links: ok in {len(files)} file(s)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
