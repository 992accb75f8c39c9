"""A table or figure of a section: what it shows, figures, numbers, whether it matches, in this order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from whimbrel._show.page import tables
from whimbrel._show.page.claims import tally
from whimbrel._show.page.sections import Claim, Section, ShownTable, file
from whimbrel._values import printed
from whimbrel._values.sheet import Picture, SheetData
from whimbrel.figures import QUICK, name_of, plain_subtitle, plain_title


def item(section: Section, table: ShownTable) -> str:
    """An article that can be collapsed."""
    sheet, about = table.stored.sheet, table.stored.about
    source = f'<span class="source">{escape(sheet.source)}</span> ' if sheet.source else ""
    quick = ' <span class="source quick">quick pass</span>' if about.get("quick") else ""
    anchor = section.item_anchor(sheet.key)
    parts = [
        f'<article class="item" id="{anchor}"><details class="fold" open>',
        f"<summary><h3>{source}{escape(sheet.title)}{quick}</h3></summary>",
    ]
    if sentence := finding(table):
        parts.append(f'<p class="conclusion">{escape(sentence)}</p>')
    if table.charts:
        figures = "".join(_chart(section.folder, name, table) for name in table.charts)
        parts.append(f'<div class="charts">{figures}</div>')
    parts += [_picture(section.folder, sheet, picture) for picture in sheet.pictures]
    parts.append(tables.numbers(section.folder, table))
    if sentence := agreement(section, table):
        parts.append(f'<p class="agreement">{escape(sentence)}</p>')
    parts.append(tally(section, sheet.key))
    if about.get("exact"):
        parts.append('<p class="note">Nothing here is random: one run suffices, and has no interval.</p>')
    if sheet.note:
        parts.append(f'<p class="note">{escape(sheet.note)}</p>')
    parts.append("</details></article>")
    return "\n".join(part for part in parts if part)


def finding(table: ShownTable) -> str:
    """An item in one sentence: its author's, or the extremes of its first metric."""
    return str(table.stored.about.get("sentence") or _extremes(table))


def agreement(section: Section, table: ShownTable) -> str:
    """Agreement of an item with claims and printed numbers, in one sentence."""
    about = table.stored.about
    counted = printed.stored(about["printed"]["all"]).sentence() if about.get("printed") else ""
    judged = _judged(section.claims_on(table.stored.sheet.key))
    parts = [part for part in (judged, counted.rstrip(".")) if part]
    nothing = "No claim rests on it, and it has no printed number." if section.claims else ""
    return f"{'; '.join(parts)}." if parts else nothing


def _judged(claims: Sequence[Claim]) -> str:
    held = sum(claim["holds"] is True for claim in claims)
    failed = sum(claim["holds"] is False for claim in claims)
    undecided = len(claims) - held - failed
    if not claims:
        return ""
    if len(claims) == 1:
        return f"The claim on it {'holds' if held else 'does not hold' if failed else 'is undecided'}"
    if held == len(claims):
        return f"All {held} claims on it hold"
    rest = [f"{failed} {'does' if failed == 1 else 'do'} not"] if failed else []
    rest += [f"{undecided} {'is' if undecided == 1 else 'are'} undecided"] if undecided else []
    return f"{held} of {len(claims)} claims on it hold{'s' if held == 1 else ''}, {', '.join(rest)}"


def _extremes(table: ShownTable) -> str:
    """The columns with the highest and lowest mean of the first metric; of a single column, the rows."""
    sheet, metric = table.stored.sheet, table.stored.sheet.metrics[0]
    if len(sheet.columns) == 1:
        is_measured = sheet.row_numbers is not None
        label = f"{sheet.row_label} " if is_measured and sheet.row_label else ""
        compared = {f"{label}{row}": [(row, sheet.columns[0])] for row in sheet.rows}
        of, over = "at" if is_measured else "for", ""
    else:
        compared = {name_of(column): [(row, column) for row in sheet.rows] for column in sheet.columns}
        of, over = "for", f", mean over {len(sheet.rows)} rows" if len(sheet.rows) > 1 else ""
    means = {}
    for name, places in compared.items():
        found = [table.stored.entries.get((*place, metric.key)) for place in places]
        ours = [entry.ours for entry in found if entry is not None and not math.isnan(entry.ours)]
        # Means over different rows are no comparison.
        if len(ours) == len(places):
            means[name] = sum(ours) / len(ours)
    if len(means) < 2:
        return ""
    highest, lowest = max(means, key=lambda name: means[name]), min(means, key=lambda name: means[name])
    unit = f" {metric.unit}" if metric.unit else ""
    most, least = (f"{means[name]:.{metric.digits}f}{unit}" for name in (highest, lowest))
    return (
        f"{metric.title or metric.label}{over}: highest {of} {highest} with {most}, lowest {of} {lowest}"
        f" with {least}."
    )


def _room(chart: Mapping[str, Any]) -> int:
    """The height that a chart takes, in pixels: what is below it does not move while it is drawn."""
    height = chart.get("height")
    return int(height) + (125 if chart.get("params") else 60) if isinstance(height, int) else 120


def _chart(folder: str, name: str, table: ShownTable) -> str:
    chart = table.charts[name]
    title = plain_title(chart) or name
    # The article has the item's title already.
    where = f"{table.stored.sheet.source}: " if table.stored.sheet.source else ""
    rest = " ".join(plain_subtitle(chart)).replace(f"{where}{table.stored.sheet.title}", "").strip()
    rest = rest.replace(f"{QUICK} ", f"{QUICK} · ")
    described = escape(alternative(name, chart))
    files = " ".join(
        f'<a href="{file(folder, f"{name}.{kind}")}" download aria-label="{escape(title)}: {kind.upper()}">'
        f"{kind.upper()}</a>"
        for kind in table.formats.get(name, ())
    )
    # The static image is shown while the page loads, in print, and without scripts.
    return (
        f'<figure class="chart"><figcaption><strong>{escape(title)}</strong>'
        f"{f'<span>{escape(rest)}</span>' if rest else ''}</figcaption>"
        f'<div class="plot" data-chart="{escape(f"{folder}/{name}")}" role="img" '
        f'aria-label="{described}" style="--room: {_room(chart)}px">'
        f'<img loading="lazy" src="{file(folder, f"{name}.svg")}" alt="{described}"></div>'
        f'<div class="tools"><span class="files">{files}</span></div></figure>'
    )


def alternative(name: str, chart: Mapping[str, Any]) -> str:
    """The alternative text of a chart: its description, which charts of sheets have, or its title."""
    return str(chart.get("description") or plain_title(chart) or name)


def _picture(folder: str, sheet: SheetData, picture: Picture) -> str:
    link = file(folder, picture.file)
    where = ", ".join(each for each in (sheet.source, sheet.title) if each)
    return (
        f'<figure class="strip"><a href="{link}">'
        f'<img loading="lazy" src="{link}" alt="{escape(f"{where}: {picture.caption}")}"></a>'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )
