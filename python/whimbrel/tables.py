"""Tables of papers/*/*.md and docs/*.md that quote results, filled from a run.

`papers/KEY/tables.toml` defines the cells of each named table; in a page the table stands between `<!--
results KEY NAME -->` and `<!-- end of results -->`. After `whimbrel reproduce KEY --out OUT`, `python -m
whimbrel.tables OUT` writes all tables whose items are in OUT. A quick pass fills nothing.

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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whimbrel._base import documents
from whimbrel._reproduce import paper
from whimbrel._reproduce.plan import read_plans
from whimbrel.errors import PaperError, WhimbrelError

FILE = "tables.toml"
_BLOCK = re.compile(r"<!-- results (\S+) (\S+) -->\n.*?<!-- end of results -->", re.DOTALL)
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
        key, name = found.groups()
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


def pages() -> list[Path]:
    """Files that may contain tables."""
    root = paper.directory().resolve()
    return [*sorted(root.glob("*/*.md")), *sorted((root.parent / "docs").glob("*.md"))]


def main(arguments: Sequence[str]) -> int:
    """Writes all tables whose items are in a directory of results."""
    if len(arguments) != 1:
        print("usage: python -m whimbrel.tables OUT", file=sys.stderr)
        return 2
    out = Path(arguments[0])
    described: dict[tuple[str, str], Mapping[str, Any]] = {}
    known: dict[str, Numbers] = {}
    try:
        for key in paper.known():
            described |= {(key, name): table for name, table in read(paper.directory() / key).items()}
            plans = read_plans(out).get(key, [])
            full = [
                plan.item for plan in plans if not plan.quick and (out / key / f"{plan.item}.csv").is_file()
            ]
            known[key] = numbers(out / key, full)
        for page in pages():
            text = page.read_text(encoding="utf-8")
            new = filled(text, described, known)
            if new != text:
                page.write_text(new, encoding="utf-8", newline="\n")
                print(f"written: {page}")
    except (WhimbrelError, OSError) as error:
        print(f"tables: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
