"""The report's page as HTML: pure functions from data to text."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

import vl_convert

from whimbrel import printed
from whimbrel.figures import name_of
from whimbrel.sheet import Entry, Metric, StoredSheet


@dataclass(frozen=True)
class ShownTable:
    """A sheet and the charts that go with it, by the name of their files."""

    stored: StoredSheet
    charts: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Section:
    """A folder of results.

    Attributes:
        folder: its name, used in links and anchors.
        title: heading.
        subtitle: below it.
        about: a sentence or two.
        command: that creates it.
        claims: as in `claims.json`.
        tables: in order.
    """

    folder: str
    title: str
    subtitle: str
    about: str
    command: str
    claims: Sequence[Mapping[str, Any]]
    tables: Sequence[ShownTable]


def render(sections: Sequence[Section], manifest: Mapping[str, Any]) -> str:
    """The whole page. It fetches nothing from the network: styles, scripts and charts are embedded."""
    charts = {name: chart for section in sections for name, chart in _charts(section).items()}
    body = [
        _header(sections, manifest),
        _overview(sections),
        "<main>",
        *(_section(section) for section in sections),
        _origin(manifest),
        "</main>",
    ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(_title(sections))}</title>",
            f"<style>\n{_asset('report.css')}</style>",
            "</head>",
            "<body>",
            *body,
            *_scripts(charts),
            "</body>",
            "</html>",
            "",
        ]
    )


def _title(sections: Sequence[Section]) -> str:
    return "Whimbrel: " + ", ".join(section.folder for section in sections)


def _header(sections: Sequence[Section], manifest: Mapping[str, Any]) -> str:
    links = "".join(
        f'<a href="#{_anchor(section.folder)}">{escape(section.folder)}</a>' for section in sections
    )
    version = (
        f'<span class="version">{escape(str(manifest["version"]))}</span>' if "version" in manifest else ""
    )
    return (
        '<header class="bar"><div class="wide">'
        f'<a class="brand" href="#top">{_BIRD}<span>Whimbrel</span></a>{version}'
        f'<nav aria-label="Sections">{links}<a href="#origin">origin</a></nav>'
        '<button id="theme" type="button" aria-label="Light or dark" title="Light or dark">◐</button>'
        "</div></header>"
    )


def _overview(sections: Sequence[Section]) -> str:
    claims = [claim for section in sections for claim in section.claims]
    tables = [table for section in sections for table in section.tables]
    agreement = printed.together(_agreement(table) for table in tables)
    runs = sum(int(table.stored.about.get("runs", 0)) for table in tables)
    cards = [("tables and figures", str(len(tables)), ""), ("runs", f"{runs:,}".replace(",", "\u202f"), "")]
    if agreement.numbers:
        value = f"{agreement.inside} of {agreement.numbers}"
        off = f"median difference {printed.percent(agreement.median)}" if agreement.differences else ""
        cards.insert(0, ("printed numbers within our intervals", value, off))
    for source, label in reversed(_SOURCES):
        mine = [claim for claim in claims if claim["source"] == source]
        if mine:
            held = sum(claim["holds"] is True for claim in mine)
            undecided = sum(claim["holds"] is None for claim in mine)
            rest = f"{len(mine) - held - undecided} do not, {undecided} undecided"
            cards.insert(0, (f"{label} hold", f"{held} of {len(mine)}", rest))
    shown = "".join(
        f'<div class="card"><b>{value}</b><span>{label}</span><small>{more}</small></div>'
        for label, value, more in cards
    )
    quick = [bool(table.stored.about.get("quick")) for table in tables]
    title = "Results of a quick pass" if all(quick) else "Results"
    some = "All" if all(quick) else "Some"
    warning = (
        f'<p class="warning">{some} of these results come from a quick pass (<code>--quick</code>): shorter'
        " runs, fewer repetitions. They are less precise, and leave more claims undecided.</p>"
        if any(quick)
        else ""
    )
    return (
        f'<section class="hero wide" id="top"><h1>{title}</h1>'
        f'<div class="cards">{shown}</div>{warning}{_asset("guide.html")}</section>'
    )


def _agreement(table: ShownTable) -> printed.Agreement:
    about = table.stored.about.get("printed")
    return printed.stored(about["all"]) if about else printed.Agreement(0, 0, (), "")


def _section(section: Section) -> str:
    parts = [
        f'<section class="wide paper" id="{_anchor(section.folder)}">',
        f"<h2>{escape(section.title)}</h2>",
    ]
    if section.subtitle:
        parts.append(f'<p class="subtitle">{escape(section.subtitle)}</p>')
    if section.about:
        parts.append(f'<p class="lead">{escape(section.about)}</p>')
    if section.claims:
        parts.append(_claims(section.claims))
    parts += [_table(section.folder, table) for table in section.tables]
    if section.command:
        parts.append(f'<p class="again">Again: <code>{escape(section.command)}</code></p>')
    parts.append("</section>")
    return "\n".join(parts)


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for source, label in _SOURCES:
        mine = [claim for claim in claims if claim["source"] == source]
        if mine:
            # Claims that do not hold come first, as the most important ones for a reader.
            ordered = sorted(mine, key=lambda claim: (claim["holds"] is True, claim["holds"] is None))
            parts.append(
                f'<h3>{label.capitalize()} <span class="count">{printed.counted(mine)}</span></h3>'
                f'<ul class="claims">{"".join(map(_claim, ordered))}</ul>'
            )
    return "".join(parts)


_SOURCES = (("paper", "claims of the paper"), ("ours", "claims of our own"))


def _claim(claim: Mapping[str, Any]) -> str:
    kind = {True: "yes", False: "no", None: "open"}[claim["holds"]]
    where = f'<span class="source">{escape(claim["where"])}</span>' if claim["where"] else ""
    quick = '<span class="source quick">quick pass</span>' if claim["quick"] else ""
    # Reasons apply to the full form, which may have other rows and decide claims that a quick pass leaves
    # open.
    why = "Reason, in the full form" if claim["quick"] else "Why"
    reason = f'<p class="reason">{why}: {_code(claim["reason"])}</p>' if claim["reason"] else ""
    return (
        f'<li id="claim-{_anchor(claim["id"])}" class="{kind}">'
        f'<span class="verdict">{claim["verdict"]}</span><div><p>{escape(claim["claim"])} {where} {quick}</p>'
        f'{reason}<p class="evidence">{escape(claim["evidence"])}</p></div></li>'
    )


def _code(text: str) -> str:
    """A sentence of a README.md: text between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _table(folder: str, table: ShownTable) -> str:
    sheet, about = table.stored.sheet, table.stored.about
    quick = ' <span class="source quick">quick pass</span>' if about.get("quick") else ""
    parts = [
        f'<article id="{_anchor(folder)}-{_anchor(sheet.key)}">',
        f'<h3><span class="source">{escape(sheet.source)}</span> {escape(sheet.title)}{quick}</h3>',
    ]
    if about.get("conclusion"):
        parts.append(f'<p class="conclusion">{escape(about["conclusion"])}</p>')
    if about.get("exact"):
        parts.append('<p class="note">Nothing here is random: one run suffices, and has no interval.</p>')
    if sheet.note:
        parts.append(f'<p class="note">{escape(sheet.note)}</p>')
    parts += list(_grids(table.stored))
    if table.charts:
        figures = "".join(_chart(folder, name) for name in table.charts)
        parts.append(f'<div class="charts">{figures}</div>')
    parts += [
        f'<figure class="strip"><a href="{_file(folder, picture.file)}">'
        f'<img loading="lazy" src="{_file(folder, picture.file)}" alt="{escape(picture.caption)}"></a>'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
        for picture in sheet.pictures
    ]
    parts.append(
        f'<p class="files"><a href="{_file(folder, f"{sheet.key}.csv")}">{escape(sheet.key)}.csv</a></p>'
        "</article>"
    )
    return "\n".join(parts)


