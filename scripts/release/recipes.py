"""Recipes for other builders: a Containerfile and a Homebrew formula, from the templates in packaging/."""

from __future__ import annotations

import hashlib
import os
import re

import source
from workspace import ROOT, Release

TEMPLATES = {"Containerfile.in": "Containerfile", "whimbrel.rb.in": "whimbrel.rb"}
# The address at which the files of a release are published.
URL = os.environ.get("RELEASE_URL", "https://example.org/whimbrel/releases")
INSTRUCTIONS = {"FROM", "ARG", "ADD", "LABEL", "USER", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}


def make(release: Release) -> None:
    """Fills the templates in; the stage `consistency` checks them."""
    archive = source.archive(release)
    if not archive.exists():
        source.make(release)
    values = {
        "VERSION": release.version,
        "COMMIT": release.commit,
        "URL": URL,
        "SHA256": hashlib.sha256(archive.read_bytes()).hexdigest(),
    }
    for template, name in TEMPLATES.items():
        text = filled((ROOT / "packaging" / template).read_text(), values)
        (release.files / name).write_text(text)


def filled(template: str, values: dict[str, str]) -> str:
    """The template with its names between at signs replaced.

    Raises:
        KeyError: it has a name without a value.
    """
    return re.sub(r"@([A-Z0-9]+)@", lambda match: values[match[1]], template)


def container_offences(text: str) -> list[str]:
    """The faults of a Containerfile."""
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and line[0] != "#"]
    words = [line.split()[0] for line in lines]
    found = [f"Containerfile: no instruction {word}" for word in words if word not in INSTRUCTIONS]
    if words[:1] != ["FROM"] or words.count("ENTRYPOINT") != 1:
        found.append("Containerfile: expected FROM first, and one ENTRYPOINT")
    return found
