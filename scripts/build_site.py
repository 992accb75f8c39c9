#!/usr/bin/env python3
"""Builds the documentation site from docs/, the papers' pages, the notebooks and the docstrings.

Usage: scripts/build_site.py OUT [--rust DIR] [--playground DIR]

The navigation follows docs/index.md: each list there is a group. Every warning is an error, as is a link of
the built pages without a target. `--rust` adds the crates' documentation to the site, `--playground` the
playground.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import authority
import compliance
import nbformat
import playground_links
import validation
from site_reference import write_reference

from whimbrel._reproduce import reasons

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~)")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) \[")
PAGE = re.compile(r"\]\(([^)#\s]+\.(?:md|ipynb))(?:#[^)]*)?\)")
RUST = "rust"
"""Folder of the crates' documentation in the site."""
PLAYGROUND = "playground"
"""Folder of the playground in the site."""


def pages() -> dict[Path, str]:
    """Each file that becomes a page, or the folder of which one is made, and its place in the site."""
    found = {path: path.name for path in sorted((ROOT / "docs").glob("*.md"))}
    for path in sorted((ROOT / "papers").glob("*/*.md")):
        name = path.parent.name
        found[path] = f"papers/{name}.md" if path.stem == "README" else f"papers/{name}-{path.stem}.md"
    for path in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")):
        found[path] = f"notebooks/{path.name}"
    found[ROOT / "compliance"] = "compliance.md"
    found[ROOT / "compliance" / "authority"] = "authority.md"
    found[ROOT / validation.PAGE] = "validation-80211.md"
    return found


def pictures() -> dict[Path, str]:
    """Each picture and its place in the site."""
    return {path: f"images/{path.name}" for path in sorted((ROOT / "docs" / "images").iterdir())}


def relinked(text: str, source: Path, places: dict[Path, str]) -> str:
    """The text with links to other pages changed to their places in the site; other files are only named.

    Raises:
        SystemExit: a link names a file that does not exist.
    """

    def change(found: re.Match[str]) -> str:
        target, _, fragment = found[2].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        file = (source.parent / target).resolve()
        if not file.exists():
            raise SystemExit(f"{source.relative_to(ROOT)}: {target} does not exist")
        if file not in places:
            return f"{found[1]} (`{file.relative_to(ROOT)}`)"
        here = Path(places[source]).parent
        place = Path(os.path.relpath(places[file], here)).as_posix()
        return f"[{found[1]}]({place}{'#' if fragment else ''}{fragment})"

    lines, in_code = [], False
    for line in text.splitlines(keepends=True):
        if FENCE.match(line.lstrip()):
            in_code = not in_code
        lines.append(line if in_code else LINK.sub(change, line))
    return "".join(lines)


def groups(index: str) -> list[tuple[str, list[str]]]:
    """The lists of links in docs/index.md, each with its heading or the line before it."""
    found: list[tuple[str, list[str]]] = []
    caption = ""
    for line in index.splitlines():
        if ITEM.match(line):
            if not found or found[-1][0] != caption:
                found.append((caption, []))
            found[-1][1].extend(PAGE.findall(line))
        elif line.startswith("#") or (line.strip().endswith(":") and not line.startswith((" ", "-", "|"))):
            caption = line.strip("#: ")
    return found