def _grids(stored: StoredSheet) -> Iterable[str]:
    """With one row, metrics by columns, as in papers; otherwise rows by columns for every metric."""
    sheet = stored.sheet
    if len(sheet.rows) == 1:
        lines = [
            (_labelled(metric) + _agreed(stored, metric), metric, sheet.rows[0]) for metric in sheet.metrics
        ]
        yield _grid(stored, "", lines)
        return
    for metric in sheet.metrics:
        caption = _labelled(metric) + _agreed(stored, metric)
        yield _grid(stored, caption, [(escape(row), metric, row) for row in sheet.rows])


def _agreed(stored: StoredSheet, metric: Metric) -> str:
    """Number of a metric's printed numbers within our intervals."""
    about = stored.about.get("printed", {}).get("metrics", {}).get(metric.key)
    if not about:
        return ""
    off = f", median difference {printed.percent(about['median'])}" if about["median"] is not None else ""
    text = f"{about['inside']} of {about['numbers']} printed numbers within our intervals{off}"
    return f' <span class="agreed">{text}</span>'


def _grid(stored: StoredSheet, caption: str, lines: Sequence[tuple[str, Metric, str]]) -> str:
    sheet = stored.sheet
    head = "".join(f'<th scope="col">{escape(name_of(column))}</th>' for column in sheet.columns)
    corner = escape(sheet.row_label) if len(sheet.rows) > 1 else ""
    rows = []
    for label, metric, row in lines:
        cells = "".join(
            _cell(stored.entries.get((row, column, metric.key)), metric) for column in sheet.columns
        )
        rows.append(f'<tr><th scope="row">{label}</th>{cells}</tr>')
    title = f"<caption>{caption}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table>{title}<thead><tr><th scope="col">{corner}</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(entry: Entry | None, metric: Metric) -> str:
    if entry is None or (math.isnan(entry.ours) and math.isnan(entry.paper)):
        return '<td class="none">–</td>'
    digits = metric.digits
    text = "–" if math.isnan(entry.ours) else f"{entry.ours:.{digits}f}"
    parts = [f'<span class="ours">{text}</span>']
    if not math.isnan(entry.low):
        half = (entry.high - entry.low) / 2
        parts.append(f'<span class="half">±{half:.{digits}f}</span>')
    if not math.isnan(entry.paper):
        inside = entry.low <= entry.paper <= entry.high
        mark = '<i title="inside our interval">✓</i>' if inside else ""
        parts.append(f'<span class="printed">paper {entry.paper:g}{mark}</span>')
    runs = f"{entry.n} run{'' if entry.n == 1 else 's'}"
    return f'<td title="{runs}">{"".join(parts)}</td>'


