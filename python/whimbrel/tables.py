"""Tables of papers/*/*.md and docs/*.md that quote results, filled from a run.

`papers/KEY/tables.toml` defines the cells of each named table; in a page the table stands between `<!--
results KEY NAME -->` and `<!-- end of results -->`. After `whimbrel reproduce KEY --out OUT`, `python -m
whimbrel.tables OUT` writes all tables whose items are in OUT, and records some of their first runs
(`whimbrel._reproduce.first_runs`), which a test repeats. `--check` writes nothing, prints the cells that
would change, and exits with 1 if there are any. A quick pass fills nothing.

A cell is described by the entries of its table, its row and its column together; later ones take precedence:

```toml
[table.fairness]
corner = "handover"          # head of the first column
item = "table7"
metric = "ratio"
digits = 2
printed = true               # the paper's number in brackets
rows = ["umts to umts"]      # of the item; or tables with a `head`, such as { head = "M_c", metric = "m_c" }
columns = [{ head = "TFRC", column = "tfrc" }]
```

`row` may be a list: the mean over these rows; `item` too: the first that has the cell. `scale` multiplies,
and `interval = true` adds half of the 95 % interval. A cell that the item lacks stays empty.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from whimbrel._base import documents
from whimbrel._reproduce import first_runs, paper
from whimbrel._reproduce.first_runs import FirstRun, Quoted
from whimbrel._reproduce.plan import Plan, read_plans
from whimbrel.errors import PaperError, WhimbrelError

FILE = "tables.toml"
_BLOCK = re.compile(r"<!-- results (\S+) (\S+) -->\n(.*?)<!-- end of results -->", re.DOTALL)
_KEYS = {"head", "item", "row", "column", "metric", "digits", "printed", "scale", "interval"}

Number = tuple[float, float, float | None, int]
"""Mean, half of the 95 % interval (NaN without one), the paper's printed number, and the number of runs."""
Numbers = Mapping[tuple[str, str, str, str], Number]
"""By item, row, column and metric."""


def read(directory: Path) -> Mapping[str, Mapping[str, Any]]:
    """Descriptions of a paper's tables, by name; empty without a file.

    Raises:
        PaperError: the file is not TOML, or describes a cell by an unknown key.
    """
    path = directory / FILE
    if not path.is_file():
        return {}
    try:
        found: Mapping[str, Mapping[str, Any]] = documents.read_toml(path)["table"]
    except (OSError, ValueError, KeyError) as error:
        raise PaperError(f"{path}: expected tables [table.NAME]: {error}") from error
    for name, table in found.items():
        parts = [{key: table[key] for key in table if key not in ("corner", "rows", "columns")}]
        parts += [part for part in (*table["rows"], *table["columns"]) if not isinstance(part, str)]
        for unknown in sorted({key for part in parts for key in part} - _KEYS):
            raise PaperError(
                f"{path}: table.{name} has the key {unknown!r}, expected one of {', '.join(sorted(_KEYS))}"
            )
    return found


def numbers(directory: Path, items: Sequence[str]) -> Numbers:
    """The numbers in the CSV files of items.

    Args:
        directory: of a paper's results.
        items: keys.
    """
    found: dict[tuple[str, str, str, str], Number] = {}
    for item in items:
        for line in documents.CsvFile(directory / f"{item}.csv"):
            mean, low, high, printed = (
                float(line[key]) if line[key] else math.nan for key in ("ours", "ci_low", "ci_high", "paper")
            )
            half = (high - low) / 2
            place = (item, line["row"], line["column"], line["metric"])
            found[place] = (mean, half, None if math.isnan(printed) else printed, int(line["n"]))
    return found


