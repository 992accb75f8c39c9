"""A pack's description for those who find it: RO-Crate metadata, Zenodo's, and the artefact appendix."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from whimbrel._simulate.record_format import SUFFIX
from whimbrel.packing import manifest
from whimbrel.packing.manifest import Claimed, File, Manifest

CRATE = "ro-crate-metadata.json"
ZENODO = ".zenodo.json"
APPENDIX = "ARTEFACT.md"
_SOFTWARE = "#whimbrel"
_KEYWORDS = ("congestion control", "network simulation", "reproducibility", "live media")
_FORMATS = {
    ".parquet": "application/vnd.apache.parquet",
    ".record": "application/zip",
    ".toml": "application/toml",
}


@dataclass(frozen=True)
class Publication:
    """Facts that only the author knows.

    Attributes:
        title: of the pack.
        authors: `Family, Given` each.
        licence: of the data, as an SPDX identifier.
    """

    title: str
    authors: tuple[str, ...]
    licence: str


def crate(about: Manifest, publication: Publication, files: Mapping[str, File]) -> str:
    """The text of `ro-crate-metadata.json`, RO-Crate 1.1 (https://w3id.org/ro/crate/1.1)."""
    people = [{"@id": f"#author-{number}"} for number, _ in enumerate(publication.authors, 1)]
    licence = f"https://spdx.org/licenses/{publication.licence}"
    graph: list[Mapping[str, object]] = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": publication.title,
            "description": summary(about),
            "datePublished": str(about.about.get("created", ""))[:10],
            "license": {"@id": licence},
            "author": people,
            "hasPart": [{"@id": path} for path in files],
            "mentions": [{"@id": _action(claim)} for claim in about.claims],
        },
        {"@id": licence, "@type": "CreativeWork", "name": publication.licence},
        *(
            {"@id": each["@id"], "@type": "Person", "name": name}
            for each, name in zip(people, publication.authors, strict=True)
        ),
        {
            "@id": _SOFTWARE,
            "@type": "SoftwareApplication",
            "name": "Whimbrel",
            "version": about.version,
            "license": "MIT OR Apache-2.0",
        },
        *(_performed(claim, files) for claim in about.claims),
        *(_file(path, file) for path, file in files.items()),
    ]
    # Version 1.1 has no term for a digest.
    context = ["https://w3id.org/ro/crate/1.1/context", {"sha256": "https://schema.org/sha256"}]
    return json.dumps({"@context": context, "@graph": graph}, indent=1, ensure_ascii=False) + "\n"


def zenodo(about: Manifest, publication: Publication) -> str:
    """The text of `.zenodo.json`."""
    said = "".join(f"<li>{escape(claim.claim)}</li>" for claim in about.claims if claim.verdict)
    document = {
        "title": publication.title,
        "upload_type": "dataset",
        "description": f"<p>{escape(summary(about))}</p>" + (f"<ul>{said}</ul>" if said else ""),
        "creators": [{"name": name} for name in publication.authors],
        "access_right": "open",
        "license": publication.licence.lower(),
        "keywords": list(_KEYWORDS),
        "notes": "`whimbrel verify` checks this archive: its digests, and its runs by repeating them.",
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def summary(about: Manifest) -> str:
    """The pack in a sentence."""
    runs = sum(path.endswith(SUFFIX) for path in about.files)
    return (
        f"Results of Whimbrel {about.version}: {len(about.claims)} claims and tables from {runs} simulated"
        " runs, each with its command, its time and its size."
    )


def appendix(about: Manifest, publication: Publication, name: str) -> str:
    """The text of the artefact appendix, filled."""
    machine = about.about.get("machine", {})
    known = [claim.seconds for claim in about.claims if claim.seconds is not None]
    size = sum(file.bytes for file in about.files.values())
    lines = [
        f"# Artefact appendix: {publication.title}",
        "",
        summary(about),
        "",
        "## Available",
        "",
        f"- One archive, {name}, with the metadata of RO-Crate 1.1 ({CRATE}) and of Zenodo ({ZENODO}).",
        f"- {len(about.files)} files, {_size(size)} unpacked; {manifest.NAME} has the SHA-256 of each.",
        f"- Licence: {publication.licence} for the data, MIT or Apache-2.0 for the software (`licences/`).",
        "",
        "## Functional",
        "",
        f"- Software: Whimbrel {about.version}; `container/requirements.txt` has all versions.",
        "- Hardware: none in particular; no network, no accelerator, no privileges.",
        f"- Made with Python {machine.get('python', '?')} on {machine.get('processors', '?')} processors"
        f" ({machine.get('processor', '?')}, {machine.get('system', '?')}).",
        "- In a container: `container/verify.sh`. Without one: `container/venv.sh`, or by hand",
        "",
        "```sh",
        "python3 -m venv venv && venv/bin/pip install -r container/requirements.txt",
        f"venv/bin/whimbrel verify {name}",
        "```",
        "",
        "## Reproduced",
        "",
        f"`whimbrel verify {name}` checks the digests, repeats a run of each table, and makes all tables,"
        f" claims and figures again from the records. `whimbrel verify {name} --whole` repeats all runs"
        + (f", of which the longest claim takes {_time(max(known))}" if known else "")
        + ". The same seed has the same bytes, on any machine.",
        "",
        "A command of this table repeats one claim alone, from the folder in which the archive was unpacked."
        " Its time is that of its runs one after the other; its size that of its records and tables.",
        "",
        "| claim | verdict | runs | time | disk | command |",
        "|---|---|---|---|---|---|",
        *(_row(claim) for claim in about.claims),
        "",
    ]
    return "\n".join(lines)


def _row(claim: Claimed) -> str:
    cells = (
        f"{claim.claim} (`{claim.id}`)",
        claim.verdict or "a table",
        str(claim.runs),
        _time(claim.seconds),
        _size(claim.bytes),
        f"`{claim.command} --out again`",
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "not measured"
    return f"{seconds:.1f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def _size(count: int) -> str:
    return f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def _action(claim: Claimed) -> str:
    return f"#made-{claim.id}"


def _performed(claim: Claimed, files: Mapping[str, File]) -> Mapping[str, object]:
    tables = [f"{manifest.RESULTS}/{claim.group}/{item}.csv" for item in claim.items]
    return {
        "@id": _action(claim),
        "@type": "CreateAction",
        "name": claim.claim,
        "description": claim.command,
        "instrument": {"@id": _SOFTWARE},
        "result": [{"@id": path} for path in tables if path in files],
    }


def _file(path: str, file: File) -> Mapping[str, object]:
    suffix = Path(path).suffix
    kind = _FORMATS.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")
    return {
        "@id": path,
        "@type": "File",
        "name": Path(path).name,
        "contentSize": str(file.bytes),
        "encodingFormat": kind,
        "sha256": file.sha256,
    }


def listed(claims: Sequence[Claimed]) -> list[dict[str, object]]:
    """The claims for JSON."""
    names = ("id", "claim", "verdict", "command", "runs", "seconds", "bytes")
    return [{name: getattr(claim, name) for name in names} for claim in claims]