def _labelled(metric: Metric) -> str:
    unit = f' <span class="unit">{escape(metric.unit)}</span>' if metric.unit else ""
    return escape(metric.label) + unit


def _chart(folder: str, name: str) -> str:
    files = " ".join(
        f'<a href="{_file(folder, f"{name}.{kind}")}">{kind.upper()}</a>' for kind in ("svg", "png")
    )
    # The static image is shown while the page loads, in print, and without scripts.
    return (
        f'<figure class="chart"><div data-chart="{escape(f"{folder}/{name}")}">'
        f'<img loading="lazy" src="{_file(folder, f"{name}.svg")}" alt="{escape(name)}"></div>'
        f"<figcaption>{files}</figcaption></figure>"
    )


def _charts(section: Section) -> dict[str, Mapping[str, Any]]:
    return {
        f"{section.folder}/{name}": chart for table in section.tables for name, chart in table.charts.items()
    }


def _scripts(charts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    scripts = [f"<script>\n{_asset('report.js')}</script>"]
    if charts:
        specifications = json.dumps(charts, sort_keys=True, ensure_ascii=False).replace("<", "\\u003c")
        libraries = _drawing_libraries()
        scripts = [
            f'<script type="application/json" id="charts">{specifications}</script>',
            f"<script>\n{libraries}\n</script>",
            *scripts,
        ]
    return scripts


@functools.cache
def _drawing_libraries() -> str:
    """Vega, Vega-Lite and vega-embed as one script, with `vegaEmbed` as a global name."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # A closing tag inside would end the page's script early.
    return bundle.replace("</script", "<\\/script")


_FORMS = {"quick": "quick pass", "full": "full", "mixed": "some items full, others of a quick pass"}


def _origin(manifest: Mapping[str, Any]) -> str:
    if not manifest:
        return ""
    machine = manifest.get("machine", {})
    facts = {
        "Form": _FORMS.get(str(manifest.get("form"))),
        "Command": manifest.get("command"),
        "Version": manifest.get("version"),
        "Commit": manifest.get("git"),
        "Made": manifest.get("created"),
        "Machine": ", ".join(str(machine[key]) for key in ("processor", "system") if machine.get(key)),
        "Python": machine.get("python"),
    }
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(fact))}</dd>" for name, fact in facts.items() if fact
    )
    items = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{item['seed']}</td><td>{item['runs']}</td>"
        f"<td>{'–'.join(str(n) for n in dict.fromkeys(item['repetitions']))}</td>"
        f"<td>{'quick' if item['quick'] else 'full'}</td></tr>"
        for name, item in manifest.get("items", {}).items()
    )
    return (
        '<section class="wide" id="origin"><h2>Origin</h2>'
        f"<dl>{listed}</dl>"
        '<div class="scroll"><table class="plain"><thead><tr><th></th><th>first seed</th><th>runs</th>'
        f"<th>repetitions</th><th>form</th></tr></thead><tbody>{items}</tbody></table></div>"
        '<p class="files"><a href="manifest.json">manifest.json</a></p></section>'
    )


def _asset(name: str) -> str:
    return resources.files("whimbrel").joinpath("assets", name).read_text(encoding="utf-8")


def _anchor(name: str) -> str:
    return escape("".join(letter if letter.isalnum() else "-" for letter in name))


def _file(folder: str, name: str) -> str:
    return escape(f"{folder}/{name}")


# A curved bill and a wing: two strokes.
_BIRD = (
    '<svg viewBox="0 0 32 20" aria-hidden="true"><path d="M1 17c5-1 7-9 14-11 3-1 6-1 8 1 3 0 6 2 8 7" '
    'fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"/>'
    '<path d="M9 12c4 4 9 4 13-3" fill="none" stroke="currentColor" stroke-width="2" '
    'stroke-linecap="round"/></svg>'
)
