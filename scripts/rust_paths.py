"""Finds what a Rust path names, by reading the source.

No compiler: a path leads through files and inline modules to an item, and the item must be there. A name
that a macro of our own generates cannot be found, and re-exports are not followed: a path names where a
thing is written.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

# A raw string, a string, a character (not a lifetime), or a comment.
_OPAQUE = re.compile(
    r'b?r(?P<hash>#*)".*?"(?P=hash)|b?"(?:\\.|[^"\\])*"|'
    r"b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F_]+\}|.)|[^'\\\n])'|//[^\n]*|/\*.*?\*/",
    re.DOTALL,
)
_ITEM = r"\b(?:struct|enum|union|trait|type|const|static|fn|mod|macro_rules!)\s+(?:mut\s+)?"
_OPENING = {"}": "{", "]": "["}
_TEST = re.compile(r"#\[(?:\w+::)*test\b[^\]]*\]")
_IGNORED = re.compile(r"#\[ignore\b")


def blank(text: str) -> str:
    """`text` with comments, strings and characters as spaces, so that every bracket left is one."""
    return _OPAQUE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def block(text: str, start: int) -> str | None:
    """What is between the first `{` at or after `start` and its `}`; None where a `;` comes first."""
    begin = re.compile(r"[{;]").search(text, start)
    if begin is None or begin[0] == ";":
        return None
    depth = 0
    for found in re.compile(r"[{}]").finditer(text, begin.start()):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return text[begin.end() : found.start()]
    return None


def attributes(text: str, item: int) -> str:
    """The attributes before the item whose keyword is at `item`."""
    before = re.sub(r"(?:\b(?:pub(?:\s*\([^)]*\))?|async|const|unsafe|default)\s+)*$", "", text[:item])
    found = []
    while before.rstrip().endswith("]"):
        before = before.rstrip()
        depth, at = 0, len(before)
        while at > 0:
            at -= 1
            depth += {"]": 1, "[": -1}.get(before[at], 0)
            if depth == 0:
                break
        if at == 0 or before[at - 1] != "#":
            break
        found.append(before[at - 1 :])
        before = before[: at - 1]
    return "".join(found)


def definitions(text: str, name: str) -> list[str]:
    """The bodies of the type or trait `name`, where its fields and variants stand."""
    starts = re.finditer(rf"\b(?:struct|enum|union|trait)\s+{name}\b", text)
    return [block(text, start.end()) or "" for start in starts]


def implementations(text: str, name: str) -> list[str]:
    """The bodies of the impls of the type or trait `name`."""
    found = []
    for start in re.finditer(r"\bimpl\b", text):
        # The head's last type is the one that they belong to: `impl<T> Trait<U> for name<T> where ...`.
        head = text[start.end() : text.find("{", start.end())]
        head = re.split(r"\bwhere\b", head)[0]
        of = re.split(r"\bfor\b", head)[-1] if re.search(r"\bfor\b(?!\s*<)", head) else head
        # Generics and paths do not name it.
        of = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", of)))
        if re.search(rf"(?:^|::|\s|&)\s*{name}\s*$", of):
            found.append(block(text, start.end()))
    return [body for body in found if body is not None]


class Source:
    """The Rust and Python source of the project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._text = cache(lambda path: blank(path.read_text()))

    def missing_item(self, path: str) -> str | None:
        """Why `path` names no function, type, trait or constant; None where it does."""
        if path.endswith(")"):
            return "a path has no parentheses"
        if ".py::" in path:
            return self._missing_python(path, "")
        opened = self._open(path)
        if isinstance(opened, str):
            return opened
        file, text, rest = opened
        where = file.relative_to(self.root).as_posix()
        if not rest:
            return None  # the module itself
        if len(rest) == 1:
            return None if re.search(_ITEM + rf"{rest[0]}\b", text) else f"no {rest[0]} in {where}"
        if len(rest) > 2:
            return f"no module {rest[0]} in {where}"
        holder, member = rest
        own, others = definitions(text, holder), implementations(text, holder)
        if not own and not others:
            return f"no {holder} in {where}"
        item = re.compile(_ITEM + rf"{member}\b")
        part = re.compile(rf"(?:^|[,\s]){member}\s*(?:[,:({{=]|$)")
        if any(item.search(body) for body in own + others) or any(part.search(body) for body in own):
            return None
        return f"{holder} has no {member} in {where}"

    def missing_test(self, path: str) -> str | None:
        """Why `path` names no test that runs; None where it does."""
        if ".py::" in path:
            return self._missing_python(path, "test_")
        opened = self._open(path)
        if isinstance(opened, str):
            return opened
        file, text, rest = opened
        where = file.relative_to(self.root).as_posix()
        if len(rest) != 1:
            return f"no module {rest[0]} in {where}" if rest else "a module, not a test"
        found = [attributes(text, at.start()) for at in re.finditer(rf"\bfn\s+{rest[0]}\b", text)]
        if not found:
            return f"no fn {rest[0]} in {where}"
        tests = [given for given in found if _TEST.search(given)]
        if not tests:
            return f"{rest[0]} in {where} is no #[test]"
        return f"{rest[0]} in {where} is ignored" if all(map(_IGNORED.search, tests)) else None

    def candidates(self, path: str) -> list[str]:
        """Where what `path` names stands now, if it has moved within its crate: the nearest places."""
        if ".py::" in path or "::" not in path:
            return []
        crate = path.split("::")[0].split("/")[0]
        is_test = ".rs::" in path or "::tests::" in path
        missing = self.missing_test if is_test else self.missing_item
        names = path.split("::")[1:]
        kept = next((at for at, name in enumerate(names) if not name[:1].islower()), len(names) - 1)
        found = [
            moved
            for module in self._modules(crate)
            if not missing(moved := "::".join([module, *names[kept:]]))
        ]

        def shared(other: str) -> int:
            """How many names both paths begin with."""
            pairs = list(zip(path.split("::"), other.split("::"), strict=False))
            return next((at for at, (one, two) in enumerate(pairs) if one != two), len(pairs))

        nearest = max(map(shared, found), default=0)
        return [moved for moved in found if shared(moved) == nearest]

    def _modules(self, crate: str) -> list[str]:
        """The files of a crate as paths: modules, and integration tests."""
        folder = self._crate(crate)
        found = []
        for file in sorted((folder / "src").rglob("*.rs")):
            parts = file.relative_to(folder / "src").with_suffix("").parts
            found.append("::".join([crate, *(part for part in parts if part != "lib")]))
        return found + [f"{crate}/tests/{file.name}" for file in sorted((folder / "tests").glob("*.rs"))]

    def _open(self, path: str) -> tuple[Path, str, list[str]] | str:
        """The file to which `path` leads, what of its text counts, and the names that are left."""
        if ".rs::" in path:
            name, _, item = path.partition(".rs::")
            crate, _, inside = name.partition("/")
            file = self._crate(crate) / f"{inside}.rs"
            if not file.is_file():
                return f"no file {file.relative_to(self.root).as_posix()}"
            names = item.split("::")
        else:
            crate, *names = path.split("::")
            folder = self._crate(crate) / "src"
            file = folder / "lib.rs"
            if not file.is_file():
                return f"no crate {crate}"
            if not names:
                return "a crate, not an item"
            while len(names) > 1 or (names and names[0].islower()):
                further = folder / f"{names[0]}.rs"
                if not further.is_file():
                    break
                folder, file = folder / names.pop(0), further
                if not names:
                    break
        text = self._text(file)
        while len(names) > 1:
            inline = re.search(rf"\bmod\s+{names[0]}\s*\{{", text)
            body = block(text, inline.start()) if inline else None
            if body is None:
                break
            text = body
            names.pop(0)
        if len(names) > 1 and names[0].islower():
            return f"no module {names[0]} in {file.relative_to(self.root).as_posix()}"
        return file, text, names

    def _crate(self, name: str) -> Path:
        return self.root / "crates" / name.removeprefix("whimbrel_").removeprefix("whimbrel-")

    def _missing_python(self, path: str, prefix: str) -> str | None:
        name, _, function = path.partition("::")
        file = self.root / name
        if not file.is_file():
            return f"no file {name}"
        if not function.startswith(prefix):
            return f"{function} is no test"
        last = function.split("::")[-1]
        found = re.search(
            rf"^\s*(?:async\s+)?(?:def|class)\s+{re.escape(last)}\b", file.read_text(), re.MULTILINE
        )
        return None if found else f"no {last} in {name}"