def cells(table: Mapping[str, Any]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The rows of a table: the head of each, and the entries that describe its cells."""
    common = {key: value for key, value in table.items() if key in _KEYS}
    for row in table["rows"]:
        of_row = {"head": row, "row": row} if isinstance(row, str) else row
        of_row = {"row": of_row["head"], **of_row} if "row" not in common else of_row
        described: list[Mapping[str, Any]] = [
            common | of_row | ({"head": column, "column": column} if isinstance(column, str) else column)
            for column in table["columns"]
        ]
        yield of_row["head"], described


def render(table: Mapping[str, Any], known: Numbers) -> str:
    """The table in Markdown."""
    heads = [column if isinstance(column, str) else column["head"] for column in table["columns"]]
    lines = [_line([table.get("corner", ""), *heads]), "|---" * (len(heads) + 1) + "|"]
    lines += [_line([head, *(_cell(each, known) for each in row)]) for head, row in cells(table)]
    return "\n".join(lines)


def filled(
    text: str, described: Mapping[tuple[str, str], Mapping[str, Any]], known: Mapping[str, Numbers]
) -> str:
    """A page with new tables, for each table whose items are all known.

    Args:
        text: of the page.
        described: by key of the paper and name of the table.
        known: numbers by key of the paper.

    Raises:
        PaperError: the page names an undescribed table.
    """

    def one(found: re.Match[str]) -> str:
        key, name, _ = found.groups()
        if (key, name) not in described:
            raise PaperError(f"a page has the table {name!r} of {key!r}, which {FILE} does not describe")
        table, have = described[key, name], known.get(key, {})
        if not items_of(table) <= {place[0] for place in have}:
            return found[0]
        return f"<!-- results {key} {name} -->\n{render(table, have)}\n<!-- end of results -->"

    return _BLOCK.sub(one, text)


def items_of(table: Mapping[str, Any]) -> set[str]:
    """Keys of the items that a table quotes."""
    return {item for _, row in cells(table) for each in row for item in _listed(each["item"])}


def _listed(one: str | Sequence[str]) -> Sequence[str]:
    return [one] if isinstance(one, str) else one


def _line(words: Sequence[str]) -> str:
    return f"| {' | '.join(words)} |"


def _cell(each: Mapping[str, Any], known: Numbers) -> str:
    found = [
        next(filter(None, (known.get((item, row, each["column"], each["metric"])) for item in items)), None)
        for items in [_listed(each["item"])]
        for row in _listed(each["row"])
    ]
    values = [value for value in found if value is not None and not math.isnan(value[0])]
    printed = values[0][2] if len(values) == 1 else None
    if not values:
        return ""
    digits, scale = each.get("digits", 1), each.get("scale", 1)
    text = f"{scale * sum(value[0] for value in values) / len(values):,.{digits}f}"
    text = re.sub(r"^-(?=[0.]*$)", "", text)
    if each.get("interval") and len(values) == 1 and not math.isnan(values[0][1]):
        half, runs = scale * values[0][1], values[0][3]
        text += f" ± {half:,.{digits}f}" if half or runs < 2 else f" (identical in {runs} runs)"
    return f"{text} ({printed:,g})" if each.get("printed") and printed is not None else text


def quoted(table: Mapping[str, Any], known: Numbers) -> list[Quoted]:
    """The numbers that a table quotes, in its order."""
    found = []
    for line, (_, row) in enumerate(cells(table)):
        for head, each in enumerate(row):
            for one in _listed(each["row"]):
                places = [(item, one, each["column"], each["metric"]) for item in _listed(each["item"])]
                found += [Quoted(line, head, *place) for place in places if place in known][:1]
    return found


def differences(old: str, new: str) -> Iterator[str]:
    """The cells by which two texts of a table differ: row, column, before and after.

    Args:
        old: in Markdown.
        new: the same.
    """
    was, now = ([line.strip("|").split("|") for line in text.splitlines()] for text in (old, new))
    if [row[0] for row in was] != [row[0] for row in now] or was[:2] != now[:2]:
        yield "has other rows or columns"
        return
    for before, after in zip(was, now, strict=True):
        for head, one, other in zip(was[0], before, after, strict=True):
            if one != other:
                yield f"{before[0].strip()}, {head.strip()}: was {one.strip()}, is {other.strip()}"


class Block(NamedTuple):
    """A table of a page.

    Attributes:
        key: of the paper.
        name: of the table.
        text: in Markdown.
    """

    key: str
    name: str
    text: str


def blocks(text: str) -> list[Block]:
    """The tables of a page, in order."""
    return [Block(found[1], found[2], found[3].strip()) for found in _BLOCK.finditer(text)]


def pages() -> list[Path]:
    """Files that may contain tables."""
    root = paper.directory().resolve()
    return [*sorted(root.glob("*/*.md")), *sorted((root.parent / "docs").glob("*.md"))]


@dataclass(frozen=True)
class _Made:
    """The tables of a paper, and its results in their full form.

    Attributes:
        tables: descriptions by name.
        plans: of the items that were made.
        known: their numbers.
        directory: of the results.
    """

    tables: Mapping[str, Mapping[str, Any]]
    plans: Sequence[Plan]
    known: Numbers
    directory: Path

    def has(self, name: str) -> bool:
        """True if all items of a table were made."""
        return items_of(self.tables[name]) <= {plan.item for plan in self.plans}


def _made(key: str, plans: Sequence[Plan], directory: Path) -> _Made:
    full = [plan for plan in plans if not plan.quick and (directory / f"{plan.item}.csv").is_file()]
    known = numbers(directory, [plan.item for plan in full])
    return _Made(read(paper.directory() / key), full, known, directory)


def _record(key: str, made: _Made, texts: Mapping[str, str]) -> None:
    """Writes the first runs of the tables that were made; the lines of other tables remain.

    Args:
        key: of the paper.
        made: its results.
        texts: its tables on pages, by name.
    """
    directory, items = paper.directory() / key, paper.load(key).items
    recorded = first_runs.read(directory)
    lines: list[FirstRun] = []
    for name, table in made.tables.items():
        if made.has(name):
            asked = quoted(table, made.known)
            lines += first_runs.made(name, texts[name], asked, items, made.plans, made.directory)
        else:
            lines += [line for line in recorded if line.table == name]
    if lines != recorded:
        first_runs.write(directory, lines)
        print(f"written: {directory / first_runs.FILE}")


def _check(olds: Iterable[Block], news: Iterable[Block], page: Path) -> Iterator[str]:
    for (key, name, old), (_, _, new) in zip(olds, news, strict=True):
        yield from (f"{page.name}: {key} {name}: {each}" for each in differences(old, new))


def main(arguments: Sequence[str]) -> int:
    """Writes or checks all tables whose items are in a directory of results."""
    check = "--check" in arguments
    others = [each for each in arguments if each != "--check"]
    if len(others) != 1:
        print("usage: python -m whimbrel.tables OUT [--check]", file=sys.stderr)
        return 2
    out = Path(others[0])
    try:
        plans = read_plans(out)
        made = {key: _made(key, plans.get(key, []), out / key) for key in paper.known()}
        described = {(key, name): table for key, one in made.items() for name, table in one.tables.items()}
        known = {key: one.known for key, one in made.items()}
        texts: dict[str, dict[str, str]] = {key: {} for key in made}
        different = 0
        for page in pages():
            text = page.read_text(encoding="utf-8")
            new = filled(text, described, known)
            for block in blocks(new):
                texts[block.key][block.name] = block.text
            if check:
                found = list(_check(blocks(text), blocks(new), page))
                different += len(found)
                print("".join(f"{each}\n" for each in found), end="")
            elif new != text:
                page.write_text(new, encoding="utf-8", newline="\n")
                print(f"written: {page}")
        if not check:
            for key, one in made.items():
                _record(key, one, texts[key])
    except (WhimbrelError, OSError) as error:
        print(f"tables: {error}", file=sys.stderr)
        return 1
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
