"""A contest as text, as JSON, as tables and as a page with curves and replays."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from whimbrel import figures
from whimbrel._base.files import replace_text
from whimbrel._base.terminal import markup, print_line, print_table
from whimbrel._show import drawing
from whimbrel._show.drawing import Drawing
from whimbrel._show.page.sections import whole
from whimbrel._values.sheet import Value
from whimbrel.contest import match
from whimbrel.contest.kinds import Kind
from whimbrel.contest.league import Match, Standing

PAGE = "index.html"
_REPLAYS = "replays"
_HEADS = ("contestant", "place", "points", "won", "drawn", "lost", "score [95 %]")


def write(kind: Kind, matches: Sequence[Match], table: Sequence[Standing], out: Path, command: str) -> Path:
    """Writes the page, its curves and replays, and the tables as CSV; returns the page."""
    (out / _REPLAYS).mkdir(parents=True, exist_ok=True)
    for each in matches:
        target = out / _REPLAYS / f"{_name(each)}.html"
        replace_text(target, match.replay(each.scenario, each.seeds[0], each.first))
    drawing.draw([Drawing(_curves(each), str(out / _REPLAYS), _name(each)) for each in matches])
    replace_text(out / "league.csv", _csv(_HEADS[:-1] + ("score", "low", "high"), map(_cells, table)))
    heads = ("network", "first", "second", "winner", "difference", "low", "high", "result")
    replace_text(out / "matches.csv", _csv(heads, map(_match_cells, matches)))
    replace_text(out / PAGE, _page(kind, matches, table, command))
    return out / PAGE


def document(matches: Sequence[Match], table: Sequence[Standing], page: Path) -> dict[str, Any]:
    """The contest as JSON."""
    return {
        "report": str(page),
        "league": [
            dict(zip([*_HEADS[:-1], "score", "low", "high"], _cells(each), strict=True)) for each in table
        ],
        "matches": [
            {
                "network": each.network.name,
                "contestants": list(each.pair),
                "winner": each.winner,
                "result": each.result(),
                "forfeits": dict(each.forfeits),
                "replay": str(page.parent / _REPLAYS / f"{_name(each)}.html"),
            }
            for each in matches
        ],
    }


def print_text(matches: Sequence[Match], table: Sequence[Standing], page: Path) -> None:
    """Prints the league table, and the matches that somebody forfeited."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for head in _HEADS:
        shown.add_column(head, justify="left" if head == "contestant" else "right")
    for each in table:
        shown.add_row(*map(markup, _row(each)))
    print_table(shown)
    for reason in dict.fromkeys(f"{name} {why}" for each in matches for name, why in each.forfeits.items()):
        print_line(f"[red]forfeit[/] {markup(reason)}")
    print_line(f"report: {markup(str(page))}")


def _page(kind: Kind, matches: Sequence[Match], table: Sequence[Standing], command: str) -> str:
    games = sum(len(each.seeds) for each in matches)
    body = [
        "<h1>Contest</h1>",
        f'<p class="lead">{len(table)} contestants, {len(matches)} matches, {games} games.</p>',
        _table(_HEADS, [_row(each) for each in table], "league"),
        "<p>A match is decided by the 95 % interval of the difference of the scores over the same seeds; if"
        f" it contains zero, it is a draw. A win counts two points, a draw one. {escape(kind.scored)}</p>",
    ]
    for name in dict.fromkeys(each.network.name for each in matches):
        body.append(f"<h2>{escape(name)}</h2>")
        for each in (each for each in matches if each.network.name == name):
            body += _match_part(each)
    body.append(f"<p><code>{escape(command)}</code></p>")
    return whole("Whimbrel: contest", ['<main class="wide">', *body, "</main>"])


def _match_part(each: Match) -> list[str]:
    title = " and ".join(each.pair)
    link = f"{_REPLAYS}/{_name(each)}"
    alt = f"Rates of {title} in the first game"
    return [
        f"<h3>{escape(title)}</h3>",
        f'<p>{escape(each.result())}. <a href="{escape(link)}.html">Replay</a></p>',
        f'<div class="chart"><img loading="lazy" src="{escape(link)}.svg" alt="{escape(alt)}"></div>',
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}: table"><table class="plain">'
        f'<caption class="hidden">{caption}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _curves(each: Match) -> figures.Chart:
    """The rates of both in the first game."""
    intervals = each.first.tables["intervals"]
    data = {}
    for flow, name in zip(each.network.flows, each.pair, strict=True):
        rows = np.asarray(intervals["flow"] == flow)
        data[name] = (intervals["time_s"][rows], intervals["goodput_bps"][rows] / 1e6)
    return figures.series(f"{each.network.name}, seed {each.seeds[0]}", data, "time (s)", "goodput (Mbit/s)")


def _name(each: Match) -> str:
    return "-".join((each.network.name, *each.pair))


def _row(each: Standing) -> list[str]:
    interval = each.score.interval
    score = "-" if interval is None else f"{interval.mean:.2f} {interval.bounds('.2f')}".strip()
    return [*map(str, (each.name, each.place, each.points, each.wins, each.draws, each.losses)), score]


def _cells(each: Standing) -> list[object]:
    return [each.name, each.place, each.points, each.wins, each.draws, each.losses, *_numbers(each.score)]


def _numbers(value: Value) -> list[float | None]:
    interval = value.interval
    if interval is None:
        return [None, None, None]
    low, high = (None if np.isnan(bound) else bound for bound in (interval.low, interval.high))
    return [interval.mean, low, high]


def _match_cells(each: Match) -> list[object]:
    found = each.difference
    numbers = ["", "", ""] if found is None else [repr(found.mean), repr(found.low), repr(found.high)]
    return [each.network.name, *each.pair, each.winner, *numbers, each.result()]


def _csv(heads: Sequence[str], rows: Any) -> str:  # noqa: ANN401 - any rows
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()


def print_json(matches: Sequence[Match], table: Sequence[Standing], page: Path) -> None:
    """Prints the contest as JSON."""
    print(json.dumps(document(matches, table, page)))
