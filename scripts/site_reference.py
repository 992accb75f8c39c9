"""The Python reference of the documentation site: Markdown from signatures and docstrings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import griffe

PAGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "whimbrel": ("Python: simulate, compare, reproduce", ("whimbrel",)),
    "results": (
        "Python: scenarios, results and statistics",
        ("scenario", "result", "statistics", "comparison", "summaries", "flow_means", "errors"),
    ),
    "papers": ("Python: papers, claims and figures", ("paper", "claims", "sets", "sheet", "figures")),
    "quality": ("Python: quality of calls and videos", ("quality",)),
    "cluster": ("Python: schedulers and clusters", ("cluster",)),
}
"""File, title and modules of each page. The first page has the names that `whimbrel` itself exports."""


def write_reference(package: Path, out: Path) -> list[str]:
    """Writes the pages; returns their places in the site."""
    out.mkdir(parents=True, exist_ok=True)
    whimbrel = cast(
        griffe.Module,
        griffe.load("whimbrel", search_paths=[str(package)], docstring_parser="google", resolve_aliases=True),
    )
    for file, (title, modules) in PAGES.items():
        text = [f"# {title}\n\n"]
        if file == "whimbrel":
            text += exported(whimbrel)
        else:
            for name in modules:
                text += module(whimbrel[name])
        (out / f"{file}.md").write_text("".join(text), encoding="utf-8")
    return [f"reference/{file}.md" for file in PAGES]


def exported(whimbrel: griffe.Module) -> Iterator[str]:
    """The names that the package exports."""
    yield described(whimbrel)
    for name in sorted(str(each).strip("'\"") for each in whimbrel.exports or ()):
        if name == "__version__":
            yield "## `__version__`\n\nThe installed version.\n\n"
        else:
            yield from definition(home(whimbrel, name), "whimbrel", 2)


def home(whimbrel: griffe.Module, name: str) -> griffe.Object:
    """The definition of an exported name, which is imported on first use."""
    member = whimbrel.members[name]
    target = member.target_path if isinstance(member, griffe.Alias) else member.path
    return cast(griffe.Object, whimbrel[target.removeprefix("whimbrel.")])


def module(of: griffe.Object) -> Iterator[str]:
    """A module or package with its public members; of one that exports names, these."""
    yield f"## `{of.path}`\n\n{described(of)}"
    exports = {str(each).strip("'\"") for each in of.exports or ()}
    for member in of.members.values():
        if member.name in exports if exports else is_public(member):
            definite = member.final_target if isinstance(member, griffe.Alias) else member
            if isinstance(definite, griffe.Object) and not definite.is_module:
                yield from definition(definite, of.path, 3)
    for name in () if exports else sorted(of.modules):
        if is_public(of.members[name]):
            yield from module(of.modules[name])


def is_public(member: griffe.Object | griffe.Alias) -> bool:
    return not member.name.startswith("_") and not member.is_alias


def definition(of: griffe.Object, within: str, level: int) -> Iterator[str]:
    """A class, a function or a value."""
    mark = "#" * level
    if isinstance(of, griffe.Attribute):
        if of.docstring is not None:
            yield f"{mark} `{within}.{of.name}`\n\n{described(of)}"
        return
    yield f"{mark} `{within}.{of.name}`\n\n"
    if isinstance(of, griffe.Function):
        yield signature(of, of.name)
        yield described(of)
    elif isinstance(of, griffe.Class):
        constructor = of.all_members.get("__init__")
        yield signature(constructor, of.name) if isinstance(constructor, griffe.Function) else ""
        yield described(of)
        for member in of.members.values():
            if not is_public(member):
                continue
            if isinstance(member, griffe.Function):
                yield f"{mark}# `{of.name}.{member.name}`\n\n"
                yield signature(member, member.name) + described(member)
            elif isinstance(member, griffe.Attribute) and "property" in member.labels:
                yield f"{mark}# `{of.name}.{member.name}`\n\n{described(member)}"


def signature(of: griffe.Function, name: str) -> str:
    """The signature as code."""
    shown, starred = [], False
    for parameter in of.parameters:
        if parameter.name in ("self", "cls"):
            continue
        kind = parameter.kind
        if kind is griffe.ParameterKind.keyword_only and not starred:
            shown.append("*")
            starred = True
        star = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(
            kind, ""
        )
        starred = starred or star == "*"
        text = f"{star}{parameter.name}"
        if parameter.annotation is not None:
            text += f": {parameter.annotation}"
        if parameter.default is not None and not star:
            text += f" = {parameter.default}" if parameter.annotation is not None else f"={parameter.default}"
        shown.append(text)
    returns = f" -> {of.returns}" if of.returns is not None and of.name != "__init__" else ""
    line = f"{name}({', '.join(shown)}){returns}"
    if len(line) > 90:
        inner = "".join(f"    {each},\n" for each in shown)
        line = f"{name}(\n{inner}){returns}"
    return f"```python\n{line}\n```\n\n"


def described(of: griffe.Object) -> str:
    """The docstring, its sections as lists."""
    if of.docstring is None:
        return ""
    text = []
    for section in of.docstring.parsed:
        if section.kind is griffe.DocstringSectionKind.text:
            text.append(f"{section.value}\n\n")
        elif section.kind in TITLES:
            entries = []
            for entry in section.value:
                name = getattr(entry, "name", "") or ""
                label = f"`{name}`" if name else f"`{entry.annotation}`" if entry.annotation else ""
                if section.kind is griffe.DocstringSectionKind.returns:
                    label = ""
                description = " ".join(entry.description.split())
                entries.append(f"- {label}: {description}\n" if label else f"- {description}\n")
            text.append(f"**{TITLES[section.kind]}**\n\n{''.join(entries)}\n")
        elif section.kind is griffe.DocstringSectionKind.admonition:
            text.append(f"*{section.title}* {section.value.description}\n\n")
        elif section.kind is griffe.DocstringSectionKind.examples:
            text += [f"```python\n{code}\n```\n\n" for _, code in section.value]
    return "".join(text)


TITLES = {
    griffe.DocstringSectionKind.parameters: "Arguments",
    griffe.DocstringSectionKind.attributes: "Attributes",
    griffe.DocstringSectionKind.returns: "Returns",
    griffe.DocstringSectionKind.yields: "Yields",
    griffe.DocstringSectionKind.raises: "Raises",
}