def stage(source: Path) -> None:
    """Writes the pages as the site has them."""
    places = pages()
    links = places | pictures()
    for path, place in links.items():
        target = source / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if path not in places:
            shutil.copy2(path, target)
        elif path.suffix == ".ipynb":
            target.write_text(staged_notebook(path, links), encoding="utf-8")
        elif path.is_dir():
            made = authority if path.name == "authority" else compliance
            target.write_text(made.page(made.read(ROOT)), encoding="utf-8")
        else:
            text = relinked(path.read_text(encoding="utf-8"), path, links)
            if path.is_relative_to(ROOT / "papers"):
                text = text.replace(reasons.MARK, reasons.table(reasons.read(path.parent)))
            target.write_text(playground_links.linked(text, place), encoding="utf-8")
    reference = write_reference(ROOT / "python", source / "reference")
    index = source / "index.md"
    text = index.read_text(encoding="utf-8")
    listed = [
        *groups(text),
        ("Papers", [place for place in places.values() if place.startswith("papers/")]),
        ("Notebooks", [place for place in places.values() if place.startswith("notebooks/")]),
        ("Reference", reference),
    ]
    seen: set[str] = set()
    navigation = []
    for caption, entries in listed:
        mine = [entry for entry in dict.fromkeys(entries) if entry not in seen]
        seen.update(mine)
        if mine:
            shown = "\n".join(mine)
            navigation.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{shown}\n```\n")
    if missing := sorted({place for place in places.values() if place != "index.md"} - seen):
        raise SystemExit(f"docs/index.md names no link to {', '.join(missing)}")
    extra = (
        "\nPapers and notebooks:\n\n"
        + "".join(f"- [{title(source / place)}]({place})\n" for _, mine in listed[-3:-1] for place in mine)
        + "\nReference:\n\n"
        + "".join(f"- [{title(source / place)}]({place})\n" for place in reference)
        + f'- <a href="{RUST}/whimbrel_net/index.html">The Rust crates</a>\n\n'
    )
    index.write_text(f"{text}{extra}{''.join(navigation)}", encoding="utf-8")


def staged_notebook(path: Path, places: dict[Path, str]) -> str:
    """The notebook with its links changed, and run where its files are."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = relinked(cell.source, path, places)
    return str(nbformat.writes(notebook))


def title(page: Path) -> str:
    """The first heading of a page."""
    if page.suffix == ".ipynb":
        text = str(nbformat.read(page, as_version=4).cells[0].source)
    else:
        text = page.read_text(encoding="utf-8")
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{page}: expected a heading")
    return found[1].strip()


class _Links(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.append(value)
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)


def broken(site: Path) -> list[str]:
    """Links of the pages without a file or an anchor; pages of the crates' documentation are not read."""
    pages_ = {}
    for path in sorted(site.rglob("*.html")):
        if path.relative_to(site).parts[0] == RUST:
            continue
        pages_[path] = _Links()
        pages_[path].feed(path.read_text(encoding="utf-8"))
    found = []
    for path, page in pages_.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("data:"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages_.get(target)
            if not target.exists():
                found.append(f"{path.relative_to(site)}: {link}: no such file")
            elif target == site.resolve() / playground_links.PAGE:
                continue  # behind `#` is a scenario
            elif parts.fragment and known is not None and unquote(parts.fragment) not in known.anchors:
                found.append(f"{path.relative_to(site)}: {link}: no such anchor")
    return found


def linked(source: str, target: str) -> None:
    """Links a file, or copies it to another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the documentation site.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--rust", type=Path, help="the crates' documentation, target/doc")
    parser.add_argument("--playground", type=Path, help="the folder that build_playground.py has written")
    given = parser.parse_args()
    out = given.out.resolve()
    work = out.with_name(f".{out.name}-source")
    # The notebooks' scenarios lie where they do in the repository, relative to them.
    source = work / "pages" / "site"
    shutil.rmtree(source, ignore_errors=True)
    stage(source)
    for name in ("scenarios", "traces"):
        link = source / name
        link.symlink_to(ROOT / "examples" / name)
    shutil.rmtree(out, ignore_errors=True)
    # Kernels read no settings of the user. Their warning about local connections is of no use here.
    settings = work / "ipython" / "profile_default" / "ipython_kernel_config.py"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('c.IPKernelApp.log_level = "ERROR"\n', encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(work / "ipython")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "-d",
        str(work / "doctrees"),
    ]
    command += [
        "-D",
        f"nb_execution_cache_path={work / 'notebooks'}",
        "-c",
        str(ROOT / "site"),
        str(source),
        str(out),
    ]
    if (code := subprocess.run(command, check=False).returncode) != 0:
        return code
    if given.rust is not None:
        shutil.copytree(given.rust, out / RUST, copy_function=linked)
    has_playground = given.playground is not None and given.playground.is_dir()
    if has_playground:
        shutil.copytree(given.playground, out / PLAYGROUND)
    found = broken(out)
    if given.rust is None:
        found = [each for each in found if f" {RUST}/" not in each]
    if not has_playground:
        found = [each for each in found if playground_links.PAGE not in each]
    print("\n".join(found) or f"site: {out / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
